"""GEM: the properties proved in the paper, agreement with dense LAPACK, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from eigenbench import GEM, ClassMoments
from eigenbench.methods.embeddings.discriminants.pairs import nearest_pairs
from eigenbench.methods.linalg import eigenproblems


@pytest.fixture(scope="module")
def gaussians():
    """Three classes in eight dimensions, with covariances and means of their own."""
    rng = np.random.RandomState(0)
    X = np.vstack([rng.randn(400, 8) @ rng.randn(8, 8) + rng.randn(8) for _ in range(3)])
    return X, np.repeat(["red", "green", "blue"], 400)


def conditional(X, y, label):
    rows = X[y == label]
    return rows.T @ rows / len(rows)


@pytest.mark.parametrize(("gamma", "absolute"), [(0.0, False), (0.3, False), (0.3, True)])
def test_detectors_solve_the_generalized_eigenproblem(gaussians, gamma, absolute):
    X, y = gaussians
    gem = GEM(gamma=gamma, top=3, absolute_gamma=absolute).fit(X, y)
    assert gem.detectors_.shape == (8, 6 * 3)
    for i, j in {tuple(pair) for pair in gem.pairs_.tolist()}:
        mine = (gem.pairs_ == (i, j)).all(axis=1)
        Ci, Cj = conditional(X, y, i), conditional(X, y, j)
        N = Cj + gamma * (1 if absolute else np.trace(Cj) / 8) * np.eye(8)
        expected = linalg.eigh(Ci, N, eigvals_only=True)[::-1][:3]
        V, values = gem.detectors_[:, mine], gem.eigenvalues_[mine]
        assert_allclose(values, expected)
        assert_allclose(Ci @ V, N @ V * values, atol=1e-9 * np.abs(Ci).max())
        assert_allclose(V.T @ N @ V, np.eye(3), atol=1e-9)
        assert_allclose(V.T @ Ci @ V, np.diag(values), atol=1e-9 * values.max())
        assert np.all(V[np.abs(V).argmax(axis=0), np.arange(3)] > 0)


def test_the_covariance_variant_centres_the_denominator_class(gaussians):
    X, y = gaussians
    gem = GEM(gamma=0, top=2, denominator="covariance").fit(X, y)
    Z = gem.transform(X)
    for m, (_, j) in enumerate(gem.pairs_):
        assert_allclose(Z[y == j, m].mean(), 0, atol=1e-9)
        assert_allclose(Z[y == j, m].var(), 1)


def test_each_class_is_compared_with_the_classes_of_the_nearest_means(all_digits):
    X, y = all_digits
    gem = GEM(top=1, pairs="nearest", n_pairs=10).fit(X, y)
    assert_array_equal(gem.pairs_, nearest_pairs(ClassMoments.of(X, y), 0.5, 10))
    assert len(GEM(top=1, pairs="nearest").fit(X, y).pairs_) == round(10 * 9 * 4 / 15)
    assert len(GEM(top=1, pairs="nearest", n_pairs=1000).fit(X, y).pairs_) == 90


@pytest.mark.parametrize("choice", [{"pairs": "nearest", "n_pairs": 7}, {"n_components": 7}])
def test_nearest_pairs_of_an_absolute_gamma_are_those_of_the_same_multiple(all_digits, choice):
    X, y = all_digits[0] * 100, all_digits[1]
    multiple = GEM(gamma=0.001, **choice).fit(X, y)
    gamma = 0.001 * (X**2).mean()
    assert_array_equal(GEM(gamma=gamma, absolute_gamma=True, **choice).fit(X, y).pairs_, multiple.pairs_)
    assert not np.array_equal(GEM(gamma=gamma, **choice).fit(X, y).pairs_, multiple.pairs_)


def test_theta_and_top_choose_detectors(all_digits):
    every = GEM(top=5).fit(*all_digits)
    kept = GEM(top=5, theta=8.0).fit(*all_digits)
    strong = every.eigenvalues_ >= 8.0
    assert 0 < strong.sum() < len(strong)
    assert_array_equal(kept.eigenvalues_, every.eigenvalues_[strong])
    assert_array_equal(kept.pairs_, every.pairs_[strong])
    assert_array_equal(kept.detectors_, every.detectors_[:, strong])
    assert len(GEM(top=10**6).fit(*all_digits).eigenvalues_) == 90 * 64


def test_the_matrix_free_path_equals_the_dense_path(monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.randn(900, 120) * np.linspace(0.1, 2, 120)
    y = np.repeat([0, 1, 2], 300)
    X[y == 1] = X[y == 1] @ (np.eye(120) + 0.05 * rng.randn(120, 120))
    dense = GEM(gamma=0.01, top=6).fit(X, y)
    monkeypatch.setattr(eigenproblems, "DENSE_LIMIT", 0)
    free = GEM(gamma=0.01, top=6).fit(X, y)
    assert_allclose(free.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    assert_allclose(free.detectors_, dense.detectors_, atol=1e-5 * np.abs(dense.detectors_).max())
    again = GEM(gamma=0.01, top=6).fit(X, y)
    assert_array_equal(again.detectors_, free.detectors_)


def test_the_iteration_handles_repeated_and_zero_eigenvalues():
    values = np.r_[[5.0, 5.0, 5.0, 1.0], np.zeros(196)]
    Q = linalg.qr(np.random.RandomState(1).randn(200, 200))[0]
    found, vectors = eigenproblems.block_krylov(
        lambda V: Q @ (values[:, None] * (Q.T @ V)), 200, 5, rng=np.random.RandomState(0)
    )
    assert_allclose(found, [5, 5, 5, 1, 0], atol=1e-10)
    assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-10)


def test_the_iteration_reports_no_convergence():
    spectrum = np.linspace(1, 1.001, 400)[:, None]
    with pytest.raises(linalg.LinAlgError, match="no convergence"):
        eigenproblems.block_krylov(lambda V: spectrum * V, 400, 3, rng=np.random.RandomState(0), max_iter=3)


def test_more_features_than_rows_and_a_class_with_one_example():
    rng = np.random.RandomState(0)
    X, y = rng.randn(21, 60), np.r_[np.zeros(10), np.ones(10), 2].astype(int)
    gem = GEM(top=3).fit(X, y)
    assert np.isfinite(gem.transform(X)).all()
    with pytest.raises(ValueError, match=r"class 0 \(10 examples, 60 features\) is singular.*increase gamma"):
        GEM(gamma=0).fit(X, y)


def test_singular_to_working_precision_is_singular():
    rng = np.random.RandomState(0)
    X = rng.randn(200, 5)
    X[:, 4] = X[:, 0] + X[:, 1]
    y = np.arange(200) % 2
    with pytest.raises(ValueError, match=r"is singular.*increase gamma"):
        GEM(gamma=0).fit(X, y)
    X[:, 4] = 1e-9 * rng.randn(200)
    assert np.isfinite(GEM(gamma=0).fit(X, y).eigenvalues_).all()


def test_bad_input():
    X = np.random.RandomState(0).randn(20, 3)
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="at least two"):
        GEM().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match=r"no detector has λ ≥ theta=1000000000\.0"):
        GEM(theta=1e9).fit(X, y)
