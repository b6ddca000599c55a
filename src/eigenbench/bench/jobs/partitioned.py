"""Fits to training rows in partitions, which are never whole in memory, and what cannot be fitted so."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator

from eigenbench.bench.capabilities import takes_partitions
from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.pipelines import build

#: Parameters of classifiers that only rows in memory suffice for.
_NOT_IN_PARTITIONS = ("feature_map", "class_weight", "calibrate")


def why_not_in_partitions(spec: JobSpec) -> str | None:
    """Return what keeps a method, or one of its classifiers, from being fitted to partitions, or None.

    Parameters
    ----------
    spec : JobSpec
        The method with all its classifiers.
    """
    if spec.protocol is not None:
        return f"the protocol {spec.protocol} takes all rows at once"
    if spec.grid or any(chosen.grid for chosen in spec.classifiers.values()):
        return "a 'grid' needs validation rows, which partitions have none of: give the values as 'params'"
    for step in (*spec.steps, *(chosen.step for chosen in spec.classifiers.values())):
        try:
            estimator = build(spec, step, seed=0)
        except MissingExtraError:
            continue
        if not takes_partitions(estimator):
            return f"{step.component} takes all training rows at once"
    for name, chosen in spec.classifiers.items():
        if given := [key for key in _NOT_IN_PARTITIONS if chosen.params.get(key)]:
            return f"{name} takes all training rows at once with {given[0]!r}: leave it out"
    return None


def fit_classifier_to_partitions(classifier: Any, features: Any, partitions: Any) -> Any:
    """Fit a classifier to the features that a fitted pipeline, or None, makes of one block at a time.

    Where it holds rows out to stop early, the pipeline has seen their labels.
    """
    feature_map = None if features is None else FrozenEstimator(features)
    return classifier.set_params(feature_map=feature_map).fit_partitions(partitions)
