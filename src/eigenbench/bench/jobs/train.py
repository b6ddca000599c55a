"""Train and test runs: choose parameters on held-out training rows, fit on all, score the test rows once."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.components import takes_feature_map
from eigenbench.bench.exhibits import pictures
from eigenbench.bench.jobs.job_context import JobContext, finite_metrics, now, write_run_record
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.pipelines import build, first_rows, fit_features, learns_from_labels, transform
from eigenbench.bench.jobs.scoring import score_run
from eigenbench.bench.jobs.supervision import Report, machine_fault
from eigenbench.bench.suites.steps import Params, Step, flat_params, with_params
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.model_file import save_model

logger = logging.getLogger(__name__)


def run(context: JobContext, seed: int) -> None:
    """Do the work of a job for a method and seed: one run for each classifier."""
    for classifier in context.spec.classifiers:
        train(context, classifier, seed)


def train(context: JobContext, classifier: str, seed: int) -> None:
    """Search, fit and test a run, and write its model, its predictions and its record."""
    spec = context.spec
    started = now()
    reports = [obstacle] if (obstacle := context.obstacle()) else []
    if not obstacle and spec.searches(classifier):
        logger.info("search %s, %s, seed %d", spec.method, classifier, seed)
        begun = time.perf_counter()
        report = context.supervisor.run("search", lambda: {"candidates": search(context, classifier, seed)})
        reports.append(report | {"search_seconds": time.perf_counter() - begun})
    if all(report["status"] == "ok" for report in reports):
        logger.info("train %s, %s, seed %d", spec.method, classifier, seed)
        candidates = [one for report in reports for one in report["candidates"]]
        reports.append(context.supervisor.run("train", lambda: _fit(context, classifier, seed, candidates)))
    write_run_record(context, classifier, seed, reports, started)


def _fit(context: JobContext, classifier: str, seed: int, candidates: list[Report]) -> Report:
    """Fit and score in this process; return what the record says of it."""
    spec, folder = context.spec, context.folder(seed, classifier)
    report: Report = {}
    chosen: dict[str, Any] = {}
    thresholds = None
    if candidates:
        assert spec.validation is not None
        place = select(candidates, spec.validation.higher_is_better)
        report |= {"selected": place}
        chosen, thresholds = candidates[place]["params"], candidates[place].get("thresholds")
    steps, step = with_candidate(spec, classifier, chosen)
    dataset = context.open(seed)
    X, y = spec.rows(dataset, "train", seed)
    test = spec.rows(dataset, "test", seed)
    features, cost = embed(spec, steps, X, y, seed)
    report |= cost
    started = time.perf_counter()
    model, fitted = fit_classifier(spec, step, features, X, y, seed)
    report["train_seconds"] = time.perf_counter() - started
    scores = score_run(spec, model, *test, dataset, thresholds)
    logger.info("%s", ", ".join(f"{name} {value:.4g}" for name, value in sorted(scores.metrics.items())[:4]))
    save_model(folder / "model.skops", model)
    rows = {} if dataset.test_rows is None else {"rows": dataset.test_rows.astype(np.uint32)}
    rows |= {} if dataset.test_groups is None else {"groups": dataset.test_groups}
    with replacing_file(folder / "predictions.npz") as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **scores.predictions, **rows)
    params = flat_params(steps) | {f"classifier__{key}": value for key, value in step.params.items()}
    decided = (scores.thresholds or {}).items()
    params |= {f"threshold__{name}": value for name, value in decided if not isinstance(value, list)}
    params["steps"] = " → ".join(item.component for item in (*steps, step))
    if (single := _single_class(scores.predictions)) is not None:
        report["warnings"] = [f"every test row was predicted to be of class {dataset.classes[single]!r}"]
        logger.warning("%s", report["warnings"][0])
    if scores.confusion is not None:
        report["confusion"] = {"labels": list(dataset.classes), "matrix": scores.confusion.tolist()}
    shown: Report = {}
    if classifier == next(iter(spec.classifiers)) and seed == spec.pictured_seed:
        try:
            shown = pictures(features, *test, dataset.classes)
        except (TypeError, ValueError, IndexError) as error:  # a component of one's own may use these names
            logger.warning("no picture of the embedding: %s", error)
    return report | {
        "metrics": {f"test_{name}": value for name, value in finite_metrics(scores.metrics).items()},
        "predict_seconds": scores.predict_seconds,
        "curves": _curves(fitted) | shown.get("curves", {}),
        "exhibits": shown.get("exhibits", []),
        "params": params,
        "model": {"input_dtype": str(dataset.X_test.dtype), "n_features": dataset.X_test.shape[1]},
    }


def _single_class(predictions: Mapping[str, NDArray[Any]]) -> int | None:
    """Return the class of all predictions where there is only one, though the rows are of several."""
    if "predicted" not in predictions or len(np.unique(predictions["truth"])) < 2:
        return None
    found = np.unique(predictions["predicted"])
    return int(found[0]) if len(found) == 1 else None


def _curves(classifier: Any) -> dict[str, list[tuple[int, float]]]:
    """Return the learning curves that a fitted classifier offers, as (step, value)."""
    curves = {}
    for name in ("loss_curve", "validation_curve"):
        values = np.asarray(getattr(classifier, f"{name}_", ()), dtype=float)
        if values.size:
            curves[name] = [(step, float(value)) for step, value in enumerate(values) if np.isfinite(value)]
    return curves


def with_candidate(spec: JobSpec, classifier: str, params: Params) -> tuple[tuple[Step, ...], Step]:
    """Return the steps of the method and the classifier, both with the parameters of a candidate."""
    prefix, chosen = "classifier__", spec.classifiers[classifier]
    steps = {key: value for key, value in params.items() if not key.startswith(prefix)}
    own = {key.removeprefix(prefix): value for key, value in params.items() if key not in steps}
    return with_params(spec.steps, steps), Step(component=chosen.component, params={**chosen.params, **own})


def embed(spec: JobSpec, steps: tuple[Step, ...], X: Any, y: Any, seed: int) -> tuple[Any, Report]:
    """Fit a pipeline, or None where there are no steps; report ``fit_seconds`` and ``dimension``."""
    started = time.perf_counter()
    features = fit_features(spec, steps, X, y, seed=seed)
    seconds = time.perf_counter() - started
    row = first_rows(X, 1)
    dimension = (row if features is None else features.transform(row)).shape[1]
    logger.info("%d features in %.1f s", dimension, seconds)
    return features, {"fit_seconds": seconds, "dimension": dimension}


def fit_classifier(spec: JobSpec, step: Step, features: Any, X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Fit a classifier on features of rows; return the model, from raw inputs to labels, and the classifier.

    One that makes its features block by block gets the fitted map, unless values are missing. One that stops
    early fits a map that learns from labels itself: by rows whose labels the map has seen it would stop late.
    """
    classifier = build(spec, step, seed)
    if isinstance(X, Partitions):
        feature_map = None if features is None else FrozenEstimator(features)
        model = classifier.set_params(feature_map=feature_map).fit_partitions(X)
        return model, model
    if features is None:
        model = classifier.fit(X, y)
        return model, model
    if takes_feature_map(type(classifier)) and not np.isnan(X.sum()):
        unseen = getattr(classifier, "early_stopping", False) and learns_from_labels(features)
        feature_map = clone(features) if unseen else FrozenEstimator(features)
        model = classifier.set_params(feature_map=feature_map).fit(X, y)
        return model, model
    classifier.fit(transform(features, X), y)
    return make_pipeline(FrozenEstimator(features), classifier), classifier


