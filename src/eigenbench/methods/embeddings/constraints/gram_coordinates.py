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
    """Evaluate a kernel on two sets of rows, (n, p) and (m, p), giving (n, m).

    The kernel is a name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, which takes those of ``params``
    that it has, a callable on two rows, or "half_rbf" for ½·exp(−gamma·‖x − y‖²). Raises `ValueError` if a
    value is not finite.
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
    r"""Rows C (n, r) whose inner products are a Gram matrix: :math:`G = C C^\top`.

    ``pivots`` (r,) are numbers of linearly independent points that span the rest, ``factor`` is
    ``rows[pivots]``, lower triangular. Cholesky factorisation with pivoting: n·r² flops; repeated points and
    linear kernels only make r smaller.
    """

    rows: np.ndarray
    pivots: np.ndarray
    factor: np.ndarray

    @classmethod
    def from_gram(cls, G: np.ndarray) -> GramCoordinates:
        """Factor G (n, n), float64; raise `ValueError` if it is zero or not positive semidefinite."""
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
