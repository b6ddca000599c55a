"""Subspaces of hyperbolic PCA for several weights η₋₁, from a grid or from thresholds that they call for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from eigenbench.methods.embeddings.constraints.margin_risk import eta_from_threshold

logger = logging.getLogger(__name__)

#: How near two thresholds in turn end the alternation, and how many subspaces it tries at most.
_CLOSE, _MAX_ROUNDS = 1e-3, 20

Solver = Callable[[float], tuple[np.ndarray, np.ndarray]]
Risk = Callable[[np.ndarray], tuple[float, float]]


class Subspace(NamedTuple):
    """Leading eigenvectors of T̂ for one η₋₁.

    Attributes
    ----------
    eta : float
        η₋₁, with η₁ = −1.
    eigenvalues : ndarray of shape (d,)
        Positive, descending; d > 0.
    vectors : ndarray of shape (k, d)
        Orthonormal columns.
    threshold, risk : float
        Best threshold for the training pairs, and the margin risk there.
    """

    eta: float
    eigenvalues: np.ndarray
    vectors: np.ndarray
    threshold: float
    risk: float


def scan_etas(solve: Solver, etas: np.ndarray, risk: Risk) -> Iterator[Subspace]:
    """Yield the subspace of every η₋₁ for which T̂ has a positive eigenvalue, largest η₋₁ first.

    Parameters
    ----------
    solve : callable
        Gives the positive eigenvalues of T̂ and their vectors for an η₋₁, as `PositiveEigenspaces`.
    etas : ndarray of shape (n,)
        Values of η₋₁.
    risk : callable
        Gives the best threshold and the margin risk for such vectors.
    """
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

    Parameters
    ----------
    solve : callable
        As for `scan_etas`.
    threshold : float
        The first one, in (0, 1).
    risk : callable
        As for `scan_etas`.
    margin : float
        Margin of the risk.
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
