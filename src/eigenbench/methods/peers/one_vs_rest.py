"""scikit-learn's logistic regression for each label on its own, to compare with."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.validation import check_is_fitted, column_or_1d

from eigenbench.methods.classifiers.row_weights import CLASS_WEIGHTS, with_class_weights
from eigenbench.methods.linalg.row_blocks import checked_weights, rows_that_count, validated
from eigenbench.methods.parameter_constraints import POSITIVE, POSITIVE_INTEGER, StrOptions


class OneVsRestLogistic(ClassifierMixin, BaseEstimator):
    """One L2-regularised logistic regression for each label, without anything shared.

    scikit-learn's ``OneVsRestClassifier`` of ``LogisticRegression``; a class of its own because suites give
    plain parameters only. A label that no or every training row has gets a constant probability. ``C``,
    ``solver`` and ``max_iter`` are those of ``LogisticRegression``, the same for all labels; ``class_weight``
    is for one label a row, and multiplies the weights of rows. ``n_iter_`` is the most that a label took.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "solver": [StrOptions({"lbfgs", "liblinear", "newton-cholesky"})],
        "max_iter": [POSITIVE_INTEGER],
        "class_weight": CLASS_WEIGHTS,
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        solver: str = "lbfgs",
        max_iter: int = 200,
        class_weight: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.solver = solver
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneVsRestLogistic:
        """Train one model for each label; y is of class labels or an indicator matrix.

        ``sample_weight`` (n_samples,), ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.
        Raises `ValueError` if a weight is negative, or if ``class_weight`` is set with an indicator matrix.
        """
        X, y = validated(self, X, y, accept_sparse="csr", multi_output=True)
        if not issparse(y) and y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        if issparse(y):
            # LabelBinarizer mixes columns up where their numbers exceed the type of the indicator.
            y = y.astype(np.int64)
        logistic = LogisticRegression(C=self.C, solver=self.solver, max_iter=self.max_iter)
        X, y, weights = rows_that_count(X, y, checked_weights(sample_weight, X))
        if self.class_weight is not None:
            if y.ndim == 2:
                raise ValueError("class_weight is for one label a row: leave it at None, or weigh the rows.")
            weights = with_class_weights(self.class_weight, *np.unique(y, return_inverse=True), weights)
        weighed = {} if weights is None else {"sample_weight": weights}
        with warnings.catch_warnings(), config_context(enable_metadata_routing=True):
            warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
            logistic.set_fit_request(sample_weight=True)
            self.model_ = OneVsRestClassifier(logistic, n_jobs=self.n_jobs).fit(X, y, **weighed)
        for part in (logistic, *self.model_.estimators_):
            vars(part).pop("_metadata_request", None)  # a type that no reader of model files trusts
        self.classes_ = self.model_.classes_
        iterations = [getattr(model, "n_iter_", np.ones(1)).max() for model in self.model_.estimators_]
        self.n_iter_ = int(max(iterations))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Return the probability of each label, shape (n_samples, n_classes); they sum to 1 for classes."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", reset=False)
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, or the indicator of the labels above 0.5."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", reset=False)
        return self.model_.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
