"""scikit-learn's support vector machine with the Gaussian kernel, on as many rows as it can take."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class SubsampledSVC(ClassifierMixin, BaseEstimator):
    """A support vector machine with the exact Gaussian kernel, trained on a random part of the rows.

    Parameters
    ----------
    C : float, default=1.0
        Inverse penalty.
    gamma : {"scale", "auto"} or float, default="scale"
        The kernel is exp(−gamma ‖x − y‖²), as in :class:`sklearn.svm.SVC`.
    max_rows : int, default=10000
        Rows that are drawn without replacement; all rows if there are fewer.
    cache_size : float, default=1000
        Memory for kernel values during training, in MB.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    model_ : SVC
        The machine.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` takes no weights of rows: which are drawn would have to follow them.

    Between O(m² d) and O(m³ d) time for m rows, and for each prediction O(d) times the support vectors.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        gamma: str | float = "scale",
        max_rows: int = 10_000,
        cache_size: float = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_rows = max_rows
        self.cache_size = cache_size
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> SubsampledSVC:
        """Draw rows and train on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        SubsampledSVC
            The estimator itself.

        Raises
        ------
        ValueError
            If all rows that are drawn have one class.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", accept_large_sparse=False)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        rows = np.sort(check_random_state(self.random_state).permutation(len(y))[: self.max_rows])
        self.model_ = SVC(C=self.C, gamma=self.gamma, cache_size=self.cache_size).fit(X[rows], y[rows])
        return self

    def predict(self, X: Any) -> NDArray:
        """Return the predicted class of each row, shape (n_samples,)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", accept_large_sparse=False, reset=False)
        return self.model_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
