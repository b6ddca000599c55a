"""Leading eigenpairs: against a shared denominator, from few rows, or from products alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from scipy import linalg

logger = logging.getLogger(__name__)


def make_peaks_positive(vectors: np.ndarray) -> np.ndarray:
    """Make the entry of largest size of every column (d, m) positive, in place; return the array."""
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    vectors *= np.where(peaks < 0, -1, 1).astype(vectors.dtype)
    return vectors


def largest_eigenpairs(matrix: np.ndarray, k: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and vectors (d, k); the options are `linalg.eigh`'s."""
    values, vectors = linalg.eigh(matrix, subset_by_index=(len(matrix) - k, len(matrix) - 1), **options)
    return values[::-1], vectors[:, ::-1]


#: From this size on, the few wanted vectors come from a block Krylov iteration, not a dense reduction.
DENSE_LIMIT = 1000

#: From this size on that iteration is tried for so few vectors, and given up after so many blocks: it takes a
#: third to two thirds of the time of a reduction where eigenvalues fall fast, as those of images do.
_TRIED_FROM, _TRIED_VECTORS, _TRIED_BLOCKS = 500, 5, 16

#: Rounding of eigenvalues of products of rows, relative to the largest, and of ridges, relative to the trace.
_ROUNDING = 1e-10


class TooFewRows(linalg.LinAlgError):
    """The rows do not determine what is asked for: the matrices have to be formed."""


