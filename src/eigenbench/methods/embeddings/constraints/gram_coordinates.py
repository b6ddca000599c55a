"""Coordinates of points of a kernel's feature space, from their Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

#: Relative size of a squared length, or of a product with the Gram matrix, that counts as rounding.
_TOLERANCE = 1e-6


def kernel_matrix(X: Any, Y: Any, kernel: Any, params: dict[str, Any]) -> np.ndarray:
    """Evaluate a kernel on two sets of rows.

    ``X``, ``Y`` (n, p) and (m, p): the rows.
    ``kernel``: a name known to :func:`sklearn.metrics.pairwise.pairwise_kernels`, a callable on two rows,
    or "half_rbf" for ½·exp(−gamma·‖x − y‖²).
    ``params``: parameters of the kernel; those a named kernel does not have are left out.
    Result of shape (n, m).
    Raises `ValueError` if a value is not finite.
    """
    if kernel == "half_rbf":
        values = rbf_kernel(X, Y, gamma=params.get("gamma"))
        values *= 0.5
    else:
        values = np.asarray(
            pairwise_kernels(X, Y, metric=kernel, filter_params=not callable(kernel), **params)
        )
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
        raise ValueError(
            f"kernel {name!r} gives {values[i, j]} for rows {i} and {j}: all its values must be finite. "
            "Scale the inputs or change the kernel's parameters."
        )
    return values


@dataclass(frozen=True)
class GramCoordinates:
    r"""Rows whose inner products are a Gram matrix: :math:`G = C C^\top`.

    Attributes: ``rows`` (n, r), float64: the coordinates C of the n points in an orthonormal basis of
    their span, of dimension r.
    ``pivots`` (r,): numbers of r linearly independent points that span the rest.
    ``factor`` (r, r), float64: the lower triangular ``rows[pivots]``.

    Notes
    -----
    Cholesky factorisation with pivoting: n·r² flops, and rank deficiency (repeated points, linear kernels of
    few features) only makes r smaller.
    """

    rows: np.ndarray
    pivots: np.ndarray
    factor: np.ndarray

    @classmethod
    def from_gram(cls, G: np.ndarray) -> GramCoordinates:
        """Factor a Gram matrix.

        ``G`` (n, n), float64: symmetric positive semidefinite.
        Raises `ValueError` if G is zero or not positive semidefinite.
        """
        if not np.diagonal(G).max() > 0:
            raise ValueError("the kernel is zero for all rows: no direction can be found.")
        packed, order, rank, _ = linalg.lapack.dpstrf(G.T, lower=True)
        order = order - 1
        lower = np.tril(packed[:, :rank])
        rows = np.empty((len(G), rank))
        rows[order] = lower
        probe = np.random.RandomState(0).standard_normal(len(G))
        product = G @ probe
        if np.linalg.norm(product - rows @ (rows.T @ probe)) > _TOLERANCE * np.linalg.norm(product):
            raise ValueError("the kernel is not positive semidefinite on these rows: choose another kernel.")
        return cls(rows, order[:rank], lower[:rank])

    def expansion(self, vectors: np.ndarray) -> np.ndarray:
        """Return the coefficients, over the pivots, of vectors given in the coordinates, (r, d)."""
        return linalg.solve_triangular(self.factor, vectors, lower=True, trans="T", check_finite=False)
