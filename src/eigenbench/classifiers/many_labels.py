"""Prediction from logits of very many labels, made in blocks of rows."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.classifiers.label_losses import PROBABILITIES
from eigenbench.metrics.top_k import top_k

DTYPES = [np.float64, np.float32, np.uint8]


class ManyLabelClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of classifiers whose scores of all rows need not fit in memory.

    ``fit`` sets the attributes below and calls `_remember_targets`.
    """

    classes_: np.ndarray
    loss_: str
    threshold_: float | None

    def _remember_targets(self, Y: Any, *, multilabel: bool) -> None:
        """Keep the form of the targets, which predictions will have."""
        self._multilabel = multilabel
        self._sparse_output, self._label_dtype = sparse.issparse(Y), Y.dtype.str

    @abstractmethod
    def _logit_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield (rows, logits) of checked X."""

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the logit of every label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, c), or (n_samples,) for two classes, float32
            For two classes the logit of the second minus that of the first.
        """
        X = self._checked(X)
        logits = np.concatenate([logits for _, logits in self._logit_blocks(X)])
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 and not self._multilabel else logits

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, c), float32
            Columns follow ``classes_``; rows sum to one with the multinomial loss.
        """
        X = self._checked(X)
        return np.concatenate([PROBABILITIES[self.loss_](logits) for _, logits in self._logit_blocks(X)])

    def predict(self, X: Any) -> Any:
        """Return the class of the largest logit, or the labels above the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples,), or {ndarray, csr_array} of shape (n_samples, c)
            Class labels, or indicators that are sparse if those given to ``fit`` were.
        """
        X = self._checked(X)
        if not self._multilabel:
            return self.classes_[np.concatenate([f.argmax(axis=1) for _, f in self._logit_blocks(X)])]
        parts = []
        for _, logits in self._logit_blocks(X):
            chosen = PROBABILITIES[self.loss_](logits) >= self.threshold_
            parts.append(sparse.csr_array(chosen) if self._sparse_output else chosen)
        stack = sparse.vstack(parts, format="csr") if self._sparse_output else np.concatenate(parts)
        return stack.astype(self._label_dtype)

    def predict_top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k most probable labels of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.
        k : int
            Number of labels, at most c.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            From ``classes_``, the most probable first.
        probabilities : ndarray of shape (n_samples, k), float32

        Raises
        ------
        ValueError
            If k is not between 1 and the number of labels.
        """
        X = self._checked(X)
        if not 1 <= k <= len(self.classes_):
            raise ValueError(f"k={k} is not between 1 and the number of labels, {len(self.classes_)}.")
        order = np.empty((X.shape[0], k), dtype=np.int64)
        scores = np.empty((X.shape[0], k), dtype=np.float32)
        for here, logits in self._logit_blocks(X):
            best = top_k(PROBABILITIES[self.loss_](logits), k)
            order[here], scores[here] = best.labels, best.scores
        return self.classes_[order], scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
