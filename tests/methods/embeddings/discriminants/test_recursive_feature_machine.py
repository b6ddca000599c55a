"""RecursiveFeatureMachine against gradients by finite differences, and what it is for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import make_classification

from eigenbench import RecursiveFeatureMachine


def data(n=60, d=4):
    X, y = make_classification(n, d, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    return X * np.geomspace(1, 30, d), np.array(["a", "b", "c"])[y]


def next_matrix(X, Y, centers, M, ridge):
    """Return the average gradient outer product of the regression under M, by central differences."""
    root = np.linalg.cholesky(M)
    length = np.median(pdist(centers @ root))

    def kernel(A, B):
        return np.exp(-cdist(A @ root, B @ root) / length)

    K, B = kernel(centers, centers), kernel(X, centers)
    # The minimum of ‖Y − Bα‖² + λ αᵀKα; α = (K + λ)⁻¹ Y where the centres are all rows.
    alpha = np.linalg.solve(B.T @ B + ridge * K, B.T @ Y)
    steps = 1e-6 * np.eye(X.shape[1]) * X.std(axis=0)
    total = np.zeros_like(M)
    for row in range(len(centers)):
        # The row's own term has a kink there, and no gradient is counted for it.
        others = np.delete(np.arange(len(centers)), row)
        f = [kernel(centers[row] + sign * steps, centers[others]) @ alpha[others] for sign in (1, -1)]
        gradient = (f[0] - f[1]) / (2 * steps.diagonal()[:, None])
        total += gradient @ gradient.T
    return total * len(M) / np.trace(total)


@pytest.mark.parametrize("n_centers", [60, 25])
def test_the_matrix_is_the_average_gradient_outer_product(n_centers):
    X, y = data()
    found = RecursiveFeatureMachine(n_rounds=2, ridge=0.01, n_centers=n_centers, random_state=3).fit(X, y)
    centers = X[np.sort(np.random.RandomState(3).permutation(60)[:n_centers])]
    Y = (y[:, None] == np.unique(y)) - np.mean(y[:, None] == np.unique(y), axis=0)
    M = np.eye(4)
    for _ in range(2):
        M = next_matrix(X, Y, centers, M, 0.01)
    assert_allclose(found.components_.T @ found.components_, M, atol=2e-4 * np.abs(M).max())
    assert_allclose(found.eigenvalues_, np.sort(np.linalg.eigvalsh(M))[::-1], rtol=2e-3)
    few = RecursiveFeatureMachine(2, n_rounds=2, ridge=0.01, n_centers=n_centers, random_state=3).fit(X, y)
    assert_allclose(few.components_, found.components_[:2])


def test_repeated_rows_and_bad_input():
    X, y = data()
    rows, labels = np.tile(X, (2, 1)), np.tile(y, 2)
    twice = RecursiveFeatureMachine(n_centers=50, random_state=0).fit(rows, labels)
    assert np.isfinite(twice.components_).all()
    with pytest.raises(ValueError, match="at least two, got 1 class"):
        RecursiveFeatureMachine().fit(X, np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match="are alike"):
        RecursiveFeatureMachine().fit(np.ones((60, 3)), y)
