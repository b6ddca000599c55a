"""The Bayes rule of planted data, a control: no method has a lower expected error."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.methods.parameter_constraints import POSITIVE


class BayesRule(ClassifierMixin, BaseEstimator):
    r"""Bayes rule of equally frequent classes with known centers and the same spherical noise.

    The probability of class j for a row x is proportional to :math:`\exp(-\|x - m_j\|^2 / 2\sigma^2)`.
    That holds for normal noise of ``variance`` :math:`\sigma^2` (twonorm: L. Breiman, "Bias, variance,
    and arcing classifiers", TR 460, Berkeley, 1996) and for binary columns that are inverted with
    probability q, where :math:`\sigma^2 = 1 / (2 \ln((1 - q) / q))` (LED display: L. Breiman, J.
    Friedman, R. Olshen and C. Stone, "Classification and Regression Trees", 1984, 2.6). ``centers`` (c,
    d) are in the order of the sorted labels; one column stands for equal columns. Nothing but the names
    of the classes is learned from the training rows.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "centers": ["array-like"],
        "variance": [POSITIVE],
    }

    def __init__(self, centers: Any, variance: float = 1.0) -> None:
        self.centers = centers
        self.variance = variance

    def fit(self, X: Any, y: Any) -> BayesRule:
        """Check that there is a center of each class and column; raises ValueError if there is not."""
        self._validate_params()
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        shape, expected = np.shape(self.centers), (len(self.classes_), X.shape[1])
        if shape not in (expected, (expected[0], 1)):
            raise ValueError(
                f"centers have shape {shape}, and {expected} is the number of classes and inputs"
            )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n_samples, n_classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        centers = np.broadcast_to(np.asarray(self.centers, float), (len(self.classes_), X.shape[1]))
        return softmax(-pairwise_distances(X, centers, "sqeuclidean") / (2 * self.variance), axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row, (n_samples,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]
