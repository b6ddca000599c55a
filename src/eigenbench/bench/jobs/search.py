"""Search the parameters of a run: fit candidates on a part of the training rows, score them on the rest."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from eigenbench.bench.components import takes_feature_map
from eigenbench.bench.jobs.embed import embed, read_embedding
from eigenbench.bench.jobs.job_context import JobContext
from eigenbench.bench.jobs.job_spec import JobSpec, Point
from eigenbench.bench.jobs.pipelines import build, learns_from_labels, transform
from eigenbench.bench.jobs.scoring import score_run
from eigenbench.bench.jobs.supervision import Report, machine_fault
from eigenbench.bench.records.sealed_json import write_sealed
from eigenbench.bench.suites.steps import Params, Step, with_params
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.model_file import load_model

logger = logging.getLogger(__name__)


def with_candidate(spec: JobSpec, classifier: str, params: Params) -> tuple[tuple[Step, ...], Step]:
    """Return the steps of the method and the classifier, both with the parameters of a candidate."""
    prefix, chosen = "classifier__", spec.classifiers[classifier]
    steps = {key: value for key, value in params.items() if not key.startswith(prefix)}
    own = {key.removeprefix(prefix): value for key, value in params.items() if key not in steps}
    return with_params(spec.steps, steps), Step(component=chosen.component, params={**chosen.params, **own})


def fit_classifier(spec: JobSpec, step: Step, features: Any, X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Fit a classifier on features of rows; return the model, from raw inputs to labels, and the classifier.

    One that makes its features block by block gets the fitted map, unless values are missing, which it would
    refuse; others get the features of all rows. One that stops early gets a map that learns from labels
    unfitted, and fits it on the rows that it does not hold out: by rows whose labels the map has seen it
    would stop late.
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


#: Gives the features of one point of the method's grid, and why there are none.
FeaturesOf = Callable[[JobContext, int, int], tuple[Any, str | None]]


def search(
    context: JobContext, classifier: str, seed: int, points: Iterable[Point], features_of: FeaturesOf
) -> list[Report]:
    """Fit and score candidates, in order.

    ``features_of`` loads or fits the embedding at a point of the method's grid, on the rows of the search.
    Returns for each candidate its ``params``, ``status``, ``score`` and, on multilabel data, ``thresholds``.
    """
    spec = context.spec
    assert spec.validation is not None
    dataset = context.open(seed)
    X, y = spec.rows(dataset, "fit", seed)
    held_out = spec.rows(dataset, "validation", seed)
    candidates: list[Report] = []
    for number, group in groupby(points, key=lambda point: point.embedding):
        features, reason = features_of(context, seed, number)
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


def load_features(context: JobContext, seed: int, number: int) -> tuple[Any, str | None]:
    """Return the features that a job of their own has fitted."""
    if not context.spec.steps:
        return None, None
    report, features = read_embedding(context, seed, number)
    if report["status"] != "ok":
        return None, report["failure"]["message"]
    return load_model(features, context.spec.own_packages), None


def fit_features_here(context: JobContext, seed: int, number: int) -> tuple[Any, str | None]:
    """Fit the features in this process."""
    spec = context.spec
    try:
        X, y = spec.rows(context.open(seed), "fit", seed)
        return embed(spec, spec.embedding_points()[number], X, y, seed)[0], None
    except Exception as error:
        return None, _candidate_error(error)


def _candidate_error(error: Exception) -> str:
    """Return why a candidate failed, unless the machine did."""
    if isinstance(error, MemoryError) or machine_fault(error):
        raise error
    logger.error("%s", traceback.format_exc())
    return f"{type(error).__name__}: {error}"


def select(candidates: list[Report], higher_is_better: bool) -> int:
    """Return the place of the candidate with the best validation score; the first declared wins a tie.

    Raises a ValueError if no candidate has a score.
    """
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


def supervised_search(
    context: JobContext, classifier: str, seed: int, points: list[Point], features_of: FeaturesOf
) -> Report:
    """Search in a process of its own; return ``status``, ``candidates``, peak memory and seconds."""
    logger.info("search %s, %s, seed %d", context.spec.method, classifier, seed)
    started = time.perf_counter()
    report = context.supervisor.run(
        "search", lambda: {"candidates": search(context, classifier, seed, points, features_of)}
    )
    return report | {"search_seconds": time.perf_counter() - started}


def run(context: JobContext, seed: int) -> None:
    """Do the work of a job: one candidate, with the embedding of another job."""
    options = context.options
    points = [context.spec.points(options.classifier)[options.point]]
    report = context.obstacle() or supervised_search(context, options.classifier, seed, points, load_features)
    path = context.folder(seed, options.classifier) / "search" / f"point-{options.point}.json"
    write_sealed(path, report | {"replaces": context.replaced(path)})
