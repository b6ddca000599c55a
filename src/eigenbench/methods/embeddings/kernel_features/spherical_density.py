"""Kernels on the sphere, and densities of frequencies that approximate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import interpolate, optimize, special, stats
from scipy.linalg import eigh_tridiagonal
from sklearn.utils.extmath import safe_sparse_dot


def spherical_polynomial(z: Any, degree: float, a: float) -> np.ndarray:
    """Evaluate :math:`K(z) = (1 - z^2/a^2)^p` at distances z in [0, 2] of unit rows."""
    squared = np.square(np.asarray(z, dtype=np.float64) / a)
    return np.maximum(0.0, 1.0 - squared) ** degree


def spherical_polynomial_kernel(X: Any, Y: Any, degree: float = 7, a: float = 4.0) -> np.ndarray:
    r"""Return the exact kernel matrix :math:`\alpha (q + x^\top y)^p` of unit rows, (n, m), in their type.

    With q = a²/2 − 1 and α = (2/a²)^p this equals :math:`(1 - \|x - y\|^2/a^2)^p`, Equation 1 of J.
    Pennington, F. X. Yu and S. Kumar, "Spherical Random Features for Polynomial Kernels", NIPS 2015.
    """
    kernel = safe_sparse_dot(X, Y.T, dense_output=True)
    q = a**2 / 2 - 1
    kernel += kernel.dtype.type(q)
    kernel /= kernel.dtype.type(q + 1)
    np.maximum(kernel, 0, out=kernel)
    return np.power(kernel, kernel.dtype.type(degree), out=kernel)


def maclaurin_coefficients(degree: int, a: float) -> np.ndarray:
    r"""Return the coefficients of :math:`\alpha (q + t)^p = \sum_n a_n t^n`, float64; they sum to 1.

    They are the probabilities of the binomial distribution with p trials of probability 1/(q + 1) = 2/a²,
    which is how they are computed: nothing over- or underflows.
    """
    return stats.binom.pmf(np.arange(degree + 1), degree, 2 / a**2)


#: Fraction of a Gaussian's mass that may lie outside the grid of radii.
_TAIL = 1e-10
#: Grid points per standard deviation of the narrowest peak: the trapezoidal rule is then exact to rounding
#: without clipping, and clipping moves a zero by less than a step.
_POINTS_PER_DEVIATION = 3.0
_SPLINE_POINTS = 4096
_MAX_ITERATIONS = 400


def sphere_quadrature(d: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the Gauss rule for one coordinate of a uniform point on the unit sphere of d ≥ 2 dimensions.

    The nodes are eigenvalues of the Jacobi matrix of the Gegenbauer polynomials (Golub and Welsch 1969),
    whose entries neither over- nor underflow in any dimension. The weights sum to 1.
    """
    n = np.arange(2.0, n_nodes)
    squares = np.append(1.0 / d, n * (n + d - 3) / ((2 * n + d - 2) * (2 * n + d - 4)))
    nodes, vectors = eigh_tridiagonal(np.zeros(n_nodes), np.sqrt(squares))
    return nodes, vectors[0] ** 2


def spherical_wave(x: np.ndarray, d: int) -> np.ndarray:
    r"""Evaluate :math:`\Omega_d(x) = E[\cos(x s_1)]`, s uniform on the unit sphere of d dimensions, x ≥ 0.

    This is :math:`\Gamma(d/2) (2/x)^{d/2-1} J_{d/2-1}(x) = {}_0F_1(d/2; -x^2/4)`, the kernel of the radial
    Fourier transform, computed by a Gauss rule and so within rounding of [−1, 1] in any dimension, with an
    absolute error below 1e-8.
    """
    if d == 1:
        return np.cos(x)
    largest = float(np.max(x, initial=1e-3))
    # cos(x s) has Chebyshev degree about x, and Hermite degree about x²/d where s is nearly Gaussian.
    half = 32 + int(np.ceil(min(largest, 1.5 * largest**2 / d) / 2))
    nodes, weights = sphere_quadrature(d, 2 * half)
    grid = np.linspace(0, largest, _SPLINE_POINTS)
    values = np.zeros_like(grid)
    for node, weight in zip(nodes[half:], weights[half:], strict=True):
        values += 2 * weight * np.cos(node * grid)
    return interpolate.CubicSpline(grid, values, bc_type=((1, 0.0), "not-a-knot"))(x)


@dataclass(frozen=True)
class RadialDensity:
    """A fitted density of frequency radii.

    ``coefficients``, ``sigmas`` (n_gaussians,) are the mixture Σ c_i exp(−σ_i² z²) before clipping, σ
    ascending; ``radii`` (n_radii,) a grid evenly spaced in log w, and ``masses`` what the clipped density has
    there. Their sum is the fitted kernel at distance 0; ``error`` is the weighted mean squared error of the
    fit.
    """

    coefficients: np.ndarray
    sigmas: np.ndarray
    radii: np.ndarray
    masses: np.ndarray
    fitted_values: np.ndarray
    error: float

    def sample(self, uniforms: np.ndarray) -> np.ndarray:
        """Map uniform numbers to radii by the inverse of the cumulative density."""
        cumulative = np.append(0.0, np.cumsum(self.masses))
        step = np.log(self.radii[1] / self.radii[0])
        edges = np.append(np.log(self.radii) - step / 2, np.log(self.radii[-1]) + step / 2)
        return np.exp(np.interp(uniforms * cumulative[-1], cumulative, edges))


