"""SphericalRandomFeatures: what it estimates, its floor, its options and its faults."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenbench.methods.embeddings.kernel_features.frequencies import orthogonal_directions
from eigenbench.methods.embeddings.kernel_features.spherical import SphericalRandomFeatures
from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    fit_radial_density,
    spherical_polynomial,
)

ORIGINAL = {"directions": "independent", "phases": "random"}
FAST = {"n_gaussians": 4, "n_starts": 1}


@pytest.fixture
def one_fit(monkeypatch):
    """Fit a density once for all seeds: what is averaged over seeds is the sampling."""
    known = {}

    def fit(z, target, weights, d, **settings):
        key = (target.tobytes(), weights.tobytes(), d, settings["n_gaussians"], settings["n_starts"])
        if key not in known:
            known[key] = fit_radial_density(z, target, weights, d, **settings)
        return known[key]

    monkeypatch.setattr("eigenbench.methods.embeddings.kernel_features.spherical.fit_radial_density", fit)


def rows_at_distances(z, d):
    """Return a row and, for every distance, a row that far from it."""
    half = np.arccos(1 - np.asarray(z) ** 2 / 2)
    Y = np.zeros((len(half), d))
    Y[:, 0], Y[:, 1] = np.cos(half), np.sin(half)
    return np.eye(d)[:1], Y


def estimates(model, z, d, n_seeds):
    Q = orthogonal_directions(d, d, np.random.RandomState(0))
    x, Y = (rows @ Q for rows in rows_at_distances(z, d))
    result = []
    for seed in range(n_seeds):
        fitted = SphericalRandomFeatures(**{**model, "random_state": seed}).fit(Y)
        result.append((fitted.transform(Y) @ fitted.transform(x).T).ravel())
    return np.array(result), fitted


@pytest.mark.parametrize(("n", "d"), [(3, 1), (7, 2), (100, 40), (30, 200), (300, 300)])
def test_orthogonal_directions_are_the_factors_of_gaussian_blocks(n, d):
    found, rng = orthogonal_directions(n, d, np.random.RandomState(0)), np.random.RandomState(0)
    for start in range(0, n, d):
        q, triangle = np.linalg.qr(rng.standard_normal((d, min(d, n - start))))
        block = found[start : start + d]
        assert_allclose(block, (q * np.sign(np.diag(triangle))).T, atol=1e-9)
        assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-13)


@pytest.mark.parametrize("n_components", [30, 31])
@pytest.mark.parametrize(
    "options",
    [
        {},
        ORIGINAL,
        {**ORIGINAL, "directions": "hadamard"},
        {**ORIGINAL, "phases": "paired"},
        {"kernel": lambda z: np.maximum(0, 1 - z)},
    ],
    ids=["default", "original", "hadamard", "paired", "other kernel"],
)
@pytest.mark.usefixtures("one_fit")
def test_the_mean_over_seeds_is_the_fitted_kernel(options, n_components):
    z = np.array([0.0, 0.3, 0.8, 1.2, 1.6, 2.0])
    model = {"degree": 7, "n_components": n_components, **FAST, **options}
    values, fitted = estimates(model, z, 16, 120)
    expected = np.interp(z, fitted.kernel_grid_, fitted.fitted_values_)
    error = values.std(axis=0) / np.sqrt(len(values))
    # The structured directions are only nearly uniform.
    slack = 0.02 if options.get("directions") == "hadamard" else 1e-3
    assert (np.abs(values.mean(axis=0) - expected) < 4 * error + slack).all()


@pytest.mark.usefixtures("one_fit")
def test_the_error_falls_as_one_over_n_components_to_the_floor():
    z = np.linspace(0, 2, 201)[1:]

    def error(n_components, options, n_seeds):
        values, fitted = estimates(
            {"degree": 7, "n_components": n_components, "n_starts": 1, **options}, z, 64, n_seeds
        )
        return np.mean((values - spherical_polynomial(z, 7, 4.0)) ** 2), fitted.fit_error_

    coarse, floor = error(32, ORIGINAL, 20)
    fine, _ = error(512, ORIGINAL, 20)
    assert 10 < (coarse - floor) / (fine - floor) < 25
    limit, floor = error(2**14, {}, 1)
    assert 1e-5 < floor < 1e-4
    assert_allclose(limit, floor, rtol=0.25)


@pytest.mark.usefixtures("one_fit")
def test_each_improvement_lowers_the_error():
    z = np.linspace(0.2, 1.6, 30)
    exact = spherical_polynomial(z, 7, 4.0)
    errors = []
    for options in (ORIGINAL, {**ORIGINAL, "phases": "paired"}, {}):
        values, _ = estimates({"n_components": 64, **FAST, **options}, z, 32, 40)
        errors.append(np.mean((values - exact) ** 2))
    original, paired, default = errors
    assert paired < 0.8 * original
    assert default < 0.6 * paired


def test_a_sample_of_distances_improves_the_fit_where_the_rows_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 100)) + 1.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    uniform = SphericalRandomFeatures(n_starts=1, random_state=0).fit(X)
    sample = SphericalRandomFeatures(distances="sample", n_starts=1, random_state=0).fit(X)
    z = np.sqrt(2 - 2 * (X @ X.T)[np.triu_indices(300, 1)])

    def error(model):
        difference = np.interp(z, model.kernel_grid_, model.fitted_values_ - model.kernel_values_)
        return np.mean(difference**2)

    assert error(sample) < 0.3 * error(uniform)
    with pytest.raises(ValueError, match="at least two rows"):
        SphericalRandomFeatures(distances="sample").fit(X[:1])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda z: z[:-1], r"its shape \(201,\); got shape \(200,\)"),
        (lambda z: 1 / z, "with NaN or infinity"),
        (lambda z: z - 1, "positive at distance 0, got -1"),
    ],
)
def test_bad_kernels(kernel, message):
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=message):
        SphericalRandomFeatures(kernel=kernel).fit(np.eye(3))


def test_the_patents_are_named():
    assert all(number in SphericalRandomFeatures.__doc__ for number in ("US10438131B1", "US11636384B1"))


@pytest.mark.parametrize("phases", ["random", "paired"])
def test_product_moments_are_those_of_the_features(phases):
    X, n = np.random.default_rng(0).standard_normal((3, 5)), 100_000
    settings = {"directions": "independent", "phases": phases, "n_components": n, "random_state": 0}
    features = SphericalRandomFeatures(3, **settings, **FAST).fit(X)
    mean, variance = features.product_moments(X, X)
    F = features.transform(X).reshape(3, -1, n if phases == "random" else n // 2)
    products = (F[:, None] * F[None, :]).sum(axis=2)
    assert_allclose(products.sum(axis=2), mean, atol=5 * np.sqrt(variance.max()))
    assert_allclose(products.var(axis=2) * products.shape[2], variance, rtol=0.03, atol=1e-9)


def test_an_odd_number_of_features_has_one_random_phase():
    X = np.random.default_rng(0).standard_normal((3, 5))
    maps = (
        SphericalRandomFeatures(3, phases=phases, n_components=1, directions="independent", **FAST).fit(X)
        for phases in ("paired", "random")
    )
    paired, random = (features.product_moments(X, X)[1] for features in maps)
    assert_allclose(paired, random, rtol=0.05)


def test_product_moments_need_independent_directions():
    assert not hasattr(SphericalRandomFeatures(directions="orthogonal"), "product_moments")
    assert hasattr(SphericalRandomFeatures(directions="independent"), "product_moments")
