"""ContractedGEM against plain NumPy, and its parts against GEM."""

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from eigenbench import GEM
from eigenbench.methods.embeddings.discriminants.contracted_gem import ContractedGEM


@pytest.fixture(scope="module")
def quadratic():
    """A vector target whose parts mix the sizes of two projections; nothing of it is linear in the rows."""
    rng = np.random.RandomState(0)
    X = rng.randn(3000, 12) @ np.diag(np.linspace(0.5, 2, 12))
    A = rng.randn(12, 2)
    Y = (X @ A) ** 2 @ rng.randn(2, 3)
    return X, Y, A


@pytest.mark.parametrize("gamma", [0.0, 0.3])
def test_detectors_solve_the_problem_of_weighted_second_moments(quadratic, gamma):
    X, Y, _ = quadratic
    U = np.random.RandomState(1).randn(2, 3)
    found = ContractedGEM(gamma=gamma, top=3, contractions=U).fit(X, Y)
    assert found.detectors_.shape == (12, 2 * 2 * 3)
    assert_array_equal(np.unique(found.pairs_, axis=0), [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0]])
    for r, u in enumerate(U):
        t = (Y - Y.mean(axis=0)) @ u
        C = [(X.T * weights) @ X / weights.sum() for weights in (np.maximum(-t, 0), np.maximum(t, 0))]
        for i, j in ((0, 1), (1, 0)):
            mine = (found.pairs_ == (r, i, j)).all(axis=1)
            N = C[j] + gamma / 12 * np.trace(C[j]) * np.eye(12)
            V, values = found.detectors_[:, mine], found.eigenvalues_[mine]
            assert_allclose(values, linalg.eigh(C[i], N, eigvals_only=True)[::-1][:3])
            assert_allclose(V.T @ N @ V, np.eye(3), atol=1e-9)
            assert_allclose(V.T @ C[i] @ V, np.diag(values), atol=1e-9 * values.max())


def test_slices_are_classes_of_gem(quadratic):
    X, Y, _ = quadratic
    t = Y[:, 0]
    codes = np.searchsorted(np.quantile(t, [1 / 3, 2 / 3], method="inverted_cdf"), t)
    sliced, classes = ContractedGEM(top=2, n_slices=3).fit(X, t), GEM(top=2).fit(X, codes)
    assert_allclose(sliced.detectors_, classes.detectors_)
    assert_allclose(sliced.eigenvalues_, classes.eigenvalues_)
    assert_array_equal(sliced.pairs_[:, 1:], classes.pairs_)


def test_principal_axes_leave_out_what_does_not_vary(quadratic):
    X, Y, _ = quadratic
    Y = np.column_stack([Y, Y.sum(axis=1), np.ones(len(Y))])
    found = ContractedGEM(top=1).fit(X, Y)
    U = found.contractions_
    assert_allclose(U @ U.T, np.eye(len(U)), atol=1e-12)
    variances = ((Y - Y.mean(axis=0)) @ U.T).var(axis=0)
    assert np.all(np.diff(variances) < 0)
    assert_allclose(variances.sum(), Y.var(axis=0).sum())
    assert len(U) == np.linalg.matrix_rank(Y - Y.mean(axis=0)) < Y.shape[1]
    assert_array_equal(ContractedGEM(top=1, n_contractions=1).fit(X, Y).contractions_, U[:1])


def test_workers_and_blocks_give_the_same(quadratic, monkeypatch):
    X, Y, _ = quadratic
    whole = ContractedGEM(top=2).fit(X, Y)
    with joblib.parallel_config("threading", n_jobs=3):
        merged = ContractedGEM(top=2).fit(X, Y)
    monkeypatch.setattr(
        "eigenbench.methods.linalg.row_blocks.row_slices", lambda n, *_: [slice(0, 700), slice(700, n)]
    )
    blocks = ContractedGEM(top=2).fit(X, Y)
    for other in (merged, blocks):
        assert_allclose(other.detectors_, whole.detectors_, rtol=1e-8, atol=1e-10)


def test_bad_input(quadratic):
    X, Y, _ = quadratic
    with pytest.raises(ValueError, match="contractions have 2 columns and the target has 3"):
        ContractedGEM(contractions=[[1.0, 2.0]]).fit(X, Y)
    with pytest.raises(ValueError, match="does not vary along contraction 1"):
        ContractedGEM(contractions=np.eye(3)[:2]).fit(
            X, np.column_stack([Y[:, 0], 0 * Y[:, 1] + 0.1, Y[:, 2]])
        )
    with pytest.raises(ValueError, match="does not vary along contraction 0"):
        ContractedGEM().fit(X, np.full(len(X), 0.1))