class _Mixture:
    """The clipped mixture on fixed grids: curve, loss and gradient."""

    def __init__(self, z: np.ndarray, target: np.ndarray, weights: np.ndarray, d: int) -> None:
        self.z, self.target, self.weights, self.d = z, target, weights, d
        self.sigma_bounds = _sigma_bounds(z, target)
        chi = stats.chi(d)
        lowest = np.sqrt(2) * self.sigma_bounds[0] * chi.ppf(_TAIL)
        highest = np.sqrt(2) * self.sigma_bounds[1] * chi.isf(_TAIL)
        step = min(0.02, 1 / (_POINTS_PER_DEVIATION * np.sqrt(2 * d)))
        n_radii = int(np.ceil(np.log(highest / lowest) / step)) + 1
        self.radii = np.geomspace(lowest, highest, n_radii)
        self.log_step = np.log(self.radii[1] / self.radii[0])
        self.waves = spherical_wave(np.multiply.outer(z, self.radii), d)

    def gaussians(self, log_sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the masses of unit Gaussians on the grid, and their derivatives by log σ."""
        exponent = (self.radii / (2 * np.exp(log_sigma[:, None]))) ** 2
        constant = np.log(2) - special.gammaln(self.d / 2) + np.log(self.log_step)
        masses = np.exp(self.d / 2 * np.log(exponent) - exponent + constant)
        return masses, masses * (2 * exponent - self.d)

    def masses(self, coefficients: np.ndarray, log_sigma: np.ndarray) -> np.ndarray:
        return np.maximum(0.0, coefficients @ self.gaussians(log_sigma)[0])

    def loss(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients, log_sigma = np.split(parameters, 2)
        gaussians, by_log_sigma = self.gaussians(log_sigma)
        mixture = coefficients @ gaussians
        residual = self.waves @ np.maximum(mixture, 0) - self.target
        weighted = self.weights * residual
        back = np.where(mixture > 0, weighted @ self.waves, 0.0)
        gradient = np.concatenate([gaussians @ back, coefficients * (by_log_sigma @ back)])
        return 0.5 * float(weighted @ residual), gradient


def _sigma_bounds(z: np.ndarray, target: np.ndarray) -> tuple[float, float]:
    """Bound σ from a Gaussian that is nearly constant on the sphere to one narrower than the kernel."""
    below = np.flatnonzero(target <= target[0] * np.exp(-1))
    width = z[below[0]] if below.size and below[0] > 0 else z[-1]
    return 0.05, max(1.5, 2.5 / width)


def _starts(
    mixture: _Mixture, n_gaussians: int, n_starts: int, rng: np.random.RandomState
) -> list[np.ndarray]:
    """Return start parameters: the best non-negative mixture first, then signed ones with random σ."""
    low, high = np.log(mixture.sigma_bounds)
    root = np.sqrt(mixture.weights)
    grid = np.linspace(low, high, 80)

    def curves(log_sigma: np.ndarray) -> np.ndarray:
        return np.exp(-np.multiply.outer(mixture.z**2, np.exp(2 * log_sigma)))

    weights, _ = optimize.nnls(root[:, None] * curves(grid), root * mixture.target, maxiter=10_000)
    order = np.argsort(-weights, kind="stable")[:n_gaussians]
    starts = [np.concatenate([weights[order], grid[order]])]
    for _ in range(n_starts - 1):
        log_sigma = rng.uniform(low + (high - low) / 4, high, size=n_gaussians)
        design = root[:, None] * curves(log_sigma)
        gram = design.T @ design
        gram.flat[:: n_gaussians + 1] += 1e-6 * np.trace(gram) / n_gaussians
        coefficients = np.linalg.solve(gram, design.T @ (root * mixture.target))
        starts.append(np.concatenate([coefficients, log_sigma]))
    return starts


def fit_radial_density(
    z: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    d: int,
    *,
    n_gaussians: int,
    n_starts: int,
    rng: np.random.RandomState,
) -> RadialDensity:
    r"""Fit a non-negative radial density whose Fourier transform is close to a kernel.

    The density is :math:`\max(0, \sum_i c_i (\sqrt{2} \sigma_i)^{-d} e^{-w^2 / 4 \sigma_i^2})` with
    coefficients of either sign (Pennington, Yu and Kumar, "Spherical Random Features for Polynomial Kernels",
    NIPS 2015, Equations 10-12); without clipping its transform is :math:`\sum_i c_i e^{-\sigma_i^2 z^2}`.
    Each Gaussian is kept as the probability of its radius (√2 σ times a χ_d variable) on a grid, so the
    dimension enters through logarithms only.

    ``target`` is the kernel on the ascending grid ``z`` of distances from 0; ``weights`` of squared errors
    sum to 1. The best of ``n_starts`` L-BFGS searches is kept. Raises `ValueError` if no non-negative density
    comes closer to the kernel than zero does.
    """
    scale = float(np.max(np.abs(target)))
    mixture = _Mixture(z, target / scale, weights, d)
    bounds = [(None, None)] * n_gaussians + [tuple(np.log(mixture.sigma_bounds))] * n_gaussians
    ends = [
        optimize.minimize(
            mixture.loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": _MAX_ITERATIONS, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-10},
        )
        for start in _starts(mixture, n_gaussians, n_starts, rng)
    ]
    best = min(ends, key=lambda end: end.fun)
    coefficients, log_sigma = np.split(best.x, 2)
    masses = mixture.masses(coefficients, log_sigma)
    if not masses.sum() > 0:
        raise ValueError(
            "no non-negative density approximates the kernel: it is negative on [0, 2] in the mean."
        )
    order = np.argsort(log_sigma, kind="stable")
    fitted = scale * (mixture.waves @ masses)
    return RadialDensity(
        coefficients=scale * coefficients[order],
        sigmas=np.exp(log_sigma[order]),
        radii=mixture.radii,
        masses=scale * masses,
        fitted_values=fitted,
        error=float(weights @ (fitted - target) ** 2),
    )
