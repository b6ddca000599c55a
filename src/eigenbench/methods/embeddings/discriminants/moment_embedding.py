"""Base of the linear embeddings that follow from class moments alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from eigenbench.methods.embeddings.row_transformer import LabelledFit, MomentFit
from eigenbench.methods.linalg.eigenproblems import SharedDenominator, largest_eigenpairs, make_peaks_positive
from eigenbench.methods.moments import AnyMoments, PooledMoments
from eigenbench.methods.moments.streamed_moments import moments_within_memory

#: Share of a mean square below which what is left after subtracting the squared mean is rounding.
_ROUNDING = 1e-13

#: Eigenvalues of singular correlations, relative to the largest, that are rounding of single precision.
RANK_TOLERANCE = 1e-7


class MomentEmbedding(MomentFit, LabelledFit):
    """Base of embeddings that maximise a ratio vᵀSv / vᵀNv of two sums of class moments."""

    components_: np.ndarray
    eigenvalues_: np.ndarray

    #: Whether counts and sums of classes and the second moment of all rows together are all that is needed.
    _pooled_suffice: ClassVar[bool] = False

    @abstractmethod
    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return eigenvalues (k,), vectors as columns (d, k), and the point (d,) that maps to zero."""

    def _fit_rows(self, X: Any, groups: Any, sample_weight: np.ndarray | None) -> None:
        gather = PooledMoments.of if self._pooled_suffice else moments_within_memory
        self._solve(gather(X, groups, sample_weight=sample_weight))

    def _solve(self, moments: AnyMoments) -> None:
        self.eigenvalues_, vectors, self.mean_ = self._directions(moments)
        self.components_ = np.ascontiguousarray(make_peaks_positive(vectors).T)

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.components_.T, -(self.components_ @ self.mean_)


def top_generalized(
    signal: np.ndarray, noise: np.ndarray, k: int, *, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest solutions of ``signal v = λ noise v``, descending, with vᵀ noise v = 1.

    Where the noise is singular, as with constant, repeated or more features than rows, v is sought in its
    range alone, and there are at most its rank. A noise of zero is a `ValueError` with its ``name``.
    """
    if not noise.diagonal().max() > 0:
        raise ValueError(f"{name} ({len(noise)} features) is zero: no direction can be compared with it.")
    try:
        SharedDenominator(noise.copy())
    except linalg.LinAlgError:
        basis = range_basis(noise)
        k = min(k, basis.shape[1])
        values, vectors = largest_eigenpairs(basis.T @ signal @ basis, k, check_finite=False)
        return values, basis @ vectors
    return largest_eigenpairs(signal, k, b=noise, check_finite=False)


def range_basis(noise: np.ndarray) -> np.ndarray:
    """Return vectors as columns, (d, rank), that span the range of a covariance, with VᵀNV = I.

    The rank is that of the correlations, so that it does not depend on the units of the features.
    """
    variances = noise.diagonal()
    varying = np.flatnonzero(variances > 0)
    scales = np.sqrt(variances[varying])
    values, vectors = linalg.eigh(noise[np.ix_(varying, varying)] / np.outer(scales, scales))
    kept = values > RANK_TOLERANCE * values[-1]
    basis = np.zeros((len(noise), np.count_nonzero(kept)))
    basis[varying] = vectors[:, kept] / np.sqrt(values[kept]) / scales[:, None]
    return basis


def add_ridge(matrix: np.ndarray, gamma: float) -> np.ndarray:
    """Add ``gamma`` times the mean eigenvalue to the diagonal, in place."""
    matrix.flat[:: len(matrix) + 1] += gamma * np.trace(matrix) / len(matrix)
    return matrix


def between_and_within(moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, and the covariances of class means (weighted) and of rows within classes.

    They are exactly zero for features that are constant but for rounding.
    """
    shares = moments.counts / moments.counts.sum()
    means = moments.sums / moments.counts[:, None]
    mean = shares @ means
    centred = means - mean
    between = (centred * shares[:, None]).T @ centred
    second_moment = moments.total() / moments.counts.sum()
    squares = second_moment.diagonal().copy()
    within = second_moment - np.outer(mean, mean) - between
    for part in (between, within):
        constant = part.diagonal() <= _ROUNDING * squares
        part[constant] = 0
        part[:, constant] = 0
    return mean, between, within
