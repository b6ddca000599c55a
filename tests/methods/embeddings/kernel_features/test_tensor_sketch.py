"""TensorSketch: the definition, and agreement with scikit-learn's sketch."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from eigenbench.methods.embeddings.kernel_features.spherical_density import spherical_polynomial_kernel
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch


def unit(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_is_the_count_sketch_of_the_tensor_power():
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
def test_product_moments_are_those_over_all_hash_functions(n_components):
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
