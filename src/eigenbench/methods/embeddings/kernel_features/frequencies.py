"""Directions and radii of random frequency vectors, and the trigonometric features made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.utils.extmath import safe_sparse_dot

from eigenbench.methods.linalg.hadamard import hadamard_projections, hadamard_signs


def independent_directions(n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw n independent directions, uniform on the unit sphere of d dimensions; shape (n, d)."""
    directions = rng.standard_normal((n, d))
    directions /= linalg.norm(directions, axis=1, keepdims=True)
    return directions


def orthogonal_directions(n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw n directions, each uniform on the unit sphere, orthogonal within consecutive blocks of d.

    Returns
    -------
    ndarray of shape (n, d), float64

    Notes
    -----
    Each block is the orthonormal factor of a Gaussian matrix with the signs that make it uniform (Haar).
    A full block costs 8d³/3 flops.

    References
    ----------
    F. Mezzadri, "How to Generate Random Matrices from the Classical Compact Groups", Notices of the AMS 54
    (2007).
    """
    directions = np.empty((n, d))
    for start in range(0, n, d):
        size = min(d, n - start)
        orthonormal, triangle = linalg.qr(
            rng.standard_normal((d, size)), mode="economic", overwrite_a=True, check_finite=False
        )
        directions[start : start + size] = (orthonormal * np.sign(np.diag(triangle))).T
    return directions


@dataclass(frozen=True)
class Projections:
    """Frequencies as a dense matrix, or as sign diagonals and radii of fast Hadamard blocks.

    Attributes
    ----------
    n_frequencies : int
        Number of frequencies n.
    frequencies : ndarray of shape (d, n) or None
        Dense frequencies as columns.
    signs : ndarray of shape (n_blocks, 3, width), int8, or None
        The diagonals of the Hadamard blocks, when there is no dense matrix.
    radii : ndarray of shape (n,), float64, or None
        The lengths of the frequencies of Hadamard blocks.
    """

    n_frequencies: int
    frequencies: np.ndarray | None = None
    signs: np.ndarray | None = None
    radii: np.ndarray | None = None

    @classmethod
    def from_frequencies(cls, frequencies: np.ndarray, dtype: Any) -> Projections:
        """Keep dense frequencies of shape (d, n) in the given type."""
        return cls(frequencies.shape[1], np.ascontiguousarray(frequencies, dtype=dtype))

    @classmethod
    def draw(
        cls, directions: str, radii: np.ndarray, d: int, dtype: Any, rng: np.random.RandomState
    ) -> Projections:
        """Draw "independent", "orthogonal" or "hadamard" directions for frequencies of these radii."""
        if directions == "hadamard":
            return cls(radii.size, signs=hadamard_signs(d, radii.size, rng), radii=radii)
        draw = orthogonal_directions if directions == "orthogonal" else independent_directions
        scaled = draw(radii.size, d, rng)
        scaled *= radii[:, None]
        return cls.from_frequencies(scaled.T, dtype)

    def astype(self, dtype: Any) -> np.ndarray:
        """Return the array that :meth:`project` multiplies with, in the type of the rows."""
        stored = self.radii if self.frequencies is None else self.frequencies
        return np.asarray(stored, dtype=dtype)

    def project(self, block: Any, stored: np.ndarray, out: np.ndarray) -> None:
        """Write ``block @ frequencies`` into ``out`` of shape (n_rows, n), its rows contiguous."""
        if self.signs is not None:
            dense = block.toarray() if hasattr(block, "toarray") else block
            hadamard_projections(dense, self.signs, out)
            out *= stored
        elif hasattr(block, "toarray"):
            out[:] = safe_sparse_dot(block, stored, dense_output=True)
        else:
            np.matmul(block, stored, out=out)


def trigonometric_features(
    projections: Projections,
    stored: np.ndarray,
    phases: np.ndarray,
    scale: float,
    block: Any,
    out: np.ndarray,
) -> None:
    """Write cosines and sines of the projections of a block into ``out`` of shape (n_rows, D).

    Parameters
    ----------
    projections : Projections
        The n frequencies, n ≥ D/2.
    stored : ndarray
        What ``projections.astype`` returned.
    phases : ndarray of shape (n_phases,)
        Angles b that are added to the last projections.
    scale : float
        Factor of every feature.
    block : ndarray or CSR matrix of shape (n_rows, d)
        The rows.
    out : ndarray of shape (n_rows, D)
        Receives the n cosines and then the sines of the first D − n projections. With n = D − n the product
        of two feature rows is scale² Σ cos(w (x − y)); frequencies without a sine need a phase.
    """
    n = projections.n_frequencies
    cosines, sines = out[:, :n], out[:, n:]
    projections.project(block, stored, cosines)
    if phases.size:
        cosines[:, n - phases.size :] += phases.astype(out.dtype)
    np.sin(cosines[:, : sines.shape[1]], out=sines)
    np.cos(cosines, out=cosines)
    out *= out.dtype.type(scale)


def draw_phases(paired: bool, n_components: int, rng: np.random.RandomState) -> tuple[int, np.ndarray]:
    """Return how many frequencies D features need, and their random phases.

    Paired, a frequency gives a cosine and a sine; the last one of an odd D gives one cosine with a random
    phase. Otherwise every frequency gives one cosine with a random phase.
    """
    n = (n_components + 1) // 2 if paired else n_components
    n_phases = n_components % 2 if paired else n_components
    return n, rng.uniform(0, 2 * np.pi, size=n_phases)
