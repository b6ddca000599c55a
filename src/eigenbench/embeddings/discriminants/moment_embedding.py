"""What the linear embeddings share that follow from class moments alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from eigenbench.embeddings.row_transformer import LinearEmbedding, MomentFit
from eigenbench.linalg.row_blocks import ROW_TYPES
from eigenbench.linalg.signs import make_peaks_positive
from eigenbench.moments import ClassMoments


class MomentEmbedding(MomentFit, LinearEmbedding):
    """Base of embeddings that maximise a ratio vᵀSv / vᵀNv of two sums of class moments."""

    components_: np.ndarray
    eigenvalues_: np.ndarray

    _row_types: ClassVar[list] = ROW_TYPES

    @abstractmethod
    def _directions(self, moments: ClassMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        if self._needs_labels():
            X, y = self._training_rows(X, y)
            groups = self._groups(y)
        else:
            X = self._training_rows(X)
            groups = np.zeros(X.shape[0], dtype=np.int64)
        self._solve(ClassMoments.of(X, groups))
        return self

    def _needs_labels(self) -> bool:
        return True

    def _groups(self, y: Any) -> Any:
        """Return what rows are grouped by."""
        return y

    def _solve(self, moments: ClassMoments) -> None:
        self.eigenvalues_, vectors, self.mean_ = self._directions(moments)
        self.components_ = np.ascontiguousarray(make_peaks_positive(vectors).T)
        self._n_features_out = len(self.components_)

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.components_.T, -(self.components_ @ self.mean_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels()
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
