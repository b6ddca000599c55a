"""What the streaming classifiers share: validation, the feature map, and prediction in blocks."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.linalg.row_blocks import FeatureBlocks

_DTYPES = [np.float64, np.float32, np.uint8]


class ScoreClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of classifiers that predict from one score per class."""

    classes_: np.ndarray

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Check X and return its scores, (n, c)."""

    @abstractmethod
    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Turn scores (n, c) into probabilities; may overwrite them."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, c), or (n_samples,) for two classes
            For two classes the score of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, c)
            Rows sum to one; columns follow ``classes_``.
        """
        return self._probabilities(self._scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the largest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the type seen in ``fit``.
        """
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class StreamedClassifier(ScoreClassifier):
    """Base of linear classifiers on the features ``feature_map_.transform(X)``, made block by block."""

    feature_map: Any
    cache_size: float

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "fit_intercept": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="left")],
    }

    def _validated(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check parameters and data; set ``classes_``; return X and the class position of each row."""
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds one class only ({self.classes_[0]}): a classifier needs at least two.")
        return X, codes

    def _fit_map(self, X: Any, y: np.ndarray) -> None:
        """Set ``feature_map_`` to a fitted clone of ``feature_map``; a frozen map is used as it is."""
        self.feature_map_ = None if self.feature_map is None else clone(self.feature_map).fit(X, y)

    @abstractmethod
    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        """Return one score per class for a feature block, (b, D) → (b, c)."""

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
        blocks = FeatureBlocks(X, self.feature_map_)
        return np.concatenate([self._block_scores(block) for _, block in blocks])
