"""The streamed normal equations against dense least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from eigenbench.methods.linalg import ridge_system
from eigenbench.methods.linalg.ridge_system import RidgeSystem


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
