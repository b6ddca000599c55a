"""Build feature pipelines from their specification and fit them, one pass over the rows per step."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import gen_even_slices, get_tags

from eigenbench.bench.components import (
    MissingExtraError,
    is_randomized,
    needs_rows,
    takes_moments,
    takes_partitions,
)
from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.suites.steps import Step, as_step, step_names
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.moments import ClassMoments, ClassRows, PooledMoments, StreamedMoments

BLOCK_ROWS = 4096

#: Parameters of classifiers that only rows in memory suffice for.
_NOT_IN_PARTITIONS = ("feature_map", "class_weight")


def build(job: JobSpec, step: Step, seed: int | None) -> Any:
    """Create an unfitted estimator; ``seed`` becomes its ``random_state`` unless the step sets one.

    Parameters written like steps are built, too, and a list of such steps becomes a pipeline of them.
    """
    params = {name: _built(job, value, seed) for name, value in step.params.items()}
    estimator = job.load(step.component)
    if seed is not None and is_randomized(estimator, step.params):
        params["random_state"] = seed
    return estimator(**params)


def _built(job: JobSpec, value: Any, seed: int | None) -> Any:
    step = as_step(value, job.components)
    if step is not None:
        return build(job, Step(component=step[0], params=step[1]), seed)
    if not isinstance(value, list | tuple):
        return value
    if value and all(as_step(item, job.components) is not None for item in value):
        return make_pipeline(*(_built(job, item, seed) for item in value))
    return type(value)(_built(job, item, seed) for item in value)


def build_pipeline(job: JobSpec, seed: int, last: dict[str, Any]) -> Pipeline:
    """Create the unfitted pipeline of a job, passthrough without steps; ``last`` changes its last step."""
    if not job.steps:
        return Pipeline([("passthrough", "passthrough")])
    *first, final = job.steps
    changed = (*first, Step(component=final.component, params={**final.params, **last}))
    return Pipeline(
        [(name, build(job, step, seed)) for name, step in zip(step_names(changed), changed, strict=True)]
    )


def fit_features(job: JobSpec, steps: tuple[Step, ...], X: Any, y: Any, *, seed: int | None) -> Any:
    """Fit a feature pipeline step by step; None where there are no steps.

    A step with ``fit_moments`` sees only the class moments of what reaches it, gathered over row blocks, so
    that its inputs are never in memory at once. Where all of them take less memory than their moments,
    because classes have few rows, it gets the rows. Of partitions one block is in memory at a time, and the
    targets come with the rows. ``seed`` is the ``random_state`` of steps that draw.
    """
    fitted: list[tuple[str, Any]] = []
    for name, step in zip(step_names(steps), steps, strict=True):
        estimator = build(job, step, seed)
        prefix = Pipeline(fitted) if fitted else None
        if isinstance(X, Partitions):
            _fit_to_partitions(estimator, X.mapped(prefix))
        elif takes_moments(type(estimator)) and not ClassRows.serve(y, transform(prefix, X[:1]).shape[1]):
            estimator.fit_moments(ClassMoments.of(X, y, prefix))
        elif needs_rows(estimator):
            estimator.fit(transform(prefix, X), y)
        else:
            estimator.fit(transform(prefix, X[:2]))
        fitted.append((name, estimator))
    return Pipeline(fitted) if fitted else None


def _fit_to_partitions(estimator: Any, rows: Partitions) -> None:
    """Fit a transformer for which `takes_partitions` holds, in as many passes as it needs."""
    if hasattr(estimator, "fit_moments"):
        pooled = getattr(estimator, "_pooled_suffice", False)
        estimator.fit_moments((PooledMoments if pooled else StreamedMoments).of_partitions(rows))
    elif needs_rows(estimator):
        for X, _ in rows:
            estimator.partial_fit(X)
    else:
        estimator.fit(first_rows(rows, 2))


def first_rows(X: Any, n: int) -> Any:
    """Return the first rows of an array, or of partitions."""
    return next(iter(X))[0][:n] if isinstance(X, Partitions) else X[:n]


def learns_from_labels(features: Any) -> bool:
    """Return whether a transformer, or a part of a pipeline or union of them, needs targets to be fitted."""
    parts = {Pipeline: "steps", FeatureUnion: "transformer_list"}.get(type(features))
    if parts is not None:
        return any(learns_from_labels(part) for _, part in getattr(features, parts))
    return isinstance(features, BaseEstimator) and get_tags(features).target_tags.required


def transform(features: Any | None, X: Any) -> Any:
    """Apply a fitted feature pipeline block by block into one dense or CSR array of shape (n, D)."""
    if features is None:
        return X
    blocks = list(gen_even_slices(X.shape[0], max(1, -(-X.shape[0] // BLOCK_ROWS))))
    first = features.transform(X[blocks[0]])
    if sparse.issparse(first):
        return sparse.vstack([first, *(features.transform(X[rows]) for rows in blocks[1:])], format="csr")
    out = np.empty((X.shape[0], first.shape[1]), dtype=first.dtype)
    out[blocks[0]] = first
    for rows in blocks[1:]:
        out[rows] = features.transform(X[rows])
    return out


def why_not_in_partitions(spec: JobSpec) -> str | None:
    """Return why a method, or one of its classifiers, cannot be fitted to partitions, or None."""
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