class SharedDenominator:
    r"""Solve :math:`S v = \lambda N v` for several S with one Cholesky factor :math:`N = L L^\top`.

    ``N`` (d, d), float64: symmetric positive definite; overwritten. Raises `scipy.linalg.LinAlgError` if it
    is singular to working precision. The factor costs d³/3 flops; the dense path then 3d³ for each S; the
    matrix-free one 4d²(m+b) for each step with m vectors.
    """

    def __init__(self, N: np.ndarray) -> None:
        diagonal = np.diag(N).copy()
        self._factor = linalg.cholesky(N, lower=True, overwrite_a=True, check_finite=False)
        if np.any(np.diag(self._factor) ** 2 <= len(N) * np.finfo(float).eps * diagonal):
            raise linalg.LinAlgError("the denominator is singular to working precision")

    def top(self, S: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues of S (d, d), descending, and vectors (d, n_vectors) with vᵀNv = 1.

        S is not changed; the entry of largest size of each vector is positive.
        """
        values, reduced = self._top_iterated(S, n_vectors) or self._top_dense(S, n_vectors)
        vectors = linalg.solve_triangular(
            self._factor, reduced, lower=True, trans="T", overwrite_b=True, check_finite=False
        )
        return values, make_peaks_positive(vectors)

    def top_of_rows(self, E: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what ``top`` does for S = EᵀE, from rows E, (m, d), that are few: m·d² + m²·d + 2m³ flops.

        Raises `TooFewRows` if S has a smaller rank than ``n_vectors``.
        """
        W = linalg.solve_triangular(self._factor, E.T, lower=True, check_finite=False)
        values, U = top_of_gram(linalg.blas.dsyrk(1.0, W, trans=1, lower=1), n_vectors)
        vectors = linalg.solve_triangular(
            self._factor,
            W @ (U / np.sqrt(values)),
            lower=True,
            trans="T",
            overwrite_b=True,
            check_finite=False,
        )
        return values, make_peaks_positive(vectors)

    def whitened(self, rows: np.ndarray) -> np.ndarray:
        """Return L⁻¹x for every row x of an array (n, d), as rows: where N has become the identity."""
        return linalg.solve_triangular(self._factor, rows.T, lower=True, check_finite=False).T

    def _top_iterated(self, S: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return eigenpairs by iteration, or None where a dense reduction is the better way."""
        d, rng = len(S), np.random.RandomState(0)
        if d >= DENSE_LIMIT and n_vectors <= d // 10:
            return block_krylov(self._operator(S), d, n_vectors, rng=rng)
        if d < _TRIED_FROM or n_vectors > _TRIED_VECTORS:
            return None
        try:
            return block_krylov(self._operator(S), d, n_vectors, rng=rng, max_iter=_TRIED_BLOCKS)
        except linalg.LinAlgError:
            return None

    def _top_dense(self, S: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        reduced, _ = linalg.lapack.dsygst(S.T, self._factor, itype=1, lower=1)
        return largest_eigenpairs(reduced, n_vectors, overwrite_a=True, check_finite=False)

    def _operator(self, S: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the map V ↦ L⁻¹ S L⁻ᵀ V."""

        def apply(V: np.ndarray) -> np.ndarray:
            V = linalg.solve_triangular(self._factor, V, lower=True, trans="T", check_finite=False)
            return linalg.solve_triangular(
                self._factor, S @ V, lower=True, overwrite_b=True, check_finite=False
            )

        return apply


def top_of_gram(gram: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues, descending, and vectors of products of m rows; its lower half is read.

    Raises `TooFewRows` if fewer than ``n_vectors`` eigenvalues differ from zero.
    """
    m = len(gram)
    if n_vectors > m:
        raise TooFewRows(f"{m} rows have no {n_vectors} directions")
    values, vectors = largest_eigenpairs(gram, n_vectors, overwrite_a=True, check_finite=False)
    if not values[-1] > _ROUNDING * values[0]:
        raise TooFewRows(f"the rank of {m} rows is below {n_vectors}")
    return values, vectors


def block_krylov(
    apply: Callable[[np.ndarray], np.ndarray],
    size: int,
    n_vectors: int,
    *,
    rng: np.random.RandomState,
    tol: float = 1e-8,
    max_iter: int = 300,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues, descending, and vectors of a symmetric operator, see `krylov_pairs`.

    Raises `scipy.linalg.LinAlgError` if residual norms are not below ``tol`` times the largest eigenvalue
    after ``max_iter`` blocks.
    """
    start = rng.standard_normal((size, n_vectors + 4))
    for values, vectors, norms in islice(krylov_pairs(apply, start, 0.1 * tol), max_iter):
        if norms[:n_vectors].max() <= tol * abs(values[0]):
            return values[:n_vectors], vectors[:, :n_vectors]
    raise linalg.LinAlgError(
        f"no convergence to {tol:g} in {max_iter} iterations (residual {norms.max():g})."
    )


def krylov_pairs(
    apply: Callable[[np.ndarray], np.ndarray], start: np.ndarray, tol: float
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield estimates of the largest eigenpairs of a symmetric operator, and their residual norms.

    A block Krylov (Lanczos) iteration from a block of vectors (size, w) with full orthogonalisation,
    Rayleigh–Ritz and thick restarts: the basis is extended by the residuals of the w Ritz vectors, and cut
    back to them when it is full. It ends when no residual exceeds ``tol`` times the largest eigenvalue.
    """
    size, width = start.shape
    basis = linalg.qr(start, mode="economic", check_finite=False)[0]
    image = apply(basis)
    while True:
        values, rotation = linalg.eigh(basis.T @ image)
        values, rotation = values[: -width - 1 : -1], rotation[:, : -width - 1 : -1]
        ritz, ritz_image = basis @ rotation, image @ rotation
        residual = ritz_image - ritz * values
        norms = np.linalg.norm(residual, axis=0)
        yield values, ritz, norms
        residual = residual[:, norms > tol * abs(values[0])]
        if residual.shape[1] == 0:
            return
        if basis.shape[1] + width > min(size, 8 * width):
            basis, image = ritz, ritz_image
        for _ in range(2):
            residual -= basis @ (basis.T @ residual)
            residual = linalg.qr(residual, mode="economic", check_finite=False)[0]
        basis = np.hstack([basis, residual])
        image = np.hstack([image, apply(residual)])


class LowRankDenominator:
    r"""Solve :math:`E^\top E\, v = \lambda\, (F^\top F + g I)\, v` from the rows E and F.

    With :math:`A = F F^\top + g I = L L^\top` the inverse of the denominator is :math:`\frac{1}{g} (I -
    F^\top A^{-1} F)`, and the nonzero λ are those of the m × m matrix :math:`\frac{1}{g} (E E^\top - T^\top
    T)` with :math:`T = L^{-1} F E^\top`. For F (n, d), float64: n²·d + n³/3 flops, and n² numbers. Raises
    `TooFewRows` if g is too small beside the trace of FᵀF for this to be exact.
    """

    def __init__(self, F: np.ndarray, g: float) -> None:
        gram = linalg.blas.dsyrk(1.0, F.T, trans=1, lower=1)
        if not g > _ROUNDING * np.trace(gram):
            raise TooFewRows("the ridge of the denominator is too small beside its rows")
        gram.flat[:: len(gram) + 1] += g
        self._F, self._g = F, g
        self._factor = linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def top(self, E: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues, descending, and vectors (d, n_vectors) with vᵀ(FᵀF + gI)v = 1.

        ``E`` (m, d), float64; 2m·n·d + m²·d + m·n² + m²·n + about 2m³ flops. The entry of largest size of
        each vector is positive. Raises `TooFewRows` if the numerator has a smaller rank than ``n_vectors``.
        """
        T = linalg.solve_triangular(self._factor, self._F @ E.T, lower=True, check_finite=False)
        inner = linalg.blas.dsyrk(1.0, E.T, trans=1, lower=1)
        inner = linalg.blas.dsyrk(-1 / self._g, T, trans=1, beta=1 / self._g, c=inner, lower=1)
        values, U = top_of_gram(inner, n_vectors)
        weights = linalg.solve_triangular(self._factor, T @ U, lower=True, trans="T", check_finite=False)
        vectors = E.T @ U - self._F.T @ weights
        return values, make_peaks_positive(vectors / (self._g * np.sqrt(values)))


def leading_eigenpairs(
    apply: Callable[[np.ndarray], np.ndarray],
    size: int,
    k: int,
    *,
    oversampling: int,
    n_iter: int,
    rng: np.random.RandomState,
    dtype: np.dtype | type = np.float64,
    first: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and orthonormal vectors of an operator, float64.

    ``apply`` returns M @ Q for Q (size, w) of type ``dtype``, ``n_iter + 1`` times; ``first`` may be less
    exact and takes its place on the Gaussian start when power iterations follow. Up to ``oversampling``
    directions beyond k are carried along. Eigenvalues approach the true ones from below. With Q an
    orthonormal basis after the power iterations, the result is the singular value decomposition of MQ, which
    is half an iteration better than diagonalising QᵀMQ, by a QR factorisation: (MQ)ᵀMQ would square the
    condition number. Beside ``apply``: 4·size·w² flops for each application and 24·size·w bytes.
    """
    image = rng.standard_normal((size, min(k + oversampling, size)))
    for iteration in range(n_iter + 1):
        basis, _ = linalg.qr(image, mode="economic", overwrite_a=True, check_finite=False)
        product = first if first is not None and iteration == 0 < n_iter else apply
        image = np.asarray(product(basis.astype(dtype)), dtype=np.float64)
        logger.info("subspace iteration %d/%d", iteration + 1, n_iter + 1)
    factor, triangle = linalg.qr(image, mode="economic", overwrite_a=True, check_finite=False)
    rotation, values, _ = linalg.svd(triangle, overwrite_a=True, check_finite=False)
    return values[:k], make_peaks_positive(factor @ rotation[:, :k])
