"""scikit-learn's support vector machine with the Gaussian kernel, on as many rows as it can take."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.classifiers.row_weights import CLASS_WEIGHTS, with_class_weights
from eigenbench.methods.linalg.row_blocks import checked_weights, validated
from eigenbench.methods.parameter_constraints import POSITIVE, Interval, StrOptions

#: Kernel rows that LIBSVM keeps, in MB.
_CACHE_MEGABYTES = 1000


class SubsampledSVC(ClassifierMixin, BaseEstimator):
    """A support vector machine with the exact Gaussian kernel, trained on a random part of the rows.

    ``max_rows`` are drawn without replacement; all rows if there are fewer. They are drawn whatever their
    weights, unless those are zero, and count in the objective by them. Other parameters are those of
    :class:`sklearn.svm.SVC`. Between O(m² d) and O(m³ d) time for m rows, and for each prediction O(d) times
    the support vectors.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "gamma": [StrOptions({"scale", "auto"}), POSITIVE],
        "max_rows": [Interval(Integral, 2, None, closed="left")],
        "class_weight": CLASS_WEIGHTS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        gamma: str | float = "scale",
        max_rows: int = 10_000,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_rows = max_rows
        self.class_weight = class_weight
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SubsampledSVC:
        """Draw rows and train on them.

        ``sample_weight`` (n_samples,), ≥ 0: of the rows drawn, one of weight 2 counts as two rows; one of
        weight 0 is not drawn. Rows of one class only are a `ValueError`.
        """
        X, y = validated(self, X, y, accept_sparse="csr", accept_large_sparse=False)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X)
        counted = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        self.classes_, codes = np.unique(y[counted], return_inverse=True)
        drawn = np.sort(check_random_state(self.random_state).permutation(len(counted))[: self.max_rows])
        rows = counted[drawn]
        in_loss = with_class_weights(
            self.class_weight, self.classes_, codes[drawn], None if weights is None else weights[rows]
        )
        self.model_ = SVC(C=self.C, gamma=self.gamma, cache_size=_CACHE_MEGABYTES)
        self.model_.fit(X[rows], y[rows], in_loss)
        return self

    def predict(self, X: Any) -> NDArray:
        """Return the predicted class of each row, shape (n_samples,)."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", accept_large_sparse=False, reset=False)
        return self.model_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
