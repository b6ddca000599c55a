"""Subspaces of positive eigenvalues for one weight η₋₁, or for several from a grid or from thresholds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import eigsh

from eigenbench.methods.embeddings.constraints.constraint_operators import ConstraintOperators
from eigenbench.methods.embeddings.constraints.margin_risk import eta_from_threshold
from eigenbench.methods.linalg.eigenproblems import krylov_pairs, largest_eigenpairs

logger = logging.getLogger(__name__)

#: A dense eigensolver is as fast as the iteration up to this order, or for more than this share of the order.
DENSE_LIMIT, DENSE_SHARE = 1000, 1 / 80

_EXTRA_VECTORS, _MAX_BLOCKS, _MIN_BLOCKS = 6, 200, 4


class PositiveEigenspaces:
    """Solver for the leading eigenpairs of T̂(η) = η·negative − positive, called with one η after the other.

    At most ``n_components`` pairs of positive eigenvalues are kept: on eigenvectors of eigenvalue zero all
    training differences vanish. Below order 1,000, or for more than k/80 vectors, a dense solver, 4k³/3 flops
    for each η. Else block Krylov iteration on (σI − T̂)⁻¹ with σ just above the spectrum, which maps the many
    large negative eigenvalues near zero: one Cholesky factorisation, k³/3 flops, and O(k²d) for each step,
    until one raises the sum of the positive eigenvalues by less than ``tol`` of it. An iteration starts from
    the vectors of the one before. λ_max(T̂(η))/η does not fall with η, so a result bounds the spectrum for
    every smaller η: a falling sequence is the fastest.
    """

    def __init__(self, operators: ConstraintOperators, n_components: int, *, tol: float = 1e-12) -> None:
        self.operators, self.tol = operators, tol
        self.size = len(operators.negative)
        self.n_vectors = min(n_components, self.size)
        self._eta, self._ceiling = np.inf, np.inf
        self._start: np.ndarray | None = None

    def __call__(self, eta: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the positive eigenvalues for one η > 0, descending, and orthonormal vectors (k, d)."""
        T = self.operators.combined(eta)
        rounding = self.size * np.finfo(float).eps * np.linalg.norm(T)
        if self.size <= DENSE_LIMIT or self.n_vectors > self.size * DENSE_SHARE:
            values, vectors = largest_eigenpairs(T, self.n_vectors, overwrite_a=True)
        else:
            values, vectors = self._iterate(T, eta, rounding)
        kept = values > rounding
        return values[kept], np.ascontiguousarray(vectors[:, kept])

    def _iterate(self, T: np.ndarray, eta: float, rounding: float) -> tuple[np.ndarray, np.ndarray]:
        if self._start is None:
            shape = (self.size, self.n_vectors + _EXTRA_VECTORS)
            self._start = np.random.RandomState(0).standard_normal(shape)
        unbounded = eta > self._eta or not np.isfinite(self._ceiling)
        if unbounded:
            self._ceiling = _largest_eigenvalue(self.operators.negative)
        shift, factor = _factor_above(T, self._ceiling * eta, rounding, tighten=unbounded)
        values, self._start = _shift_invert(shift, factor, self.n_vectors, self._start, self.tol)
        self._eta, self._ceiling = eta, max(values[0], rounding) * (1 + 1e-6) / eta
        return values[: self.n_vectors], self._start[:, : self.n_vectors]


def _largest_eigenvalue(matrix: np.ndarray) -> float:
    """Return an upper bound, close to the largest eigenvalue of a positive semidefinite matrix."""
    v0 = np.random.RandomState(0).standard_normal(len(matrix))
    return float(eigsh(matrix, k=1, which="LA", v0=v0, tol=1e-4, return_eigenvectors=False)[0]) * (1 + 1e-3)


