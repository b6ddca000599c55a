"""What the linear embeddings share that follow from class moments alone."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.moments import ClassMoments

_DTYPES = [np.float64, np.float32, np.uint8]


class MomentEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of embeddings that maximise a ratio vᵀSv / vᵀNv of two sums of class moments."""

    components_: np.ndarray
    eigenvalues_: np.ndarray

    @abstractmethod
    def _solve(self, moments: ClassMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return eigenvalues (k,), vectors as columns (d, k), and the point (d,) that maps to zero."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the directions in one pass over the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows; uint8, float32 and float64 are used without a copy of the whole.
        y : array-like of shape (n_samples,)
            Labels; may be left out where classes play no part.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            If the data hold NaN or infinity, or a matrix that has to be inverted is singular.
        """
        self._validate_params()
        if not self._needs_labels():
            X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES)
            return self._fit(ClassMoments.of(X, np.zeros(X.shape[0], dtype=np.int64)))
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES)
        return self._fit(ClassMoments.of(X, self._groups(y)))

    def _needs_labels(self) -> bool:
        return True

    def _groups(self, y: Any) -> Any:
        """Return what rows are grouped by."""
        return y

    def fit_moments(self, moments: ClassMoments) -> Any:
        """Find the directions from class moments; the result is that of ``fit`` on their rows.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the training rows.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            As for ``fit``.
        """
        self._validate_params()
        self.n_features_in_ = moments.n_features
        return self._fit(moments)

    def _fit(self, moments: ClassMoments) -> Any:
        values, vectors, origin = self._solve(moments)
        peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
        self.eigenvalues_ = values
        self.components_ = np.ascontiguousarray((vectors * np.where(peaks < 0, -1.0, 1.0)).T)
        self.mean_ = origin
        self._n_features_out = len(self.components_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Project the rows of X on the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data; sparse data is not made dense.

        Returns
        -------
        ndarray of shape (n_samples, k)
            ``(X - mean_) @ components_.T``: float64 for float64 input, else float32.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        components = self.components_.astype(dtype, copy=False)
        projections = np.asarray(safe_sparse_dot(X.astype(dtype, copy=False), components.T))
        projections -= (self.components_ @ self.mean_).astype(dtype)
        return projections

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_labels()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def top_generalized(
    signal: np.ndarray, noise: np.ndarray, k: int, *, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest solutions of ``signal v = λ noise v``, descending, with vᵀ noise v = 1.

    Raises
    ------
    ValueError
        If the noise, called ``name`` in the message, is singular to working precision.
    """
    d = len(signal)
    try:
        values, vectors = linalg.eigh(signal, noise, subset_by_index=(d - k, d - 1), check_finite=False)
    except linalg.LinAlgError as error:
        raise ValueError(
            f"{name} ({d} features) is singular: increase gamma, or remove constant and repeated features."
        ) from error
    return values[::-1], vectors[:, ::-1]


def add_ridge(matrix: np.ndarray, gamma: float) -> np.ndarray:
    """Add ``gamma`` times the mean eigenvalue to the diagonal, in place."""
    matrix.flat[:: len(matrix) + 1] += gamma * np.trace(matrix) / len(matrix)
    return matrix


def between_and_within(moments: ClassMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, and the covariances of class means (weighted) and of rows within classes."""
    shares = moments.counts / moments.counts.sum()
    means = moments.sums / moments.counts[:, None]
    mean = shares @ means
    centred = means - mean
    between = (centred * shares[:, None]).T @ centred
    total = moments.total() / moments.counts.sum() - np.outer(mean, mean)
    return mean, between, total - between
