"""SphericalHermiteFeatures: exact where it says so, shares, stability and comparison with its rivals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from eigenbench.methods.embeddings.kernel_features.spherical_density import spherical_polynomial_kernel
from eigenbench.methods.embeddings.kernel_features.spherical_hermite import (
    SphericalHermiteFeatures,
    _coefficients,
    _polynomials,
    _shares,
)
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch


def cap(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)) / np.sqrt(d) + 0.8 / np.sqrt(d)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_degree_one_is_exact():
    X = cap(20, 9)
    F = SphericalHermiteFeatures(1, 2.5, 15).fit(X[:5]).transform(X)
    assert_allclose(F @ F.T, spherical_polynomial_kernel(X, X, 1, 2.5), atol=1e-12)
    assert not F[:, 10:].any()


def test_the_sums_are_hermite_polynomials():
    degree, xi, u = 9, np.array([0.3, 0.95]), np.random.default_rng(0).standard_normal((2, 7))
    even, odd = _polynomials(_coefficients(degree, xi), u, 7, 5)
    s = (1 - xi**2)[:, None]
    terms = [
        (-1) ** (n // 2)
        * np.sqrt(special.comb(degree, n) / special.factorial(n))
        * xi[:, None] ** (degree - n)
        * s ** (n / 2)
        * special.eval_hermitenorm(n, u / np.sqrt(s))
        for n in range(2, degree + 1)
    ]
    assert_allclose(even, sum(terms[0::2]), rtol=1e-10)
    assert_allclose(odd, sum(terms[1::2])[:, :5], rtol=1e-10)


@pytest.mark.parametrize(("degree", "a"), [(20, 4.0), (20, 2.0), (40, 4.0)])
def test_float32_is_stable(degree, a):
    X = cap(50, 30)
    model = SphericalHermiteFeatures(degree, a, 2000, random_state=0)
    narrow = model.fit(X.astype(np.float32)).transform(X.astype(np.float32))
    wide = model.fit(X).transform(X)
    assert np.abs((narrow @ narrow.T) - wide @ wide.T).max() < 2e-4


def test_shares_minimise_the_variance_and_use_every_feature():
    variances = np.array([0.2, 0.5, 0.1])
    n, d = 300, 150
    linear, even, odd = _shares(n, d, variances, degree=7)
    assert linear + even + odd == n

    def total(linear, even, odd):
        return variances @ [1 / linear - 1 / d, 1 / even, 1 / odd]

    others = [total(a, b, n - a - b) for a in range(1, d + 1) for b in range(1, n - a)]
    assert_allclose(total(linear, even, odd), min(others), rtol=1e-3)
    assert _shares(1000, 10, np.array([0.2, 0, 0]), degree=7)[0] == 10


@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 5, 50])
@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_any_number_of_features(degree, n_components):
    X = cap(10, 6)
    F = SphericalHermiteFeatures(degree, n_components=n_components, random_state=0).fit_transform(X)
    assert F.shape == (10, n_components)
    assert np.isfinite(F).all()
    assert (F[:, 0] > 0).all()


def test_below_tensor_sketch_at_every_width_without_a_floor():
    X, Y, train = cap(30, 50, 1), cap(30, 50, 2), cap(100, 50, 3)
    exact = spherical_polynomial_kernel(X, Y, 10, 4.0)

    def error(model):
        F = model.fit(train).transform(np.vstack([X, Y]))
        return np.square(F[:30] @ F[30:].T - exact).mean()

    previous = np.inf
    for width in (128, 512, 2048):
        hermite = np.mean([error(SphericalHermiteFeatures(10, 4.0, width, random_state=s)) for s in range(3)])
        sketch = np.mean([error(TensorSketch(10, 4.0, width, random_state=s)) for s in range(3)])
        assert hermite < 0.5 * sketch
        assert hermite < 0.4 * previous
        previous = hermite


def test_zero_training_rows_are_refused():
    with pytest.raises(ValueError, match="all rows"):
        SphericalHermiteFeatures().fit(np.zeros((3, 4)))
