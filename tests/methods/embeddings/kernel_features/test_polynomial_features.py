"""Sketches and Maclaurin features of the polynomial kernel: definitions, moments of products, and limits."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from eigenbench import CRAFT, OptimizedMaclaurin, RandomMaclaurin, TensorSketch
from eigenbench.methods.embeddings.kernel_features.optimized_maclaurin import allocation
from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    maclaurin_coefficients,
    spherical_polynomial_kernel,
)


def unit(n, d):
    X = np.random.default_rng(0).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_maclaurin_features_are_weighted_products_of_projections():
    X = unit(5, 8)
    model = RandomMaclaurin(4, 3.0, 60, random_state=0).fit(X)
    F = model.transform(X)
    a_n = np.append(maclaurin_coefficients(4, 3.0), np.zeros(40))
    for feature, order in enumerate(model.orders_):
        product = np.ones(5)
        for signs in model.signs_[: min(order, 4)]:
            product *= X @ signs[:, feature - 60]
        assert_allclose(F[:, feature], np.sqrt(a_n[order] * 2.0 ** (order + 1) / 60) * product, atol=1e-12)


def test_h01_is_exact_for_degree_one():
    X = unit(30, 8)
    F = RandomMaclaurin(1, 4.0, 20, h01=True, random_state=0).fit_transform(X)
    assert_allclose(F @ F.T, spherical_polynomial_kernel(X, X, 1, 4.0), atol=1e-12)


def test_h01_needs_room_for_the_exact_terms():
    with pytest.raises(ValueError, match="n_components ≥ 9 for the constant and 8 linear terms, got 8"):
        RandomMaclaurin(3, n_components=8, h01=True).fit(unit(3, 8))
    X = unit(3, 8)
    only_exact = RandomMaclaurin(3, n_components=9, h01=True).fit(X)
    mean, variance = only_exact.product_moments(X, X)
    F = only_exact.transform(X)
    assert F.shape == (3, 9)
    assert_allclose(F @ F.T, mean, atol=1e-12)
    assert_array_equal(variance, 0)


@pytest.mark.parametrize("h01", [False, True])
def test_product_moments_of_random_orders_are_those_of_the_features(h01):
    X, n = unit(3, 4), 200_000
    features = RandomMaclaurin(4, 2.5, n, h01=h01, random_state=0).fit(X)
    mean, variance = features.product_moments(X, X)
    F = features.transform(X)
    assert_allclose(F @ F.T, mean, atol=5 * np.sqrt(variance.max()))
    sampled = F[:, n - features.orders_.size :]
    products = sampled[:, None, :] * sampled[None, :, :]
    assert_allclose(products.var(axis=2) * features.orders_.size, variance, rtol=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_numbers_of_features_have_a_smaller_variance(seed):
    variances = np.append(0.0, np.random.default_rng(seed).gamma(0.3, size=3))
    every = [counts for counts in itertools.product(range(1, 11), repeat=4) if sum(counts) == 13]
    best = min(np.sum(variances / counts) for counts in every)
    found = allocation(variances, 13)
    assert found.sum() == 13
    assert np.sum(variances / found) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(("d", "exact"), [(2100, False), (4, True)])
def test_product_moments_of_optimal_numbers_are_those_of_the_features(d, exact):
    X = unit(4, d)
    sums, variances = [], []
    for seed in range(10):
        model = OptimizedMaclaurin(4, 2.5, 2000, random_state=seed).fit(X)
        F = model.transform(X)
        sums.append(F @ F.T)
        products = F[:, None, -model.orders_.size :] * F[None, :, -model.orders_.size :]
        parts = [products[:, :, model.orders_ == n] for n in np.unique(model.orders_)]
        variances.append(sum(part.shape[2] * part.var(axis=2, ddof=1) for part in parts if part.shape[2] > 1))
    mean, variance = model.product_moments(X, X)
    assert (model.n_features_of_power_[1] == d) == exact
    assert model.n_features_of_power_.sum() == F.shape[1] == 2000
    assert_allclose(mean, spherical_polynomial_kernel(X, X, 4, 2.5), atol=1e-12)
    assert_allclose(np.mean(sums, axis=0), mean, atol=5 * np.sqrt(variance.max() / len(sums)))
    pairs = ~np.eye(4, dtype=bool)
    assert np.mean(variances, axis=0)[pairs].mean() == pytest.approx(variance[pairs].mean(), rel=0.15)
    assert model.variance_ == pytest.approx(variance[pairs].mean(), rel=1e-9)


@pytest.mark.parametrize(("degree", "d"), [(1, 8), (7, 1), (1, 1), (2, 3)])
def test_what_does_not_vary_is_exact_with_any_number_of_features(degree, d):
    X = unit(5, d)
    model = OptimizedMaclaurin(degree, 4.0, 32, random_state=0).fit(X)
    F = model.transform(X)
    assert F.shape == (5, 32)
    mean, variance = model.product_moments(X, X)
    assert_allclose(mean, spherical_polynomial_kernel(X, X, degree, 4.0), atol=1e-12)
    assert_allclose(F @ F.T, mean, atol=1e-12 + 5 * np.sqrt(max(variance.max(), 0)))


def test_every_power_has_a_feature_or_the_largest_have():
    X = unit(3, 5)
    assert_array_equal(OptimizedMaclaurin(6, n_components=7).fit(X).n_features_of_power_, 1)
    few = OptimizedMaclaurin(6, 2.0, 3, random_state=0).fit(X)
    assert_array_equal(few.n_features_of_power_, [0, 0, 1, 1, 1, 0, 0])
    cosines = X @ X.T
    expected = (15 * cosines**2 + 20 * cosines**3 + 15 * cosines**4) / 64
    assert_allclose(few.product_moments(X, X)[0], expected)
    assert few.transform(X).shape == (3, 3)


def test_tensor_sketch_is_the_count_sketch_of_the_tensor_power():
    X = unit(3, 4)
    degree, n_components = 3, 11
    model = TensorSketch(degree, 3.0, n_components, random_state=0).fit(X)
    q = 3.0**2 / 2 - 1
    extended = np.hstack([X, np.full((3, 1), np.sqrt(q))]) / np.sqrt(q + 1)
    expected = np.zeros((3, n_components))
    for index in np.ndindex(*[5] * degree):
        bucket = sum(model.buckets_[i, j] for i, j in enumerate(index)) % n_components
        sign = np.prod([model.signs_[i, j] for i, j in enumerate(index)])
        expected[:, bucket] += sign * np.prod([extended[:, j] for j in index], axis=0)
    assert_allclose(model.transform(X), expected, atol=1e-12)


@pytest.mark.parametrize("n_components", [2, 3])
def test_product_moments_of_sketches_are_those_over_all_hash_functions(n_components):
    X = np.array([[1.0], [-1.0]])
    sketch = TensorSketch(2, 2.5, n_components, random_state=0).fit(X)
    buckets = [*itertools.product(range(n_components), repeat=2)]
    signs = [*itertools.product((-1, 1), repeat=2)]
    products = []
    for pair, of_pair in itertools.product(
        itertools.product(buckets, repeat=2), itertools.product(signs, repeat=2)
    ):
        sketch.buckets_, sketch.signs_ = np.array(pair), np.array(of_pair, dtype=np.int8)
        F = sketch.transform(X)
        products.append(F @ F.T)
    mean, variance = sketch.product_moments(X, X)
    assert_allclose(np.mean(products, axis=0), mean, atol=1e-12)
    assert_allclose(np.var(products, axis=0), variance, atol=1e-12)


def test_complex_sketches_vary_less_at_low_degrees():
    X = np.abs(unit(30, 20))
    errors = []
    for complex_signs in (False, True):
        features = [
            TensorSketch(3, 4.0, 1024, complex=complex_signs, random_state=seed).fit_transform(X)
            for seed in range(60)
        ]
        exact = spherical_polynomial_kernel(X, X, 3, 4.0)
        errors.append(np.mean([np.square(F @ F.T - exact).mean() for F in features]))
    assert errors[1] < 0.9 * errors[0]


def test_complex_sketches_come_in_pairs():
    with pytest.raises(ValueError, match="two features at a time"):
        TensorSketch(n_components=1, complex=True).fit(unit(2, 3))
    sketch = TensorSketch(n_components=33, complex=True)
    assert not hasattr(sketch, "product_moments")
    assert not sketch.fit_transform(unit(2, 3))[:, 32].any()


def test_product_moments_of_sparse_rows_are_the_same():
    X = unit(4, 6)
    sketch = TensorSketch(3, n_components=8, random_state=0).fit(X)
    assert_allclose(sketch.product_moments(sparse.csr_array(X), X), sketch.product_moments(X, X))


@pytest.mark.parametrize(("base", "wide"), [("maclaurin", RandomMaclaurin), ("tensor_sketch", TensorSketch)])
def test_without_reduction_craft_changes_no_product(base, wide):
    X = unit(6, 5)
    model = CRAFT(3, n_components=64, base=base, up_components=64, random_state=0).fit(X)
    assert isinstance(model.up_, wide)
    F, U = model.transform(X), model.up_.transform(X)
    assert_allclose(F @ F.T, U @ U.T, atol=1e-12)


def test_craft_projects_from_a_power_of_two_four_times_as_wide():
    assert CRAFT(3, n_components=100).fit(unit(3, 4)).up_.n_components == 512
    assert CRAFT(3, n_components=128).fit(unit(3, 4)).up_.n_components == 512


def test_craft_refuses_to_project_up():
    with pytest.raises(ValueError, match="up_components=50 is below n_components=100"):
        CRAFT(3, n_components=100, up_components=50).fit(unit(3, 4))
