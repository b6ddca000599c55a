"""All random feature maps: the contract, bad input, and agreement with the exact kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from eigenbench.methods.embeddings.kernel_features.craft import CRAFT
from eigenbench.methods.embeddings.kernel_features.optimized_maclaurin import OptimizedMaclaurin
from eigenbench.methods.embeddings.kernel_features.random_fourier import RandomFourierFeatures
from eigenbench.methods.embeddings.kernel_features.random_maclaurin import RandomMaclaurin
from eigenbench.methods.embeddings.kernel_features.spherical import SphericalRandomFeatures
from eigenbench.methods.embeddings.kernel_features.spherical_density import spherical_polynomial_kernel
from eigenbench.methods.embeddings.kernel_features.spherical_hermite import SphericalHermiteFeatures
from eigenbench.methods.embeddings.kernel_features.tensor_sketch import TensorSketch

UNBIASED = [
    RandomMaclaurin(3),
    RandomMaclaurin(3, h01=True),
    TensorSketch(3),
    TensorSketch(3, complex=True),
    RandomMaclaurin(3, complex=True),
    RandomMaclaurin(3, h01=True, complex=True),
    OptimizedMaclaurin(3),
    CRAFT(3),
    CRAFT(3, base="tensor_sketch", up_components=300),
    SphericalHermiteFeatures(3),
    SphericalHermiteFeatures(6, 3.0),
]
SPHERICAL = [
    SphericalRandomFeatures(3, n_starts=1),
    SphericalRandomFeatures(2.5, n_starts=1, directions="independent", phases="random"),
    SphericalRandomFeatures(3, n_starts=1, directions="hadamard", distances="sample"),
]
ON_THE_SPHERE = [*UNBIASED, *SPHERICAL]
FOURIER = [
    RandomFourierFeatures(),
    RandomFourierFeatures("laplacian"),
    RandomFourierFeatures("matern", orthogonal=True),
]


def unit(rng, n, d):
    """Rows of one cap of the sphere, as real data are: inner products of either sign, 0.4 in the mean."""
    X = rng.standard_normal((n, d)) / np.sqrt(d) + 0.8 / np.sqrt(d)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def configured(model, **params):
    return clone(model).set_params(**params)


@pytest.mark.parametrize("model", [*ON_THE_SPHERE, *FOURIER], ids=str)
def test_types_sparse_rows_and_blocks(model, monkeypatch):
    X = unit(np.random.default_rng(0), 40, 20)
    X[:, ::3] = 0
    X[3] = X[4]
    model = configured(model, n_components=71, random_state=0).fit(X)
    F = model.transform(X)
    assert F.shape == (40, 71)
    assert F.dtype == np.float64
    assert_allclose(model.transform(sparse.csr_matrix(X)), F, atol=1e-12)
    narrow = configured(model, random_state=0).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    assert narrow.dtype == np.float32
    assert_allclose(narrow, F, atol=2e-4)
    # A row is mapped alone: neither the other rows nor the size of the blocks matters.
    monkeypatch.setattr("eigenbench.methods.embeddings.kernel_features.random_map.BLOCK_BYTES", 1)
    assert_allclose(model.transform(X[::-1])[::-1], F, atol=1e-12)


@pytest.mark.parametrize("model", ON_THE_SPHERE, ids=str)
def test_rows_are_scaled_or_refused(model):
    rng = np.random.default_rng(0)
    X = unit(rng, 6, 10)
    scaled = X * np.array([1e-180, 1e-3, 1, 7, 1e150, 1e200])[:, None]
    model = configured(model, n_components=40, random_state=0)
    F = model.fit(X).transform(X)
    assert_allclose(model.transform(scaled), F, atol=1e-9)
    X[4] *= 1.01
    with pytest.raises(ValueError, match=r"row 4 has norm 1\.01.*rows='normalize'"):
        configured(model, rows="check").fit(X)
    X[4] /= 1.01
    strict = configured(model, rows="check", random_state=0).fit(X)
    X[4] *= 1.01
    assert_allclose(strict.transform(X[:4].astype(np.float32)), F[:4], atol=1e-4)
    with pytest.raises(ValueError, match="row 4 has norm"):
        strict.transform(sparse.csr_matrix(X))


@pytest.mark.parametrize("model", ON_THE_SPHERE, ids=str)
def test_a_zero_row_has_zero_features_or_is_refused(model):
    X = unit(np.random.default_rng(0), 6, 10)
    X[2] = 0
    model = configured(model, n_components=40, random_state=0).fit(X)
    for rows in (X, sparse.csr_matrix(X)):
        F = model.transform(rows)
        assert np.isfinite(F).all()
        assert_array_equal(np.flatnonzero(~F.any(axis=1)), [2])
    with pytest.raises(ValueError, match="row 2 has norm 0"):
        configured(model, rows="check").fit(X)


@pytest.mark.parametrize("model", UNBIASED, ids=str)
def test_the_mean_over_seeds_is_the_exact_kernel(model):
    rng = np.random.default_rng(1)
    X, Y = unit(rng, 4, 12), -unit(rng, 3, 12)
    Y[0] = X[0]
    exact = spherical_polynomial_kernel(X, Y, model.degree, model.a)
    estimates = []
    for seed in range(200):
        fitted = configured(model, n_components=41, random_state=seed).fit(X)
        estimates.append(fitted.transform(X) @ fitted.transform(Y).T)
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    z = (np.mean(estimates, axis=0) - exact) / np.maximum(error, 1e-9)
    assert np.abs(z).max() < 4.5
    # A wrong factor would be seen: the standard errors are small beside the kernel.
    assert np.median(error) < 0.1 * np.median(exact)


@pytest.mark.parametrize("d", [2, 10_000])
@pytest.mark.parametrize(
    "model",
    [RandomMaclaurin(), TensorSketch(), SphericalHermiteFeatures(), SphericalRandomFeatures()],
    ids=str,
)
def test_extreme_dimensions(model, d):
    rng = np.random.default_rng(3)
    X = unit(rng, 12, d).astype(np.float32)
    F = configured(model, degree=20, n_components=401, random_state=0).fit_transform(X)
    assert np.isfinite(F).all()
    error = F @ F.T - spherical_polynomial_kernel(X, X, 20, 4.0)
    assert np.abs(error[np.triu_indices(12, 1)]).mean() < 0.25
