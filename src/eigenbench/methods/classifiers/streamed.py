"""Bases of the streaming classifiers: the feature map, prediction in blocks, held-out rows."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import MetadataRouter

from eigenbench.methods.classifiers.row_weights import (
    CLASS_WEIGHTS,
    nested_fit_arguments,
    routing_to,
    with_class_weights,
)
from eigenbench.methods.classifiers.score_classifier import OneLabelClassifier
from eigenbench.methods.linalg.row_blocks import FeatureBlocks


class EarlyStopping:
    """Mixin of classifiers that may hold out rows."""

    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def _held_out(self, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Mark the held-out rows (n,) of classes ``codes``; none may be marked where rows are too few."""
        if not self.early_stopping:
            return np.zeros(len(codes), dtype=bool)
        return hold_out(codes, self.validation_fraction, rng)


def hold_out(codes: np.ndarray, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """Mark a random part of the rows, the same share of every class to within one row.

    ``codes`` (n,): class position of each row.
    ``fraction``: share of rows to mark, between 0 and 1.
    ``rng``: source of the draw.
    Result of shape (n,), bool: at least one row of every class stays unmarked.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    marks = np.floor(np.arange(1, len(codes) + 1) * fraction) > np.floor(np.arange(len(codes)) * fraction)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order] = marks
    first_of_class = order[np.unique(codes[order], return_index=True)[1]]
    held_out[first_of_class] = False
    return held_out


class StreamedClassifier(OneLabelClassifier):
    """Base of linear classifiers on the features ``feature_map_.transform(X)``, made block by block."""

    feature_map: Any
    cache_size: float
    class_weight: Any
    coef_: np.ndarray
    intercept_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "fit_intercept": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="left")],
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

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, features in FeatureBlocks(X, self.feature_map_):
            yield rows, self._block_scores(features)

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        """Return one score per class for a feature block, (b, D) → (b, c)."""
        return features @ self.coef_.T.astype(features.dtype) + self.intercept_
