"""Train and test runs: choose their parameters, fit on all training rows, score the test rows once."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.jobs.embed import embed, embedding_folder, read_embedding, write_embedding
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.pictures import pictures
from eigenbench.bench.jobs.record_run import finite_metrics, now, write_run_record
from eigenbench.bench.jobs.scoring import score_run
from eigenbench.bench.jobs.search import (
    fit_classifier,
    fit_features_here,
    select,
    supervised_search,
    with_candidate,
)
from eigenbench.bench.jobs.supervision import Report
from eigenbench.bench.records.runs import TRAINED_FILES
from eigenbench.bench.records.sealed_json import read_sealed
from eigenbench.bench.suites.steps import flat_params
from eigenbench.methods.model_file import load_model, save_model

logger = logging.getLogger(__name__)


def train(context: JobContext, classifier: str, seed: int, searched: list[Report] | None) -> None:
    """Fit a run and write its model, its predictions and its record.

    The embedding that classifiers share stands in the seed's folder. ``searched`` are the reports of the
    search, all its candidates together; None where nothing is searched.
    """
    spec = context.spec
    started = now()
    reports = list(searched or ())
    if spec.shares_embedding:
        reports.insert(0, read_embedding(context, seed)[0])
    tried = [report for report in (context.obstacle(), *reports) if report is not None]
    reports += [report for report in tried if report["status"] != "ok"][:1]
    if not reports or reports[-1]["status"] == "ok":
        logger.info("train %s, %s, seed %d", spec.method, classifier, seed)
        candidates = [one for report in searched or () for one in report["candidates"]]
        reports.append(context.supervisor.run("train", lambda: _fit(context, classifier, seed, candidates)))
    if reports[-1]["status"] != "ok":
        write_failed_run(context, classifier, seed, reports, started)
    else:
        write_run_record(context, classifier, seed, reports, started)


def write_failed_run(
    context: JobContext, classifier: str, seed: int, reports: list[Report], started: str
) -> None:
    """Write the record of a run without a result, and empty files in place of its model and predictions."""
    folder = context.folder(seed, classifier)
    folder.mkdir(parents=True, exist_ok=True)
    for name in TRAINED_FILES[1:]:
        (folder / name).write_bytes(b"")
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
    if spec.shares_embedding:
        features = load_model(embedding_folder(context, seed) / "features.skops", spec.own_packages)
    else:
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
    chosen_thresholds = scores.thresholds or {}
    params |= {
        f"threshold__{name}": value
        for name, value in chosen_thresholds.items()
        if not isinstance(value, list)
    }
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


def fit_seed(context: JobContext, seed: int) -> None:
    """Embed, search, train and test with each classifier of a method."""
    spec = context.spec
    usable = context.obstacle() is None
    if spec.shares_embedding:
        usable = write_embedding(context, seed)["status"] == "ok"
    for classifier in spec.classifiers:
        fit_run(context, classifier, seed, usable)


def fit_run(context: JobContext, classifier: str, seed: int, usable: bool) -> None:
    """Search, train and test one classifier of a method; without data or embedding, record why not."""
    reports = None
    if context.spec.searches(classifier) and usable:
        points = context.spec.points(classifier)
        reports = [supervised_search(context, classifier, seed, points, fit_features_here)]
    train(context, classifier, seed, reports)


def run(context: JobContext, seed: int) -> None:
    """Do the work of a job: all runs of a seed, or one whose embedding and search other jobs have made."""
    options = context.options
    if options.classifier is None:
        fit_seed(context, seed)
    else:
        searched = [read_sealed(path) for path in options.search] if options.search else None
        train(context, options.classifier, seed, searched)