def _cholesky(T: np.ndarray, shift: float) -> np.ndarray | None:
    """Return the factor of shift·I − T in the lower triangle, or None if that is not positive definite."""
    shifted = -T
    shifted.flat[:: len(T) + 1] += shift
    factor, failed = linalg.lapack.dpotrf(shifted.T, lower=True, clean=False, overwrite_a=True)
    return None if failed else factor


def _factor_above(T: np.ndarray, ceiling: float, floor: float, tighten: bool) -> tuple[float, np.ndarray]:
    """Return a shift above the spectrum of T, near ``ceiling``, and the factor of shift·I − T.

    With ``tighten`` the shift is at most four times the largest eigenvalue, or below ``floor``.
    """
    while (factor := _cholesky(T, ceiling)) is None:
        ceiling *= 1.5
    while tighten and ceiling > floor and (tighter := _cholesky(T, ceiling / 4)) is not None:
        ceiling, factor = ceiling / 4, tighter
    return ceiling, factor


def _shift_invert(
    shift: float, factor: np.ndarray, n_vectors: int, start: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return leading eigenpairs of T, a few more than wanted, given the Cholesky factor of σI − T."""
    solve = partial(linalg.cho_solve, (factor, True), check_finite=False)
    objective = 0.0
    for block, pairs in enumerate(islice(krylov_pairs(solve, start, 1e-13), _MAX_BLOCKS)):
        inverse, vectors, _ = pairs
        values = shift - 1 / inverse
        previous, objective = objective, np.maximum(values[:n_vectors], 0).sum()
        if block >= _MIN_BLOCKS and objective - previous <= tol * objective:
            break
    return values, vectors


#: How near two thresholds in turn end the alternation, and how many subspaces it tries at most.
_CLOSE, _MAX_ROUNDS = 1e-3, 20

Solver = Callable[[float], tuple[np.ndarray, np.ndarray]]
Risk = Callable[[np.ndarray], tuple[float, float]]


class Subspace(NamedTuple):
    """Leading eigenvectors of T̂ for one η₋₁, and the best threshold with its margin risk."""

    eta: float
    eigenvalues: np.ndarray
    vectors: np.ndarray
    threshold: float
    risk: float


def scan_etas(solve: Solver, etas: np.ndarray, risk: Risk) -> Iterator[Subspace]:
    """Yield the subspace of every η₋₁ for which T̂ has a positive eigenvalue, largest η₋₁ first."""
    for eta in np.sort(etas)[::-1].tolist():
        eigenvalues, vectors = solve(eta)
        if eigenvalues.size:
            yield _noted(Subspace(eta, eigenvalues, vectors, *risk(vectors)))


def alternate(solve: Solver, threshold: float, risk: Risk, margin: float) -> Iterator[Subspace]:
    """Yield the subspace for a threshold, then that for the best threshold of the last subspace, and so on.

    η₋₁ follows from the threshold (`eta_from_threshold`). This ends when two thresholds in turn are within
    0.001: the last subspace is then the best one for the threshold that is the best one for it. It also ends
    when T̂ has no positive eigenvalue, or after 20 subspaces. Nothing makes the risk fall from one subspace
    to the next.
    """
    for _ in range(_MAX_ROUNDS):
        eta = eta_from_threshold(threshold, margin)
        eigenvalues, vectors = solve(eta)
        if not eigenvalues.size:
            logger.warning("hyperbolic PCA: for threshold %.3g no direction is left", threshold)
            return
        found = _noted(Subspace(eta, eigenvalues, vectors, *risk(vectors)))
        yield found
        previous, threshold = threshold, min(found.threshold, 1.0)
        if abs(threshold - previous) <= _CLOSE:
            return
    logger.warning("hyperbolic PCA: the threshold still moves after %d subspaces", _MAX_ROUNDS)


def _noted(found: Subspace) -> Subspace:
    logger.info(
        "hyperbolic PCA: eta_negative %.4g, risk %.4f, %d directions",
        found.eta,
        found.risk,
        len(found.eigenvalues),
    )
    return found
