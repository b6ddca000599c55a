"""Symmetric matrices of which one triangle is kept, in LAPACK's rectangular full packed format."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack


def packed_size(order: int) -> int:
    """Return how many numbers the triangle of a matrix of this order has, d(d + 1)/2."""
    return order * (order + 1) // 2


def packed_product(rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return the triangle of ``rows.T @ rows``, n·d² flops at the rate of matrix products.

    Parameters
    ----------
    rows : ndarray of shape (n, d), float32 or float64
        C-contiguous rows, at least one.
    out : ndarray of shape (d(d + 1)/2,), optional
        An earlier result for the same d and type, which is overwritten.

    Returns
    -------
    ndarray of shape (d(d + 1)/2,)
        In the type of the rows. Sums and multiples of triangles are the triangles of sums and multiples.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.linalg.packed_symmetric import packed_product, unpacked
    >>> unpacked(packed_product(np.array([[1.0, 2.0], [0.0, 1.0]])))
    array([[1., 2.],
           [2., 5.]])
    """
    n, d = rows.shape
    sfrk = lapack.ssfrk if rows.dtype == np.float32 else lapack.dsfrk
    if out is None:
        out = np.empty(packed_size(d), dtype=rows.dtype)
    return sfrk(d, n, 1.0, rows.T, 0.0, out, overwrite_c=1)


def packed(matrix: np.ndarray) -> np.ndarray:
    """Return the triangle of a symmetric matrix (d, d), float64."""
    return lapack.dtrttf(matrix)[0]


def unpacked(triangle: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (d, d), float64, of a triangle (d(d + 1)/2,)."""
    order = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    matrix, _ = lapack.dtfttr(order, triangle.astype(np.float64, copy=False))
    matrix = matrix.T
    _mirror_lower(matrix)
    return matrix


def _mirror_lower(matrix: np.ndarray) -> None:
    """Copy the lower triangle of a square matrix to its upper triangle, in tiles that fit in cache."""
    size, tile = len(matrix), 256
    for start in range(0, size, tile):
        stop = min(start + tile, size)
        corner = matrix[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
