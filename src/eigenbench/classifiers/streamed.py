"""What the streaming classifiers share: the feature map, and prediction in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from eigenbench.classifiers.score_classifier import OneLabelClassifier
from eigenbench.linalg.row_blocks import FeatureBlocks


class StreamedClassifier(OneLabelClassifier):
    """Base of linear classifiers on the features ``feature_map_.transform(X)``, made block by block."""

    feature_map: Any
    cache_size: float
    coef_: np.ndarray
    intercept_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "fit_intercept": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="left")],
    }

    def _fit_map(self, X: Any, y: np.ndarray) -> None:
        """Set ``feature_map_`` to a fitted clone of ``feature_map``; a frozen map is used as it is."""
        self.feature_map_ = None if self.feature_map is None else clone(self.feature_map).fit(X, y)

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, features in FeatureBlocks(X, self.feature_map_):
            yield rows, self._block_scores(features)

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        """Return one score per class for a feature block, (b, D) → (b, c)."""
        return features @ self.coef_.T.astype(features.dtype) + self.intercept_