def search(context: JobContext, classifier: str, seed: int) -> list[Report]:
    """Fit and score the candidates of a run in this process, in order.

    Returns for each candidate its ``params``, ``status``, ``score`` and, on multilabel data, ``thresholds``.
    """
    spec = context.spec
    assert spec.validation is not None
    dataset = context.open(seed)
    X, y = spec.rows(dataset, "fit", seed)
    held_out = spec.rows(dataset, "validation", seed)
    candidates: list[Report] = []
    embeddings = spec.embedding_points()
    for number, group in groupby(spec.points(classifier), key=lambda point: point.embedding):
        features, reason = None, None
        try:
            features, _ = embed(spec, embeddings[number], X, y, seed)
        except Exception as error:
            reason = _candidate_error(error)
        for point in group:
            candidate: Report = {"params": point.params, "status": "failed", "score": None, "reason": reason}
            candidates.append(candidate)
            if reason is None:
                try:
                    _, step = with_candidate(spec, classifier, point.params)
                    model, _ = fit_classifier(spec, step, features, X, y, seed)
                    scores = score_run(spec, model, *held_out, dataset)
                    candidate |= {"status": "ok", "score": scores.metrics[spec.validation.metric]}
                    candidate |= {"thresholds": scores.thresholds}
                except Exception as error:
                    candidate["reason"] = _candidate_error(error)
            logger.info("candidate %s: %s", point.params, candidate["score"])
    return candidates


def _candidate_error(error: Exception) -> str:
    """Return why a candidate failed, unless the machine did."""
    if isinstance(error, MemoryError) or machine_fault(error):
        raise error
    logger.error("%s", traceback.format_exc())
    return f"{type(error).__name__}: {error}"


def select(candidates: list[Report], higher_is_better: bool) -> int:
    """Return the place of the best validation score, the first of equals; a ValueError if there is none."""
    sign = -1 if higher_is_better else 1
    scored = [
        (sign * candidate["score"], place)
        for place, candidate in enumerate(candidates)
        if candidate["score"] is not None
    ]
    if not scored:
        reasons = "; ".join(dict.fromkeys(str(candidate["reason"]) for candidate in candidates))
        raise ValueError(f"no candidate of the search has a validation score: {reasons}")
    return min(scored)[1]
