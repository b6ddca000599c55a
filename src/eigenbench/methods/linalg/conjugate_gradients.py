"""Ridge regression with many right-hand sides by preconditioned conjugate gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from scipy import linalg

from eigenbench.methods.linalg.gram_products import GramProducts
from eigenbench.methods.linalg.row_products import LabelledRows

logger = logging.getLogger(__name__)

#: Rows of a product that are summed in the type of the data before they are added up in float64.
_ROWS_AT_ONCE = 4096

#: A column ends when its residual is this many times its smallest so far: rounding has taken over, as happens
#: where A is singular to working precision.
GROWTH = 100.0


def conjugate_gradients(
    apply: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    preconditioner: np.ndarray,
    *,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, int, float]:
    """Solve A Z = right for all columns together: each step is the best in the directions of all of them.

    Parameters
    ----------
    apply : callable
        Returns A @ P for C-contiguous P of shape (d, w); A symmetric positive definite.
    right : ndarray of shape (d, w)
        The right-hand sides.
    preconditioner : ndarray of shape (d,)
        Diagonal of an approximate inverse of A; entries of the solution where it is zero stay zero.
    tol : float
        A column is done when its residual is ``tol`` times as large as its right-hand side, both in the
        norm of the preconditioner.
    max_iter : int
        Largest number of iterations, of one product with A each.

    Returns
    -------
    solution : ndarray of shape (d, w)
        In the type of ``right``; of each column the iterate of smallest residual.
    n_iter : int
        Iterations done.
    residual : float
        The largest relative residual left in a column of the solution.

    Notes
    -----
    Block conjugate gradients with an orthonormal basis of the residuals [1]_, which also bears right-hand
    sides that depend on each other. Each iteration costs 12·d·w² flops beside its product; three arrays of
    the size of ``right`` and one product are held beside it and the solution. Inner products are accumulated
    in float64. It pays little to start from earlier solutions: the best start in the span of those of the
    previous power iteration saved at most one iteration.

    References
    ----------
    .. [1] A. A. Dubrulle, "Retooling the method of block conjugate gradients", Electronic Transactions on
       Numerical Analysis 12 (2001).
    """
    scaling = np.sqrt(preconditioner).astype(right.dtype)[:, None]
    basis, factor = _orthonormal(np.asfortranarray(right * scaling))
    direction, solution = basis.copy(order="F"), np.zeros(right.shape, right.dtype, order="F")
    scale = length = smallest = np.einsum("ij,ij->j", factor, factor)
    earlier: dict[int, np.ndarray] = {}
    n_iter = 0
    while n_iter < max_iter:
        active = (length > tol**2 * scale) & (length <= GROWTH**2 * smallest)
        if not active.any():
            break
        image = apply(np.multiply(direction, scaling, order="C"))
        image *= scaling
        steps = _inverse(_inner_products(direction, image), right.dtype)
        coefficients = steps @ factor
        basis -= image @ steps.astype(right.dtype)
        del image
        basis, triangle = _orthonormal(basis)
        factor = triangle @ factor
        length = np.einsum("ij,ij->j", factor, factor)
        for column in np.flatnonzero(length < smallest).tolist():
            earlier.pop(column, None)
        for column in np.flatnonzero(length >= smallest).tolist():
            earlier.setdefault(column, solution[:, column].copy())
        smallest = np.minimum(length, smallest)
        solution += direction @ coefficients.astype(right.dtype)
        direction = direction @ triangle.T.astype(right.dtype)
        direction += basis
        n_iter += 1
    for column, best in earlier.items():
        solution[:, column] = best
    relative = np.divide(smallest, scale, out=np.zeros_like(smallest), where=scale > 0)
    return np.multiply(solution, scaling, order="C"), n_iter, float(np.sqrt(relative.max(initial=0)))


def _orthonormal(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return an orthonormal basis, in their type, and the columns in its coordinates, float64."""
    basis, factor = linalg.qr(columns, mode="economic", overwrite_a=True, check_finite=False)
    return basis, factor.astype(np.float64)


def _inner_products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products of all columns in float64."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        total += A[rows].T @ B[rows]
    return total


def _inverse(curvature: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the inverse where the symmetric matrix is positive beyond rounding, and zero elsewhere."""
    values, vectors = linalg.eigh(curvature, check_finite=False)
    positive = values > len(values) * np.finfo(dtype).eps * values[-1]
    chosen = vectors[:, positive]
    return (chosen / values[positive]) @ chosen.T


class StreamedRidge:
    r"""Solve :math:`(X_c^\top X_c + \lambda I) Z = B` from products with the rows.

    Calls may come from several threads.

    Parameters
    ----------
    rows : LabelledRows
        The rows.
    penalty : float
        The λ ≥ 0.
    tol, max_iter
        As for `conjugate_gradients`.

    Attributes
    ----------
    n_iter : int
        The largest number of iterations of any call so far.
    residual : float
        The largest relative residual that any call has left.
    """

    def __init__(self, rows: LabelledRows, penalty: float, *, tol: float, max_iter: int) -> None:
        self._penalty, self._tol, self._max_iter = penalty, tol, max_iter
        self._gram = GramProducts(rows)
        diagonal = (rows.diagonal + penalty)[self._gram.order]
        self._preconditioner = np.divide(1, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        self.n_iter, self.residual = 0, 0.0

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for right-hand sides of shape (d, w)."""
        order = self._gram.order
        found, n_iter, residual = conjugate_gradients(
            self._apply, right[order], self._preconditioner, tol=self._tol, max_iter=self._max_iter
        )
        solution = np.empty_like(found)
        solution[order] = found
        self.n_iter, self.residual = max(self.n_iter, n_iter), max(self.residual, residual)
        logger.info("conjugate gradients: %d iterations, residual %.1e", n_iter, residual)
        return solution

    def roughly(self, right: np.ndarray) -> np.ndarray:
        """Return the solution as if features were uncorrelated, without a product."""
        solution = np.empty_like(right)
        order = self._gram.order
        solution[order] = right[order] * self._preconditioner.astype(right.dtype)[:, None]
        return solution

    def _apply(self, P: np.ndarray) -> np.ndarray:
        image = self._gram(P)
        image += P.dtype.type(self._penalty) * P
        return image
