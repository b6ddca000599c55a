"""Base of the classifiers that predict from one score per class or label."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.linalg.row_blocks import ROW_TYPES, checked_weights, rows_that_count, validated


class ScoreClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of classifiers that score rows block by block."""

    classes_: np.ndarray

    #: Keyword arguments of ``validate_data`` for rows.
    _row_checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": ROW_TYPES}

    @abstractmethod
    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (rows, scores (b, c)) of checked X, in order."""

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores (b, c), which may be overwritten; none is zero."""
        found = softmax(scores, axis=1)
        return np.maximum(found, np.finfo(found.dtype).tiny, out=found)

    def _gives_one_column(self) -> bool:
        """Return whether the decision function is one number per row."""
        return len(self.classes_) == 2

    def _fitted_rows(self, X: Any) -> Any:
        """Check rows like those of ``fit``."""
        check_is_fitted(self)
        return validated(self, X, **self._row_checks, reset=False)

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
        X = self._fitted_rows(X)
        scores = np.concatenate([scores for _, scores in self._score_blocks(X)])
        return scores[:, 1] - scores[:, 0] if self._gives_one_column() else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, c)
            Columns follow ``classes_``; where a row has one label, rows sum to one.
        """
        X = self._fitted_rows(X)
        return np.concatenate([self._probabilities(scores) for _, scores in self._score_blocks(X)])

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
        X = self._fitted_rows(X)
        best = np.concatenate([scores.argmax(axis=1) for _, scores in self._score_blocks(X)])
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class OneLabelClassifier(ScoreClassifier):
    """Base of those that learn from rows of one label each."""

    @abstractmethod
    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Learn from checked rows, the position of each row's label in ``classes_``, and positive weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels of any type, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If there is one class only, if a parameter is out of its range or does not suit the data, if the
            data hold NaN or infinity, if X and y differ in length, or if a weight is negative.
        """
        self._validate_params()
        X, y = validated(self, X, y, **self._row_checks)
        check_classification_targets(y)
        X, y, weights = rows_that_count(X, y, checked_weights(sample_weight, X))
        classes, codes = np.unique(y, return_inverse=True)
        self._set_classes(classes)
        self._fit_codes(X, codes, weights)
        return self

    def _set_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError(f"y holds one class only ({classes[0]}): a classifier needs at least two.")
        self.classes_ = classes
