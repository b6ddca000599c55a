"""RandomMaclaurin: orders, weights, products of signs, and H0/1."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    maclaurin_coefficients,
    spherical_polynomial_kernel,
)


def unit(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_features_are_weighted_products_of_projections():
    X = unit(5, 8)
    model = RandomMaclaurin(4, 3.0, 60, random_state=0).fit(X)
    F = model.transform(X)
    a_n = np.append(maclaurin_coefficients(4, 3.0), np.zeros(40))
    for feature, order in enumerate(model.orders_):
        product = np.ones(5)
        for signs in model.signs_[: min(order, 4)]:
            product *= X @ signs[:, feature - 60]
        assert_allclose(F[:, feature], np.sqrt(a_n[order] * 2.0 ** (order + 1) / 60) * product, atol=1e-12)


def test_h01_is_exact_for_degree_one_and_better_above():
    X = unit(30, 8)
    F = RandomMaclaurin(1, 4.0, 20, h01=True, random_state=0).fit_transform(X)
    assert_allclose(F @ F.T, spherical_polynomial_kernel(X, X, 1, 4.0), atol=1e-12)

    def error(h01):
        total = 0.0
        for seed in range(10):
            G = RandomMaclaurin(3, 4.0, 200, h01=h01, random_state=seed).fit_transform(X)
            total += np.square(G @ G.T - spherical_polynomial_kernel(X, X, 3, 4.0)).mean()
        return total

    assert error(True) < 0.5 * error(False)


def test_h01_needs_room_for_the_exact_terms():
    with pytest.raises(ValueError, match="n_components ≥ 9 for the constant and 8 linear terms, got 8"):
        RandomMaclaurin(3, n_components=8, h01=True).fit(unit(3, 8))
    only_exact = RandomMaclaurin(3, n_components=9, h01=True).fit_transform(unit(3, 8))
    assert only_exact.shape == (3, 9)


@pytest.mark.parametrize("h01", [False, True])
def test_product_moments_are_those_of_the_features(h01):
    X, n = unit(3, 4), 200_000
    features = RandomMaclaurin(4, 2.5, n, h01=h01, random_state=0).fit(X)
    mean, variance = features.product_moments(X, X)
    F = features.transform(X)
    assert_allclose(F @ F.T, mean, atol=5 * np.sqrt(variance.max()))
    sampled = F[:, n - features.orders_.size :]
    products = sampled[:, None, :] * sampled[None, :, :]
    assert_allclose(products.var(axis=2) * features.orders_.size, variance, rtol=0.1)
