"""The polynomial kernel, and the density of frequency radii: Fourier transform, fit and sampling."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, sparse, special, stats

from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    _Mixture,
    fit_radial_density,
    maclaurin_coefficients,
    sphere_quadrature,
    spherical_polynomial,
    spherical_polynomial_kernel,
    spherical_wave,
)

Z = np.linspace(0, 2, 201)
UNIFORM = np.full(201, 1 / 201)


def fit(target, d, n_gaussians=10, n_starts=4, seed=0):
    rng = np.random.RandomState(seed)
    return fit_radial_density(Z, target, UNIFORM, d, n_gaussians=n_gaussians, n_starts=n_starts, rng=rng)


@pytest.mark.parametrize("d", [2, 3, 10, 100])
def test_the_wave_is_the_bessel_function(d):
    x = np.linspace(0.01, 12 * np.sqrt(d), 500)
    bessel = special.gamma(d / 2) * (2 / x) ** (d / 2 - 1) * special.jv(d / 2 - 1, x)
    assert_allclose(spherical_wave(x, d), bessel, atol=1e-8)


def test_the_wave_in_one_and_in_many_dimensions():
    assert_allclose(spherical_wave(Z, 1), np.cos(Z))
    # For d → ∞ a coordinate of the sphere is normal with variance 1/d, up to relative order 1/d.
    d = 1_000_000
    assert_allclose(spherical_wave(1000 * Z, d), np.exp(-(Z**2) / 2), atol=1e-5)


@pytest.mark.parametrize("d", [2, 3, 50, 10_000])
def test_quadrature_has_the_moments_of_the_sphere(d):
    nodes, weights = sphere_quadrature(d, 40)
    assert_allclose(weights.sum(), 1)
    assert_allclose(weights @ nodes**2 * d, 1)
    assert_allclose(weights @ nodes**4 * d * (d + 2), 3)


@pytest.mark.parametrize(("d", "degree"), [(123, 3), (256, 7), (256, 20), (5000, 7)])
def test_the_fit_is_close_to_the_best_of_all_densities(d, degree):
    """Non-negative least squares over point masses bounds the error of every non-negative density."""
    target = spherical_polynomial(Z, degree, 4.0)
    density = fit(target, d)
    waves = _Mixture(Z, target, UNIFORM, d).waves
    _, residual = optimize.nnls(waves[:, :: max(1, waves.shape[1] // 300)], target, maxiter=20_000)
    assert density.error < 1.35 * residual**2 / len(Z)
    assert_allclose(density.error, np.mean((density.fitted_values - target) ** 2))
    assert_allclose(density.fitted_values[0], density.masses.sum())


def test_a_gaussian_is_found_and_its_radii_are_nearly_chi():
    d = 20
    density = fit(np.exp(-0.49 * Z**2), d, n_gaussians=3)
    assert density.error < 1e-7, "the curve alone hardly distinguishes neighbouring widths"
    radii = density.sample((np.arange(20_000) + 0.5) / 20_000)
    assert_allclose(np.mean(radii**2) / (2 * 0.49), d, rtol=0.02)


def test_radii_are_drawn_from_the_density_of_the_grid():
    d, sigma = 20, 0.7
    found = fit(np.exp(-0.49 * Z**2), d, n_gaussians=1, n_starts=1)
    step = np.log(found.radii[1] / found.radii[0])
    chi = stats.chi(d, scale=np.sqrt(2) * sigma)
    exact = replace(found, masses=chi.pdf(found.radii) * found.radii * step)
    radii = exact.sample((np.arange(20_000) + 0.5) / 20_000)
    assert stats.kstest(radii, chi.cdf).statistic < 1e-3


def test_an_indefinite_kernel_is_approximated_from_the_nonnegative_side():
    density = fit(np.cos(4 * Z), 30)
    assert (density.masses >= 0).all()
    assert 1e-4 < density.error < 0.5


def test_a_kernel_that_no_density_comes_near_is_refused():
    with pytest.raises(ValueError, match="no non-negative density"):
        fit(-np.ones_like(Z), 10)


@pytest.mark.parametrize(("degree", "a"), [(1, 2.0), (7, 4.0), (20, 2.5), (3.5, 3.0)])
def test_both_forms_agree(degree, a):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = -X[:7]
    z = np.linalg.norm(X[:, None] - Y, axis=-1)
    expected = spherical_polynomial(z, degree, a)
    assert_allclose(spherical_polynomial_kernel(X, Y, degree, a), expected, atol=1e-14)
    assert_allclose(
        spherical_polynomial_kernel(sparse.csr_matrix(X), sparse.csr_matrix(Y), degree, a),
        expected,
        atol=1e-14,
    )


@pytest.mark.parametrize(("degree", "a"), [(1, 2.0), (7, 4.0), (20, 2.0), (500, 10.0)])
def test_the_coefficients_sum_to_the_kernel(degree, a):
    t = np.linspace(-1, 1, 9)
    series = np.polynomial.polynomial.polyval(t, maclaurin_coefficients(degree, a))
    assert_allclose(series, spherical_polynomial(np.sqrt(2 - 2 * t), degree, a), atol=1e-10)
