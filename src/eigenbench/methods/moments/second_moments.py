"""Second moments of classes as packed triangles or as few rows, and shifts that keep small variances."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import lapack

from eigenbench.methods.linalg.eigenproblems import TooFewRows
from eigenbench.methods.linalg.row_blocks import dense_block, row_slices, rows_that_count
from eigenbench.methods.linalg.row_products import LARGE_MEAN
from eigenbench.methods.moments.class_sums import class_runs, label_array

logger = logging.getLogger(__name__)


def packed_size(order: int) -> int:
    """Return how many numbers the triangle of a matrix of this order has, d(d + 1)/2."""
    return order * (order + 1) // 2


def packed_product(rows: np.ndarray) -> np.ndarray:
    """Return the triangle of ``rows.T @ rows``, n·d² flops; sums and multiples of triangles are triangles."""
    n, d = rows.shape
    sfrk = lapack.ssfrk if rows.dtype == np.float32 else lapack.dsfrk
    return sfrk(d, n, 1.0, rows.T, 0.0, np.empty(packed_size(d), dtype=rows.dtype), overwrite_c=1)


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return the triangle of a symmetric matrix (d, d), float64."""
    return lapack.dtrttf(matrix)[0]


def unpacked(triangle: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (d, d), float64, of a triangle (d(d + 1)/2,)."""
    order = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    matrix, _ = lapack.dtfttr(order, triangle.astype(np.float64, copy=False))
    return mirrored(matrix.T)


def mirrored(matrix: np.ndarray) -> np.ndarray:
    """Copy the lower triangle of a square matrix to its upper triangle, in tiles that fit in cache."""
    size, tile = len(matrix), 256
    for start in range(0, size, tile):
        stop = min(start + tile, size)
        corner = matrix[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
    return matrix


def one_shift(rows: np.ndarray, total: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from float32 rows of this sum before products are made, None for nothing.

    Raw products of a feature of mean m and variance v keep v to about m²/v times the rounding of their type.
    """
    if rows.dtype != np.float32:
        return None
    mean = total / len(rows)
    variance = _mean_squares(rows) - mean**2
    return _rounded(mean, variance) if _is_large(mean, variance).any() else None


def class_shifts(rows: np.ndarray, totals: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from the float32 rows of each class, (c, d), None for nothing.

    Only features that need it are shifted. With less than two rows a class there is one shift for all.
    """
    if rows.dtype != np.float32:
        return None
    if len(rows) < 2 * len(totals):
        shift = one_shift(rows, totals.sum(axis=0))
        return None if shift is None else np.broadcast_to(shift, totals.shape)
    means = totals / counts[:, None]
    within = len(rows) * _mean_squares(rows) - counts @ means**2
    variance = within / max(1, len(rows) - len(totals))
    large = _is_large(means, variance).any(axis=0)
    return np.where(large, _rounded(means, variance), np.float32(0)) if large.any() else None


def moved_by(shifts: np.ndarray, totals: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the second moment of rows less that of the rows minus the shift of their class, (d, d).

    ``shifts`` and ``totals`` are (c, d), ``sizes`` (c,); features without a shift cost nothing.
    """
    shifts = shifts.astype(np.float64)
    moved = np.flatnonzero(shifts.any(axis=0))
    half = np.zeros((totals.shape[1], totals.shape[1]))
    half[:, moved] = (totals - 0.5 * sizes[:, None] * shifts).T @ shifts[:, moved]
    return half + half.T


def _mean_squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->d", rows, rows, dtype=np.float64) / len(rows)


def _is_large(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return mean**2 > LARGE_MEAN**2 * variance


def _rounded(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the mean to within a standard deviation, with few digits: subtracting it is almost exact."""
    least = (np.finfo(np.float32).eps * mean) ** 2 + np.finfo(np.float64).tiny
    step = 2.0 ** np.floor(0.5 * np.log2(np.maximum(variance, least)))
    return (step * np.rint(mean / step)).astype(np.float32)


class SecondMoments:
    """Base of what knows the second moment of every class at hand by its position among ``classes``."""

    classes: np.ndarray
    counts: np.ndarray
    sums: np.ndarray

    @abstractmethod
    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""

    def conditional(self, i: int) -> np.ndarray:
        """Return C_i = E[x xᵀ | class i], the uncentred second moment of the i-th class, (d, d)."""
        return self.second_moment(i) / self.counts[i]

    def covariance(self, i: int) -> np.ndarray:
        """Return Cov[x | class i] with divisor n_i, (d, d); zero for a class of one row."""
        mean = self.sums[i] / self.counts[i]
        return self.conditional(i) - np.outer(mean, mean)

    def parts(self, needs: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield problems, rows of ``needs`` (p, r), and moments that hold their classes: here all at once."""
        yield np.arange(len(needs)), self


#: The classes of a problem have at most this share of d rows together where it is solved from rows.
ROWS_PER_FEATURE = 0.5


class ClassRows(SecondMoments):
    """The rows of every class, with the counts, sums and second moments that follow from them.

    The rows stay where they are, in a mapped file if they lie in one; those of weight 0 are left out. Those
    of a class become float64 when they are asked for, 8·d bytes each, and so is every second moment made.
    """

    def __init__(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> None:
        y = label_array(y)
        X, y, sample_weight = rows_that_count(X, y, sample_weight)
        self.classes, codes = np.unique(y, return_inverse=True)
        self.n_features = X.shape[1]
        weights = np.ones(len(y), dtype=int) if sample_weight is None else sample_weight
        self._rows = X
        self._members = [rows for _, rows in class_runs(codes)]
        self._scales = [np.sqrt(weights[rows])[:, None] for rows in self._members]
        self.counts = np.array([weights[rows].sum() for rows in self._members])
        self.sums = np.array(
            [np.einsum("nd,no->d", self.root(i), scale) for i, scale in enumerate(self._scales)]
        )

    @staticmethod
    def serve(y: np.ndarray, n_features: int, classes_each: int = 2) -> bool:
        """Return whether problems of so many classes each are cheaper to solve from their rows."""
        largest = np.unique(y, return_counts=True)[1].max()
        return classes_each * largest <= ROWS_PER_FEATURE * n_features

    def root(self, i: int, *, centred: bool = False) -> np.ndarray:
        """Return R, (n_i, d): RᵀR is Σ x xᵀ over rows of the i-th class, less their mean if ``centred``."""
        root = dense_block(self._rows[self._members[i]], np.float64) * self._scales[i]
        return root - self._scales[i] * (self.sums[i] / self.counts[i]) if centred else root

    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""
        root = self.root(i)
        return root.T @ root

    def total(self) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows, (d, d), undivided."""
        total = np.zeros((self.n_features, self.n_features))
        largest = max(map(len, self._members))
        for some in row_slices(len(self._members), 8 * self.n_features * largest):
            root = np.concatenate([self.root(i) for i in range(some.start, some.stop)])
            total += root.T @ root
        return total


def solved_from_rows(
    solve: Callable[[ClassRows], None],
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    classes_each: int,
) -> bool:
    """Solve from rows where that is cheaper than from second moments, and return whether it was done.

    ``solve`` sets what is fitted; it may raise `TooFewRows`, and is then to be called with moments.
    """
    if not ClassRows.serve(y, X.shape[1], classes_each):
        return False
    try:
        solve(ClassRows(X, y, sample_weight))
    except TooFewRows as error:
        logger.info("second moments are formed, because %s", error)
        return False
    return True
