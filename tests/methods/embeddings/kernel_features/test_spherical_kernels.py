"""The exact kernel, its two forms and its Maclaurin coefficients."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from eigenbench.methods.embeddings.kernel_features.spherical_density import (
    maclaurin_coefficients,
    spherical_polynomial,
    spherical_polynomial_kernel,
)


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
