"""Unbiased features of the polynomial kernel on the sphere: exact low orders, Hermite polynomials above."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from eigenbench.methods.embeddings.kernel_features.frequencies import orthogonal_directions
from eigenbench.methods.embeddings.kernel_features.random_map import (
    BLOCK_BYTES,
    PolynomialKernelMap,
    unit_rows,
)
from eigenbench.methods.linalg.row_blocks import row_slices

_SAMPLE_ROWS = 256
_SAMPLE_DIRECTIONS = 512

#: Bytes of projections whose polynomials are evaluated at a time: what that takes stays in an L2 cache.
_TILE_BYTES = 2**18


class SphericalHermiteFeatures(PolynomialKernelMap):
    r"""Approximate the polynomial kernel on the sphere without bias, with one projection for two features.

    A unit row x is extended to :math:`X = (x, \sqrt q) / \sqrt{q + 1}`, q = a²/2 − 1, so that the kernel
    :math:`(1 - \|x - y\|^2/a^2)^p` is :math:`(X^\top Y)^p`. With ξ = mᵀX for a fixed unit vector m,
    the direction of the mean of the extended training rows, and the rest X⊥,

    .. math:: K = \sum_{n=0}^p \binom{p}{n} (\xi_x \xi_y)^{p-n} (X_\perp^\top Y_\perp)^n .

    The orders n = 0 and 1 are features as they stand. For n ≥ 2, a Gaussian w and homogeneous Hermite
    polynomials :math:`H_n(u, s) = s^{n/2} He_n(u / \sqrt s)`,
    :math:`E[H_n(w^\top X_\perp, |X_\perp|^2) H_k(w^\top Y_\perp, |Y_\perp|^2)] = \delta_{nk} n! (X_\perp^\top
    Y_\perp)^n`, so a single direction serves all even orders, and all odd orders, whatever their signs:

    .. math:: g(x) = \sum_n (-1)^{\lfloor n/2 \rfloor} \sqrt{\tbinom{p}{n} / n!}\; \xi_x^{p-n}
              H_n(w^\top X_\perp, |X_\perp|^2), \quad n \text{ even, or } n \text{ odd}.

    With the alternating signs the two sums resemble a cosine and a sine, whose variance is small; with equal
    signs they would grow like an exponential. Every feature count gives an unbiased estimate of the kernel,
    so the error has no floor.

    The features are shared out among the linear, even and odd parts so that the variance, estimated on
    sampled training rows, is smallest. Directions are orthogonal in blocks of d. The nearest relatives are
    Random Maclaurin with its two lowest orders exact [1]_ and zonal (Gegenbauer) features [2]_.

    Parameters
    ----------
    degree, a, rows
        As for :class:`~eigenbench.RandomMaclaurin`.
    n_components : int, default=512
        Number of features D. With fewer than min(p, 3) + 1 of them the last of the parts (constant, linear,
        even, odd) are left out, and only then is the estimate biased.
    random_state : int, RandomState instance or None, default=None
        Seed of the directions and of the sampled rows.

    Attributes
    ----------
    axis_ : ndarray of shape (d + 1,)
        The unit vector m; the constant coordinate is the last.
    n_linear_, n_even_, n_odd_ : int
        Features of each part. The linear part is exact when it has d features.
    directions_ : ndarray of shape (d, max(n_even, n_odd))
        The Gaussian directions w of the even and odd parts, as columns.
    linear_directions_ : ndarray of shape (d, n_linear) or None
        Scaled orthonormal directions of a linear part of fewer than d features.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` reads X once for the mean and samples up to 256 rows; it costs 2d³ flops for each d directions.
    A transform costs about n·d·D flops, half of those of D projections, and 2p additions and multiplications
    per feature. If p = 1 or 2, features beyond those that make the kernel exact are zero.

    References
    ----------
    .. [1] P. Kar and H. Karnick, "Random Feature Maps for Dot Product Kernels", AISTATS 2012.
    .. [2] I. Han, A. Zandieh and H. Avron, "Random Gegenbauer Features for Scalable Kernel Methods",
       ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.kernel_features.spherical_hermite import SphericalHermiteFeatures
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> F = SphericalHermiteFeatures(3, n_components=2000, random_state=0).fit_transform(X)
    >>> exact = ((7 + X @ X.T) / 8) ** 3
    >>> bool(np.abs(F @ F.T - exact).max() < 0.01)
    True
    """

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        width = X.shape[1]
        self.axis_ = self._axis(X)
        rotation = self._rotation()
        sample, zero = unit_rows(X[np.sort(rng.permutation(X.shape[0])[:_SAMPLE_ROWS])])
        sample = sample[np.setdiff1d(np.arange(sample.shape[0]), zero)]
        trial = rng.standard_normal((width, _SAMPLE_DIRECTIONS))
        variances = self._variances(sample, rotation, trial)
        self.n_linear_, self.n_even_, self.n_odd_ = _shares(
            self.n_components - 1, width, variances, self.degree
        )
        n = max(self.n_even_, self.n_odd_)
        lengths = np.sqrt(rng.chisquare(width, size=n))
        directions = orthogonal_directions(n, width, rng)
        directions *= lengths[:, None]
        self.directions_ = np.ascontiguousarray(directions.T, dtype=X.dtype)
        self.linear_directions_ = None
        if self.n_linear_ < width:
            linear = orthogonal_directions(self.n_linear_, width, rng)
            linear *= np.sqrt(width / max(1, self.n_linear_))
            self.linear_directions_ = np.ascontiguousarray(linear.T, dtype=X.dtype)

    def _axis(self, X: Any) -> np.ndarray:
        axis = np.zeros(X.shape[1] + 1)
        axis[-1] = np.sqrt(self.a**2 / 2 - 1)
        n_zero = 0
        for rows in row_slices(X.shape[0], X.shape[1] * X.dtype.itemsize, BLOCK_BYTES):
            scaled, zero = unit_rows(X[rows])
            axis[:-1] += np.ravel(scaled.sum(axis=0))
            n_zero += zero.size
        axis[:-1] /= max(1, X.shape[0] - n_zero)
        return axis / np.linalg.norm(axis)

    def _rotation(self) -> _Rotation:
        return _Rotation.from_axis(self.axis_, self.a**2 / 2 - 1)

    def _variances(self, sample: Any, rotation: _Rotation, trial: np.ndarray) -> np.ndarray:
        """Estimate the variance of one linear, even and odd feature, averaged over pairs of rows."""
        if sample.shape[0] == 0:
            raise ValueError("all rows that were sampled from X are zero: the features have nothing to fit.")
        along, rest = rotation.split(sample)
        linear = np.sqrt(self.degree) * along[:, None] ** (self.degree - 1) * rest
        pairs = np.triu_indices(len(linear), 1 if len(linear) > 1 else 0)
        lengths = row_norms(linear, squared=True)
        variances = [(np.outer(lengths, lengths) + (linear @ linear.T) ** 2)[pairs].mean()]
        projections = rest @ trial
        coefficients = _coefficients(self.degree, along).astype(projections.dtype)
        even, odd = _polynomials(coefficients, projections, trial.shape[1], trial.shape[1])
        for part in (even, odd):
            mean = part @ part.T / trial.shape[1]
            second = np.square(part) @ np.square(part).T / trial.shape[1]
            variances.append(np.maximum(0.0, second - mean**2)[pairs].mean())
        return np.array(variances)

    def _bytes_per_row(self, itemsize: int) -> int:
        # The product with the directions needs many rows; the polynomials are evaluated in tiles.
        return min(2 * self.n_components * itemsize, BLOCK_BYTES // 256)

    def _arrays(self, dtype: np.dtype) -> Any:
        rotation = self._rotation()
        linear = None if self.linear_directions_ is None else rotation.fold(self.linear_directions_, dtype)
        return rotation, rotation.fold(self.directions_, dtype), linear

    def _map_block(self, block: Any, arrays: Any, out: np.ndarray) -> None:
        rotation, directions, linear = arrays
        along = rotation.along(block)
        out[:, 0] = along**self.degree
        parts = out[:, 1 : 1 + self.n_linear_]
        parts[:] = rotation.split(block)[1] if linear is None else _project(block, *linear)
        parts *= (np.sqrt(self.degree) * along ** (self.degree - 1)).astype(out.dtype)[:, None]
        first = 1 + self.n_linear_
        if self.n_even_:
            matrix, offsets = directions
            projections = safe_sparse_dot(block, matrix, dense_output=True)
            coefficients = _coefficients(self.degree, along).astype(out.dtype)
            for rows in row_slices(len(out), projections[:1].nbytes, _TILE_BYTES):
                tile = projections[rows] + offsets
                sums = _polynomials(coefficients[:, rows], tile, self.n_even_, self.n_odd_)
                self._write(sums, out[rows, first:])
        else:
            out[:, first:] = 0

    def _write(self, sums: tuple[np.ndarray, np.ndarray], out: np.ndarray) -> None:
        first = 0
        for total in sums:
            last = first + total.shape[1]
            np.multiply(total, total.dtype.type(max(1, total.shape[1]) ** -0.5), out=out[:, first:last])
            first = last
        out[:, first:] = 0


@dataclass(frozen=True)
class _Rotation:
    """A Householder reflection of the extended rows that maps the axis m to the last coordinate."""

    axis: np.ndarray
    mirror: np.ndarray
    q: float

    @classmethod
    def from_axis(cls, axis: np.ndarray, q: float) -> _Rotation:
        mirror = axis.copy()
        mirror[-1] -= 1
        length = np.linalg.norm(mirror)
        return cls(axis, mirror / length if length > 0 else mirror, q)

    def _extended_product(self, block: Any, vector: np.ndarray) -> np.ndarray:
        product = safe_sparse_dot(block, vector[:-1].astype(block.dtype)).astype(np.float64)
        return (product + np.sqrt(self.q) * vector[-1]) / np.sqrt(self.q + 1)

    def along(self, block: Any) -> np.ndarray:
        """Return ξ of every row, in float64."""
        return self._extended_product(block, self.axis)

    def split(self, block: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return ξ of every row and the d coordinates of the rest, dense."""
        dense = block.toarray() if hasattr(block, "toarray") else block
        rest = dense * dense.dtype.type(1 / np.sqrt(self.q + 1))
        reflected = 2 * self._extended_product(block, self.mirror)
        rest -= np.outer(reflected, self.mirror[:-1]).astype(dense.dtype)
        return self.along(block), rest

    def fold(self, directions: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return a matrix and offsets that give ``rest @ directions`` from the rows themselves."""
        directions, mirror = directions.astype(dtype, copy=False), self.mirror.astype(dtype)
        scale = mirror.dtype.type(1 / np.sqrt(self.q + 1))
        overlap = scale * (mirror[:-1] @ directions)
        matrix = scale * directions - np.outer(2 * mirror[:-1], overlap)
        return matrix, overlap * mirror.dtype.type(-2 * self.mirror[-1] * np.sqrt(self.q))


def _project(block: Any, matrix: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    projections = safe_sparse_dot(block, matrix, dense_output=True)
    projections += offsets
    return projections


def _polynomials(
    coefficients: np.ndarray, projections: np.ndarray, n_even: int, n_odd: int
) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate the even and odd sums of Hermite polynomials of orders 2 … p, by Horner's rule in u²."""
    squares = np.square(projections)
    even = _horner(coefficients[0::2], squares[:, :n_even])
    odd = _horner(coefficients[1::2], squares[:, :n_odd])
    odd *= projections[:, :n_odd]
    return even, odd


def _horner(coefficients: np.ndarray, squares: np.ndarray) -> np.ndarray:
    total = np.zeros_like(squares)
    for number, coefficient in enumerate(coefficients[::-1]):
        if number:
            total *= squares
        total += coefficient[:, None]
    return total


def _coefficients(degree: int, along: np.ndarray) -> np.ndarray:
    """Return the coefficient of every power of u in the sums over n ≥ 2; shape (p + 1, n_rows).

    H_n(u, s) = Σ_m (−1)^m n! / (m! (n − 2m)! 2^m) s^m u^{n−2m}; with the alternating signs of the orders, all
    contributions to one power have one sign, so nothing cancels.
    """
    radius = np.sqrt(np.maximum(0.0, 1 - along**2))
    rest_powers = radius ** np.arange(degree + 1)[:, None]
    along_powers = along ** np.arange(degree + 1)[:, None]
    log_factorial = special.gammaln(np.arange(degree + 1) + 1.0)
    result = np.zeros((degree + 1, along.size))
    for n in range(2, degree + 1):
        choose = log_factorial[degree] - log_factorial[n] - log_factorial[degree - n]
        for m in range(n // 2 + 1):
            power = n - 2 * m
            size = 0.5 * (choose + log_factorial[n]) - log_factorial[m] - log_factorial[power] - m * np.log(2)
            sign = (-1) ** (n // 2 + m)
            result[power] += sign * np.exp(size) * along_powers[degree - n] * rest_powers[2 * m]
    return result


def _shares(n: int, width: int, variances: np.ndarray, degree: int) -> tuple[int, int, int]:
    """Divide n features among the linear, even and odd part so that the total variance is smallest.

    A linear part of m orthonormal directions has variance v₁ (1/m − 1/d); the even and odd parts have v/m.
    """
    n_random = min(degree - 1, 2, max(0, n - 1))
    if n_random == 0:
        return min(width, n), 0, 0
    linear = np.arange(1, min(width, n - n_random) + 1)
    deviations = np.sqrt(variances[1:])
    total = variances[0] * (1 / linear - 1 / width) + deviations.sum() ** 2 / (n - linear)
    n_linear = int(linear[np.argmin(total)])
    rest = n - n_linear
    if n_random == 1:
        return n_linear, rest, 0
    share = deviations[0] / deviations.sum() if deviations.sum() > 0 else 0.5
    n_even = int(np.clip(round(rest * share), 1, rest - 1))
    return n_linear, n_even, rest - n_even
