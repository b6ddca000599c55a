"""Ridge regression with many right-hand sides by preconditioned conjugate gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from eigenbench.linalg.row_products import LabelledRows

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
    """Solve A Z = right for all columns side by side, each with steps of its own.

    Parameters
    ----------
    apply : callable
        Returns A @ P for P of shape (d, w); A symmetric positive definite.
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
    Four arrays of the size of ``right`` and one product are held beside it and the solution. Inner products
    are accumulated in float64. It pays little to start from earlier solutions: the best start in the
    span of those of the previous power iteration saved one or two of ten iterations.
    """
    inverse = preconditioner.astype(right.dtype)[:, None]
    solution = np.zeros_like(right)
    residual = right.copy()
    work = residual * inverse
    scale = _column_dots(right, right * inverse)
    length = _column_dots(residual, work)
    direction = work.copy()
    best, smallest = solution.copy(), length
    n_iter = 0
    while n_iter < max_iter:
        active = (length > tol**2 * scale) & (length <= GROWTH**2 * smallest)
        if not active.any():
            break
        image = apply(direction)
        curvature = _column_dots(direction, image)
        steps = np.divide(length, curvature, out=np.zeros_like(length), where=active & (curvature > 0))
        solution += np.multiply(direction, steps.astype(right.dtype), out=work)
        residual -= np.multiply(image, steps.astype(right.dtype), out=work)
        np.multiply(residual, inverse, out=work)
        before, length = length, np.where(active, _column_dots(residual, work), length)
        ratio = np.divide(length, before, out=np.zeros_like(length), where=active)
        direction *= ratio.astype(right.dtype)
        direction += work
        n_iter += 1
        np.copyto(best, solution, where=length < smallest)
        smallest = np.minimum(length, smallest)
    relative = np.divide(smallest, scale, out=np.zeros_like(smallest), where=scale > 0)
    return best, n_iter, float(np.sqrt(relative.max(initial=0)))


def _column_dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the inner products of corresponding columns in float64."""
    total = np.zeros(A.shape[1])
    for start in range(0, len(A), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        total += np.einsum("ij,ij->j", A[rows], B[rows])
    return total


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
        self._rows, self._penalty, self._tol, self._max_iter = rows, penalty, tol, max_iter
        diagonal = rows.diagonal + penalty
        self._preconditioner = np.divide(1, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
        self.n_iter, self.residual = 0, 0.0

    def __call__(self, right: np.ndarray) -> np.ndarray:
        """Return the solution for right-hand sides of shape (d, w)."""
        solution, n_iter, residual = conjugate_gradients(
            self._apply, right, self._preconditioner, tol=self._tol, max_iter=self._max_iter
        )
        self.n_iter, self.residual = max(self.n_iter, n_iter), max(self.residual, residual)
        logger.info("conjugate gradients: %d iterations, residual %.1e", n_iter, residual)
        return solution

    def _apply(self, P: np.ndarray) -> np.ndarray:
        image = self._rows.gram(P)
        image += self._rows.dtype.type(self._penalty) * P
        return image
