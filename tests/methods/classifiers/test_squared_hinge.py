"""The solver reaches the optimum of LinearSVC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from eigenbench.methods.classifiers.squared_hinge import SquaredHinge, decision_values


@pytest.fixture(scope="module")
def reference(digits):
    X, y, _, _ = digits
    return {C: LinearSVC(C=C, dual=False, tol=1e-9, max_iter=100_000).fit(X, y) for C in (0.01, 1.0, 100.0)}


def signs(y):
    return np.where(y[:, None] == np.arange(10), 1.0, -1.0)


def objective(weights, X, y, C):
    margins = 1 - signs(y) * decision_values(X, weights.astype(np.float64))
    return 0.5 * (weights**2).sum() + C * (np.maximum(0, margins) ** 2).sum()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_linear_svc(digits, reference, C):
    X, y, V, _ = digits
    weights = SquaredHinge(X, signs(y)).minimise(C, tol=1e-8)
    size = np.abs(reference[C].coef_).max()
    assert_allclose(weights[:-1].T, reference[C].coef_, atol=1e-4 * size)
    assert_allclose(weights[-1], reference[C].intercept_, atol=1e-4 * size)
    assert (decision_values(V, weights).argmax(axis=1) == reference[C].predict(V)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_tolerance_bounds_the_objective(digits, reference, dtype):
    X, y, _, _ = digits
    best = np.vstack([reference[1.0].coef_.T, reference[1.0].intercept_])
    weights = SquaredHinge(X.astype(dtype), signs(y)).minimise(1.0, tol=1e-2)
    assert weights.dtype == dtype
    assert objective(weights, X, y, 1.0) < 1.01 * objective(best, X, y, 1.0)


def test_a_start_saves_passes_and_does_not_change_the_result(digits, monkeypatch):
    X, y, _, _ = digits
    problem = SquaredHinge(X, signs(y))
    passes = []
    original = SquaredHinge._passed
    monkeypatch.setattr(SquaredHinge, "_passed", lambda self, *a: passes.append(1) or original(self, *a))
    cold = problem.minimise(1.0, tol=1e-8)
    n_cold = len(passes)
    warm = problem.minimise(1.0, start=cold, tol=1e-8)
    assert len(passes) - n_cold < n_cold / 3
    assert_allclose(warm, cold, atol=1e-5)


def test_too_few_steps_are_a_warning(digits):
    X, y, _, _ = digits
    with pytest.warns(ConvergenceWarning, match="C=100"):
        SquaredHinge(X, signs(y)).minimise(100.0, tol=1e-8, max_iter=1)


def test_features_of_zeros_leave_the_intercept():
    problem = SquaredHinge(np.zeros((4, 3)), np.array([[1.0], [1.0], [1.0], [-1.0]]))
    # ½b² + 3(1 − b)² + (1 + b)² is least at b = 4/9.
    assert_allclose(problem.minimise(1.0, tol=1e-10), [[0.0], [0.0], [0.0], [4 / 9]], atol=1e-6)
