"""Bases of the streaming classifiers: the feature map, prediction in blocks, held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter

from eigenbench.methods.classifiers.row_weights import (
    CLASS_WEIGHTS,
    nested_fit_arguments,
    routing_to,
    with_class_weights,
)
from eigenbench.methods.classifiers.score_classifier import OneLabelClassifier
from eigenbench.methods.linalg.free_memory import free_megabytes
from eigenbench.methods.linalg.row_blocks import FeatureBlocks, blas_threads
from eigenbench.methods.parameter_constraints import (
    BELOW_ONE,
    NOT_NEGATIVE,
    POSITIVE_INTEGER,
    HasMethods,
    StrOptions,
)

#: What a parameter ``cache_size`` may be.
CACHE_SIZES: list[Any] = [NOT_NEGATIVE, StrOptions({"auto"})]

#: A step along the values of a parameter has to lower the error by more than this part of it.
GAIN = 0.005


class EarlyStopping:
    """Mixin of classifiers that may hold out rows."""

    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "early_stopping": ["boolean"],
        "validation_fraction": [BELOW_ONE],
        "n_iter_no_change": [POSITIVE_INTEGER],
    }

    def _held_out(self, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Mark the held-out rows (n,) of classes ``codes``; none may be marked where rows are too few."""
        if not self.early_stopping:
            return np.zeros(len(codes), dtype=bool)
        return hold_out(codes, self.validation_fraction, rng)


def hold_out(codes: np.ndarray, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """Mark a random part of the rows (n,), the same share of every class to within a row, never all."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    marks = np.floor(np.arange(1, len(codes) + 1) * fraction) > np.floor(np.arange(len(codes)) * fraction)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order] = marks
    first_of_class = order[np.unique(codes[order], return_index=True)[1]]
    held_out[first_of_class] = False
    return held_out


def stratified_folds(codes: np.ndarray, n_folds: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the fold of each row (n,), drawn at random with equal shares of every class to within a row."""
    order = rng.permutation(len(codes))
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % min(n_folds, len(codes))
    return folds


def climb(error: Callable[[int], float], n_positions: int, first: int) -> int:
    """Return a position beside which the error is not less by more than `GAIN`, found from the first one."""
    errors: dict[int, float] = {}

    def at(position: int) -> float:
        if position not in errors:
            errors[position] = error(position)
        return errors[position]

    best = first
    at(best)
    for step in (1, -1):
        while 0 <= best + step < n_positions and at(best + step) < (1 - GAIN) * at(best):
            best += step
    return best


class StreamedClassifier(OneLabelClassifier):
    """Base of linear classifiers on the features ``feature_map_.transform(X)``, made block by block."""

    feature_map: Any
    cache_size: float | str
    class_weight: Any
    coef_: np.ndarray
    intercept_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "fit_intercept": ["boolean"],
        "cache_size": CACHE_SIZES,
        "class_weight": CLASS_WEIGHTS,
    }

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of weights: to the classifier itself, and on to its feature map."""
        return routing_to(self, "feature_map")

    def _fit_map(self, X: Any, y: np.ndarray, weights: np.ndarray | None) -> None:
        """Set ``feature_map_`` to a fitted clone of ``feature_map``; a frozen map is used as it is."""
        self.feature_map_ = None
        if self.feature_map is not None:
            weighed = nested_fit_arguments(self, "feature_map", weights)
            self.feature_map_ = clone(self.feature_map).fit(X, y, **weighed)

    def _weighed(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Return the weights that rows of classes ``codes`` have in the loss, None where all are one."""
        return with_class_weights(self.class_weight, self.classes_, codes, weights)

    def _cache_megabytes(self) -> float:
        """Return the size of the cache in MB; "auto" is half of this job's part of the free memory.

        As many jobs are assumed to run as the cores allow for the threads that BLAS may have here.
        """
        if self.cache_size != "auto":
            return float(self.cache_size)
        return 0.5 * free_megabytes() / max(1, cpu_count() // blas_threads())

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, features in FeatureBlocks(X, self.feature_map_):
            yield rows, self._block_scores(features)

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        """Return one score per class for a feature block, (b, D) → (b, c)."""
        scores = features @ self.coef_.T.astype(features.dtype) + self.intercept_
        return scores if scores.shape[1] > 1 else np.hstack([np.zeros_like(scores), scores])

    def _set_maps(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        """Set ``coef_`` and ``intercept_`` from weights (D, c); for two classes to their difference."""
        if coef.shape[1] == 2:
            coef, intercept = np.diff(coef, axis=1), np.diff(intercept)
        self.coef_, self.intercept_ = np.ascontiguousarray(coef.T), np.asarray(intercept, dtype=np.float64)
