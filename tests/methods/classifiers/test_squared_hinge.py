"""The solvers, of weights and in the span of the rows, reach the optimum of LinearSVC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from eigenbench.methods.classifiers import squared_hinge
from eigenbench.methods.classifiers.squared_hinge import (
    SquaredHinge,
    SquaredHingeDual,
    decision_values,
    inner_products,
)


@pytest.fixture(scope="module")
def reference(digits):
    X, y, _, _ = digits
    return {C: LinearSVC(C=C, dual=False, tol=1e-9, max_iter=100_000).fit(X, y) for C in (0.01, 1.0, 100.0)}


def signs(y):
    return np.where(y[:, None] == np.arange(10), 1.0, -1.0)


def objective(weights, X, y, C):
    margins = 1 - signs(y) * decision_values(X, weights.astype(np.float64))
    return 0.5 * (weights**2).sum(axis=0) + C * (np.maximum(0, margins) ** 2).sum(axis=0)


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
    assert objective(weights, X, y, 1.0).sum() < 1.01 * objective(best, X, y, 1.0).sum()


def test_too_few_steps_are_a_warning(digits):
    X, y, _, _ = digits
    for problem in (SquaredHinge(X, signs(y)), SquaredHingeDual(inner_products(X[:400]), signs(y[:400]))):
        with pytest.warns(ConvergenceWarning, match="C=100"):
            problem.minimise(100.0, tol=1e-12, max_iter=1)


def test_features_of_zeros_leave_the_intercept():
    problem = SquaredHinge(np.zeros((4, 3)), np.array([[1.0], [1.0], [1.0], [-1.0]]))
    # ½b² + 3(1 − b)² + (1 + b)² is least at b = 4/9.
    assert_allclose(problem.minimise(1.0, tol=1e-10), [[0.0], [0.0], [0.0], [4 / 9]], atol=1e-6)


def weights_of(X, coefficients):
    return np.vstack([X.T @ coefficients, coefficients.sum(axis=0)])


@pytest.fixture(scope="module")
def wide(digits):
    """400 rows of 600 features."""
    X, y, _, _ = digits
    directions = np.random.default_rng(0).normal(size=(X.shape[1], 600))
    return np.cos(X[:400] @ directions / 4), y[:400]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_of_the_dual_is_that_of_linear_svc(wide, C, monkeypatch):
    X, y = wide
    peer = LinearSVC(C=C, dual=True, tol=1e-10, max_iter=1_000_000).fit(X, y)
    for few_rows in (30, 1000):
        monkeypatch.setattr(squared_hinge, "_FEW_ROWS", few_rows)
        found = weights_of(X, SquaredHingeDual(inner_products(X), signs(y)).minimise(C, tol=1e-10))
        size = np.abs(peer.coef_).max()
        assert_allclose(found[:-1].T, peer.coef_, atol=1e-4 * size)
        assert_allclose(found[-1], peer.intercept_, atol=1e-4 * size)


def test_single_precision_keeps_the_tolerance_of_the_objective(wide):
    X, y = wide
    exact = SquaredHingeDual(inner_products(X), signs(y)).minimise(10.0, tol=1e-10)
    single = SquaredHingeDual(inner_products(X.astype(np.float32)), signs(y)).minimise(10.0, tol=1e-2)
    assert single.dtype == np.float32
    found, least = (
        objective(weights_of(X, coefficients.astype(np.float64)), X, y, 10.0)
        for coefficients in (single, exact)
    )
    assert (found < 1.02 * least).all()  # the last step gains less than 1 %; the gap is a little larger


def test_the_start_saves_steps_and_does_not_change_the_result(wide):
    X, y = wide
    for problem in (SquaredHinge(X[:, :60], signs(y)), SquaredHingeDual(inner_products(X), signs(y))):
        cold = problem.minimise(10.0, tol=1e-10)
        warm = problem.minimise(10.0, start=problem.minimise(0.1), tol=1e-10)
        assert_allclose(warm, cold, atol=1e-4 * np.abs(cold).max())
        again = problem.minimise(10.0, start=cold, tol=1e-8, max_iter=1)
        assert_allclose(again, cold, atol=1e-4 * np.abs(cold).max())


def test_scores_in_single_precision_are_as_exact_as_a_matrix_product():
    rng = np.random.default_rng(0)
    gram, coefficients = rng.normal(size=(900, 900)), rng.normal(size=900)
    coefficients[rng.random(900) < 0.3] = 0
    problem = SquaredHingeDual(gram.astype(np.float32), np.ones((900, 1)))
    error = np.abs(problem._scores(coefficients.astype(np.float32)) - coefficients @ gram)
    by_product = np.abs(coefficients.astype(np.float32) @ problem.gram - coefficients @ gram)
    assert error.max() < 2 * by_product.max()
    assert not problem._scores(np.zeros(900, np.float32)).any()
