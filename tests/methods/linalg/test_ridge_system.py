"""Normal equations and conjugate gradients against dense least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import Ridge

from eigenbench import Rembrandt
from eigenbench.methods.linalg import ridge_system
from eigenbench.methods.linalg.ridge_system import RidgeSystem, conjugate_gradients
from eigenbench.methods.linalg.row_products import LabelledRows


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    return rng.randn(200, 12) * np.logspace(-1, 1, 12) + 3, rng.randn(200, 4)


def solve(F, T, *, dtype=np.float64, **options):
    system = RidgeSystem(F.shape[1], np.dtype(dtype), fit_intercept=options.pop("fit_intercept", True))
    for start in range(0, len(F), 61):
        system.add(np.ascontiguousarray(F[start : start + 61], dtype=dtype))
    system.factor(**options)
    return system, *system.solve(F.T @ T, T.sum(axis=0))


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equals_ridge_regression(problem, fit_intercept):
    F, T = problem
    _, coef, intercept = solve(F, T, ridge=0.0, absolute=2.5, fit_intercept=fit_intercept)
    expected = Ridge(alpha=2.5, fit_intercept=fit_intercept).fit(F, T)
    assert_allclose(coef.T, expected.coef_, atol=1e-10)
    assert_allclose(intercept, expected.intercept_, atol=1e-9)


def test_the_relative_penalty_is_in_units_of_the_mean_variance(problem):
    F, T = problem
    system, _, _ = solve(F, T, ridge=0.5)
    assert_allclose(system.penalty, 0.5 * F.var(axis=0).mean())


@pytest.mark.parametrize("limit", [0, 2048])
def test_float32_blocks(problem, monkeypatch, limit):
    monkeypatch.setattr(ridge_system, "DOUBLE_PRECISION_LIMIT", limit)
    F, T = problem
    _, coef, _ = solve(F, T, ridge=0.0, absolute=1.0, dtype=np.float32)
    assert_allclose(coef.T, Ridge(alpha=1.0).fit(F, T).coef_, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_and_constant_features_do_not_break_it(problem, dtype, monkeypatch):
    monkeypatch.setattr(ridge_system, "DOUBLE_PRECISION_LIMIT", 0)
    F, T = problem
    F = np.hstack([F, F, np.full((200, 3), 7.0), np.zeros((200, 2))])
    _, coef, intercept = solve(F, T, ridge=1e-3, dtype=dtype)
    reference = Ridge(alpha=1e-3 * F.var(axis=0).mean()).fit(F, T)
    assert_allclose(F @ coef + intercept, reference.predict(F), atol=0.02)


def relative_residual(A, Z, right):
    return np.linalg.norm(right - A @ Z, axis=0) / np.linalg.norm(right, axis=0)


def test_right_hand_sides_may_depend_on_each_other_or_be_zero():
    rng = np.random.RandomState(0)
    B = rng.randn(40, 6)
    A, right = B.T @ B, rng.randn(6, 2) @ rng.randn(2, 9)
    right[:, 4] = 0
    found, _, residual = conjugate_gradients(lambda P: A @ P, right, 1 / np.diag(A), tol=1e-10, max_iter=200)
    assert_allclose(found, np.linalg.solve(A, right), atol=1e-9)
    assert residual <= 1e-10


def test_singular_systems_end_when_rounding_takes_over_and_keep_the_best():
    rng = np.random.RandomState(0)
    B = (rng.randn(30, 60) * np.logspace(0, -3, 60)).astype(np.float32)
    A = B.T @ B
    right = rng.randn(60, 3).astype(np.float32)  # not in the range of A
    inverse = np.ones(60)
    found, n_iter, _ = conjugate_gradients(lambda P: A @ P, right, inverse, tol=1e-9, max_iter=500)
    assert n_iter < 500
    assert (relative_residual(A, found, right) <= 1).all()
    fewer, _, _ = conjugate_gradients(lambda P: A @ P, right, inverse, tol=1e-9, max_iter=3)
    assert (relative_residual(A, found, right) <= relative_residual(A, fewer, right) * (1 + 1e-4)).all()


@pytest.mark.parametrize("mean", [1e3, 1e4])
def test_single_precision_rows_with_a_large_mean_regress_as_in_double_precision(mean):
    rng = np.random.RandomState(0)
    y = np.arange(2000) % 8
    X = rng.randn(8, 20)[y] + rng.randn(2000, 20) + mean
    options = {"solver": "cg", "cg_tol": 1e-6, "random_state": 0}
    X = X.astype(np.float32)
    exact = Rembrandt(5, **options).fit(X.astype(np.float64), y)
    found = Rembrandt(5, **options).fit(X, y)
    cosines = np.sum(found.embedding_ * exact.embedding_, axis=0)
    assert_allclose(cosines, 1, atol=1e-5)
    assert found.cg_iterations_ < 20


def test_products_of_shifted_rows_are_those_of_centred_rows():
    rng = np.random.RandomState(0)
    X = rng.randn(50, 4) + np.array([0, 1e3, 0, 7])
    X[:, 3] = 7
    Y = sparse.csr_array(np.eye(3)[np.arange(50) % 3])
    rows = LabelledRows.of(X, Y)
    centred, P, Q = X - X.mean(axis=0), rng.randn(4, 2), rng.randn(3, 2)
    assert_allclose(rows.gram(P), centred.T @ centred @ P, atol=1e-9)
    assert_allclose(rows.cross(Q), centred.T @ Y @ Q, atol=1e-9)
    assert_allclose(rows.cross_transposed(P), Y.T @ centred @ P, atol=1e-9)
