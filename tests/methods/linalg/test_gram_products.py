"""Products with the Gram matrix of sparse rows, however many columns count as frequent."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from eigenbench.methods.linalg import row_products
from eigenbench.methods.linalg.row_products import GramProducts, LabelledRows

N, D = 90, 50


@pytest.fixture(params=[np.float32, np.float64])
def X(request):
    """Rows whose columns, in any order, have power-law frequencies; one is empty."""
    rng = np.random.RandomState(0)
    shares = rng.permutation(1 / np.arange(1, D + 1))
    X = rng.rand(N, D) * (rng.rand(N, D) < shares)
    X[:, 7] = 0
    return sparse.csr_array(X.astype(request.param))


@pytest.mark.parametrize("n_frequent", [0, 1, 13, D])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("weights", [None, np.random.RandomState(2).randint(1, 4, N).astype(float)])
def test_products_are_those_of_centred_rows(monkeypatch, X, n_frequent, fit_intercept, n_jobs, weights):
    monkeypatch.setattr(row_products, "FREQUENT_BYTES", n_frequent * D * X.dtype.itemsize)
    monkeypatch.setattr(row_products, "_DENSE_RATE", 100 * D)
    labels = sparse.csr_array(np.ones((N, 1), dtype=X.dtype))
    blocks = [(X[:40], labels[:40]), (X[40:], labels[40:])]
    gram = GramProducts(LabelledRows(blocks, fit_intercept=fit_intercept, n_jobs=n_jobs, weights=weights))
    dense = X.toarray().astype(float)
    if weights is not None:
        dense = np.repeat(dense, weights.astype(int), axis=0)
    dense -= dense.mean(axis=0) * fit_intercept
    P = np.random.RandomState(1).randn(D, 3)
    product = gram(np.ascontiguousarray(P[gram.order], dtype=X.dtype))
    assert product.dtype == X.dtype
    expected = dense.T @ dense @ P
    assert_allclose(product, expected[gram.order], atol=3e-4 if X.dtype == np.float32 else 1e-12)


def test_dense_rows_are_used_as_they_are(X):
    dense = LabelledRows.of(X.toarray(), sparse.csr_array(np.ones((N, 1), dtype=X.dtype)))
    P = np.random.RandomState(1).randn(D, 3).astype(X.dtype)
    assert_array_equal(GramProducts(dense)(P), dense.gram(P))
