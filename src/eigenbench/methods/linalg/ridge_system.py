"""Ridge regression with many right-hand sides: normal equations in place, or conjugate gradients."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.row_blocks import FeatureBlocks
from eigenbench.methods.linalg.row_products import GramProducts, LabelledRows

logger = logging.getLogger(__name__)

#: Up to this many features the Gram matrix is formed in float64 whatever the type of the features.
DOUBLE_PRECISION_LIMIT = 2048

#: Relative rise of the diagonal that keeps the factorisation definite, in units of ε·√D.
ROUNDING = 1.0


class RidgeSystem:
    r"""Centred Gram matrix :math:`G = \sum (f - \mu)(f - \mu)^\top`, then the Cholesky factor of G + λI.

    One triangle of a D×D array, of the type of the features or float64 for small D, is used: products are
    added to it (BLAS syrk), the mean is removed by a rank-1 update and it is factored where it lies. Without
    ``fit_intercept`` the mean is zero. ``factor`` sets ``mean`` and the ``penalty`` λ. n·D² flops for the
    products, D³/3 for the factor, 2D² for each right-hand side.
    """

    def __init__(self, n_features: int, dtype: np.dtype, *, fit_intercept: bool = True) -> None:
        self.dtype = np.dtype(np.float64) if n_features <= DOUBLE_PRECISION_LIMIT else np.dtype(dtype)
        self._matrix = np.zeros((n_features, n_features), dtype=self.dtype, order="F")
        self._sum = np.zeros(n_features)
        self.fit_intercept = fit_intercept
        self.mean = np.zeros(n_features)
        self.n_rows: float = 0

    @classmethod
    def of_sums(
        cls, gram: np.ndarray, total: np.ndarray, n_rows: float, *, fit_intercept: bool = True
    ) -> RidgeSystem:
        """Return the system of rows that are known by sums: f fᵀ (D, D; copied), f (D,), and their number."""
        system = cls(len(total), gram.dtype, fit_intercept=fit_intercept)
        system._matrix[:] = gram
        system._sum[:] = total
        system.n_rows = n_rows
        return system

    def add(self, block: np.ndarray, weights: np.ndarray | None = None) -> None:
        """Add the rows of a C-contiguous feature block of shape (b, D), with weights (b,) if any."""
        block = block.astype(self.dtype, copy=False)
        if weights is not None:
            self._sum += weights @ block
            block = block * np.sqrt(weights).astype(self.dtype)[:, None]
        syrk = blas.ssyrk if self.dtype == np.float32 else blas.dsyrk
        self._matrix = syrk(1.0, block.T, beta=1.0, c=self._matrix, overwrite_c=True, lower=1)
        if weights is None:
            self._sum += np.ones(len(block), dtype=block.dtype) @ block
        self.n_rows += len(block) if weights is None else weights.sum()

    def merge(self, other: RidgeSystem) -> None:
        """Add the rows that another system with the same features has been given."""
        self._matrix += other._matrix
        self._sum += other._sum
        self.n_rows += other.n_rows

    def factor(self, ridge: float, *, absolute: float = 0.0) -> RidgeSystem:
        """Centre the matrix, add a penalty in units of the mean variance and an absolute one, and factor it.

        No rows can be added afterwards. Raises `ValueError` if the matrix is not positive definite.
        """
        diagonal, size = self._diagonal(), len(self._sum)
        rounding = ROUNDING * np.finfo(self.dtype).eps * np.sqrt(size) * diagonal
        if self.fit_intercept:
            self.mean = self._sum / self.n_rows
            syr = blas.ssyr if self.dtype == np.float32 else blas.dsyr
            mean = self.mean.astype(self.dtype)
            self._matrix = syr(-self.n_rows, mean, a=self._matrix, lower=1, overwrite_a=True)
            diagonal = self._diagonal()
        unit = float(diagonal.mean(dtype=np.float64)) / self.n_rows
        self.penalty = max(ridge * unit + absolute, float(np.finfo(self.dtype).tiny))
        diagonal += rounding + self.penalty
        try:
            self._matrix, _ = linalg.cho_factor(
                self._matrix, lower=True, overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError as error:
            raise ValueError(
                f"the Gram matrix of the {size} features is not positive definite with penalty "
                f"{self.penalty:.3g}: use a stronger penalty, or float64 features."
            ) from error
        logger.info("Gram matrix factored (%d features, %s)", size, self.dtype)
        return self

    def _diagonal(self) -> np.ndarray:
        """Return a writable view of the diagonal."""
        return np.einsum("ii->i", self._matrix)

    def apply_inverse(self, right: np.ndarray) -> np.ndarray:
        """Return (G + λI)⁻¹ · right in float64, for ``right`` of shape (D, k)."""
        solution = linalg.cho_solve((self._matrix, True), right.astype(self.dtype), check_finite=False)
        return solution.astype(np.float64)

    def whiten(self, block: np.ndarray) -> np.ndarray:
        r"""Return :math:`\sqrt n\, (f - \mu)^\top L^{-\top}` of each row f, where :math:`L L^\top = G + λI`.

        Without a penalty the result has unit second moment over the rows that were added. (b, D) → (b, D), in
        the type of the matrix.
        """
        centred = np.subtract(block, self.mean, dtype=self.dtype) * self.dtype.type(np.sqrt(self.n_rows))
        return self._triangular(centred.T).T

    def whitened_cross(self, cross: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Return ``whiten(F).T @ T`` for a target T, given F^T T (D, k) and the column sums of T (k,)."""
        centred = (cross - np.outer(self.mean, total)).astype(self.dtype)
        return self._triangular(centred * self.dtype.type(np.sqrt(self.n_rows)))

    def unwhiten(self, coef: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (D, k) and intercepts (k,) for features as ``coef`` is for whitened ones."""
        weights = self._triangular(coef.astype(self.dtype), trans="T")
        weights *= self.dtype.type(np.sqrt(self.n_rows))
        return weights, -(self.mean @ weights)

    def _triangular(self, right: np.ndarray, trans: str = "N") -> np.ndarray:
        return linalg.solve_triangular(
            self._matrix, right, lower=True, trans=trans, overwrite_b=True, check_finite=False
        )

    def whitened_coef(self, coef: np.ndarray) -> np.ndarray:
        """Return the coefficients for whitened features that ``unwhiten`` turns into ``coef``, (D, k)."""
        trmm = blas.strmm if self.dtype == np.float32 else blas.dtrmm
        return trmm(1 / np.sqrt(self.n_rows), self._matrix, coef.astype(self.dtype), lower=1, trans_a=1)

    def mean_variance(self) -> float:
        """Return the mean variance of a feature over the rows added so far, before ``factor``."""
        squares = float(self._diagonal().mean(dtype=np.float64)) / self.n_rows
        mean = self._sum / self.n_rows if self.fit_intercept else np.zeros(1)
        return max(0.0, squares - float(mean @ mean) / len(self._sum))

    def solve(self, cross: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the ridge regression of a target T: coefficients (D, k) and intercepts (k,), float64.

        ``cross`` is :math:`F^\top T` (D, k), ``total`` the column sums of T. Without ``fit_intercept``
        intercepts are zero.
        """
        coef = self.apply_inverse(cross - np.outer(self.mean, total))
        mean_target = total / self.n_rows if self.fit_intercept else np.zeros(len(total))
        return coef, mean_target - self.mean @ coef


def gram_system(
    blocks: FeatureBlocks, weights: np.ndarray | None = None, *, fit_intercept: bool = True
) -> RidgeSystem:
    """Return the system of all rows, on the workers of joblib's backend, not factored yet."""
    start = partial(RidgeSystem, blocks.n_features, blocks.dtype, fit_intercept=fit_intercept)
    rows = () if weights is None else (weights,)
    return accumulate(blocks, start, *rows, label=f"Gram matrix ({blocks.n_features} features)")


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
    """Solve A Z = right (d, w): block conjugate gradients with an orthonormal basis of the residuals.

    Returns of each column the iterate of smallest residual, the number of iterations, and the largest
    relative residual. ``apply`` multiplies A, symmetric positive definite, with C-contiguous (d, w);
    ``preconditioner`` (d,) is a diagonal approximate inverse, and entries of Z where it is zero stay zero. A
    column is done when its residual, in the norm of the preconditioner, is ``tol`` of its right-hand side.
    Right-hand sides may depend on each other. An iteration costs 12·d·w² flops beside its product (A. A.
    Dubrulle, "Retooling the method of block conjugate gradients", ETNA 12, 2001).
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
    r"""Solve :math:`(X_c^\top X_c + \lambda I) Z = B` from products with the rows, also from several threads.

    ``n_iter`` and ``residual`` are the largest number of iterations and relative residual of any call so far.
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
