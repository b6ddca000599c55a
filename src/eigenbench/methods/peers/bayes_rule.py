"""The Bayes rule of planted data, a control: no method has a lower expected error."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class BayesRule(ClassifierMixin, BaseEstimator):
    r"""Bayes rule of equally frequent classes with known centers and the same spherical noise.

    The probability of class j for a row x is proportional to :math:`\exp(-\|x - m_j\|^2 / 2\sigma^2)`. That
    holds for normal noise of variance :math:`\sigma^2` and for binary columns that are inverted with
    probability q, where :math:`\sigma^2 = 1 / (2 \ln((1 - q) / q))`. Nothing but the names of the classes is
    learned from the training rows.

    Parameters
    ----------
    centers : array-like of shape (n_classes, n_features) or (n_classes, 1)
        The center of each class, in the order of the sorted labels; one column stands for equal columns.
    variance : float, default=1.0
        Variance of the noise in each column.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of inputs d.

    References
    ----------
    .. [1] L. Breiman, "Bias, variance, and arcing classifiers", TR 460, University of California, Berkeley,
           1996 (twonorm).
    .. [2] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and Regression Trees", 1984,
           section 2.6 (LED display).

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.peers.bayes_rule import BayesRule
    >>> y = np.arange(4000) % 2
    >>> X = np.random.default_rng(0).normal(loc=np.where(y == 1, 1.0, -1.0)[:, None], size=(4000, 4))
    >>> rule = BayesRule([[-1.0], [1.0]]).fit(X, y)
    >>> round(1 - rule.score(X, y), 3)  # expected: 0.0228
    0.021
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "centers": ["array-like"],
        "variance": [Interval(Real, 0, None, closed="neither")],
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
