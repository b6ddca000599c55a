"""Directions and radii of random frequencies, fast Hadamard transforms, and trigonometric features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import hadamard
from sklearn.utils.extmath import row_norms, safe_sparse_dot

#: Largest factor applied as one matrix product; a product of this size runs at the speed of memory.
_RADIX = 64

#: Where fewer dimensions are left, directions are orthogonalised twice: one pass loses digits there.
_FEW_DIMENSIONS = 64


def next_power_of_two(number: int) -> int:
    """Return the smallest power of two that is at least ``number`` ≥ 1."""
    return 1 << (number - 1).bit_length()


def walsh_hadamard(X: np.ndarray) -> np.ndarray:
    """Return X H / √width, with H Sylvester's Hadamard matrix, in the type of X; twice gives X back.

    H is a Kronecker power, so factors of up to 64 columns are applied as matrix products: at most
    128·⌈log_64(width)⌉ flops per entry, and no more than log_64(width) passes over memory. Raises
    `ValueError` if the width is not a power of two.
    """
    n_rows, width = X.shape
    if width & (width - 1) or width == 0:
        raise ValueError(f"the width of a Walsh-Hadamard transform is a power of two, got {width}.")
    result, inner = X, 1
    while inner < width:
        radix = min(_RADIX, width // inner)
        factor = hadamard(radix).astype(X.dtype) / X.dtype.type(np.sqrt(radix))
        if inner == 1:
            result = result.reshape(-1, radix) @ factor
        else:
            result = factor @ result.reshape(-1, radix, inner)
        inner *= radix
    return result.reshape(n_rows, width) if inner > 1 else X.copy()


class SubsampledHadamard:
    r"""Subsampled randomized Hadamard transform (SRHT): a fast projection that keeps inner products.

    A row z of width E, padded with zeros to a power of two E', becomes
    :math:`\sqrt{E'/D}\, S H \Delta z`: random signs Δ, the orthonormal Walsh-Hadamard transform H and D ≤ E'
    coordinates S drawn without replacement (J. A. Tropp, "Improved Analysis of the Subsampled Randomized
    Hadamard Transform", Adv. Adapt. Data Anal. 3, 2011). The expected inner product of two results is the
    inner product of the rows; with D = E' the map is orthogonal.
    """

    def __init__(self, n_inputs: int, n_components: int, rng: np.random.RandomState) -> None:
        self.n_inputs = n_inputs
        width = next_power_of_two(n_inputs)
        self.signs = rng.choice(np.array([-1, 1], dtype=np.int8), size=n_inputs)
        self.chosen = np.sort(rng.permutation(width)[:n_components])
        self.width = width

    def apply(self, Z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Project rows of shape (n_rows, E) to (n_rows, D), in their type."""
        padded = np.zeros((Z.shape[0], self.width), dtype=Z.dtype)
        np.multiply(Z, self.signs, out=padded[:, : self.n_inputs], casting="same_kind")
        out = np.take(walsh_hadamard(padded), self.chosen, axis=1, out=out, mode="clip")
        out *= Z.dtype.type(np.sqrt(self.width / self.chosen.size))
        return out


def hadamard_signs(n_inputs: int, n_directions: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw the signs (n_blocks, 3, width), int8, of blocks for so many :func:`hadamard_projections`."""
    width = next_power_of_two(n_inputs)
    shape = (-(-n_directions // width), 3, width)
    return rng.choice(np.array([-1, 1], dtype=np.int8), size=shape)


def hadamard_projections(X: np.ndarray, signs: np.ndarray, out: np.ndarray) -> None:
    r"""Project rows on structured, nearly uniform unit directions in O(log d) operations per projection.

    Block by block the rows (n_rows, d) are mapped by :math:`H \Delta_3 H \Delta_2 H \Delta_1`, an orthogonal
    matrix whose rows stand for directions drawn from the sphere (Yu et al., "Orthogonal Random Features",
    NIPS 2016, section 4). ``out`` (n_rows, n_directions) receives the projections, scaled by √(width/d): in
    the mean their square is ‖x‖²/d.
    """
    n_blocks, _, width = signs.shape
    inputs = X.shape[1]
    scale = X.dtype.type(np.sqrt(width / inputs))
    padded = np.zeros((X.shape[0], width), dtype=X.dtype)
    for block in range(n_blocks):
        columns = slice(block * width, min((block + 1) * width, out.shape[1]))
        padded[:, :inputs] = X
        padded[:, inputs:] = 0
        rows = padded
        for diagonal in signs[block]:
            rows = walsh_hadamard(np.multiply(rows, diagonal, dtype=X.dtype))
        np.multiply(rows[:, : columns.stop - columns.start], scale, out=out[:, columns])


def independent_directions(n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw n independent directions, uniform on the unit sphere of d dimensions; shape (n, d)."""
    directions = rng.standard_normal((n, d))
    directions /= row_norms(directions)[:, None]
    return directions


def orthogonal_directions(n: int, d: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw n directions (n, d), each uniform on the unit sphere, orthogonal within consecutive blocks of d.

    Each block is the orthonormal factor of a Gaussian matrix whose triangular factor has a positive diagonal,
    which makes it uniform (F. Mezzadri, "How to Generate Random Matrices from the Classical Compact Groups",
    Notices of the AMS 54, 2007): 2d³ flops for a full one.
    """
    directions = np.empty((n, d))
    for start in range(0, n, d):
        block = directions[start : start + d]
        block[:] = rng.standard_normal((d, len(block))).T
        done = 0
        while done < len(block):
            # Half as many Gaussian rows as dimensions are left: so few are well conditioned for Cholesky, but
            # for the last ones.
            before, rows = block[:done], block[done : done + max(1, (d - done) // 2)]
            for _ in range(2 if d - done < _FEW_DIMENSIONS else 1):
                rows -= (rows @ before.T) @ before
                triangle = linalg.cholesky(rows @ rows.T, lower=True, check_finite=False)
                rows[:] = linalg.solve_triangular(triangle, rows, lower=True, check_finite=False)
            done += len(rows)
    return directions


@dataclass(frozen=True)
class Projections:
    """Frequencies as a dense matrix (d, n), or as sign diagonals and radii (n,) of fast Hadamard blocks."""

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
    """Write cosines and sines of the projections of a block (n_rows, d) into ``out`` (n_rows, D).

    These are the n ≥ D/2 cosines, to the last of which ``phases`` are added, and the sines of the first D − n
    projections; ``stored`` is what ``projections.astype`` returned. With n = D − n the product of two feature
    rows is scale² Σ cos(w (x − y)); frequencies without a sine need a phase.
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
