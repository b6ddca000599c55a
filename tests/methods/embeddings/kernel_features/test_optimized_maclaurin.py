"""OptimizedMaclaurin: numbers of features minimise the variance, which is that of the features."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eigenbench import OptimizedMaclaurin, RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.optimized_maclaurin import allocation
from eigenbench.methods.embeddings.kernel_features.spherical_density import spherical_polynomial_kernel


def unit(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_numbers_have_a_smaller_variance(seed):
    variances = np.append(0.0, np.random.default_rng(seed).gamma(0.3, size=3))
    every = [counts for counts in product(range(1, 11), repeat=4) if sum(counts) == 13]
    best = min(np.sum(variances / counts) for counts in every)
    found = allocation(variances, 13)
    assert found.sum() == 13
    assert np.sum(variances / found) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(("d", "exact"), [(2100, False), (4, True)])
def test_product_moments_are_those_of_the_features(d, exact):
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


def test_the_variance_is_below_that_of_orders_drawn_at_random():
    X = unit(50, 20)
    found = OptimizedMaclaurin(7, 3.0, 200, random_state=0).fit(X).product_moments(X, X)[1]
    drawn = RandomMaclaurin(7, 3.0, 200, random_state=0).fit(X).product_moments(X, X)[1]
    assert found.mean() < 0.25 * drawn.mean()


def test_every_power_has_a_feature_or_the_largest_have():
    X = unit(3, 5)
    assert_array_equal(OptimizedMaclaurin(6, n_components=7).fit(X).n_features_of_power_, 1)
    few = OptimizedMaclaurin(6, 2.0, 3, random_state=0).fit(X)
    assert_array_equal(few.n_features_of_power_, [0, 0, 1, 1, 1, 0, 0])
    cosines = X @ X.T
    expected = (15 * cosines**2 + 20 * cosines**3 + 15 * cosines**4) / 64
    assert_allclose(few.product_moments(X, X)[0], expected)
    assert few.transform(X).shape == (3, 3)
