"""StochasticLogistic: the optimum, the operators in place of whitened rows, caches and rare features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer

from eigenbench import GEM, RandomFourierFeatures, SecondOrderLogistic, StochasticLogistic
from eigenbench.methods.classifiers.logistic_decoder import WhitenedFeatures
from eigenbench.methods.classifiers.preconditioned_features import PreconditionedFeatures
from eigenbench.methods.classifiers.second_order_logistic import hand_over
from eigenbench.methods.classifiers.streamed import hold_out
from eigenbench.methods.linalg.ridge_system import gram_system
from eigenbench.methods.linalg.row_blocks import FeatureBlocks


@pytest.fixture(scope="module")
def noisy():
    """Rows of correlated features on very different scales, with three classes that overlap."""
    rng = np.random.RandomState(0)
    Z = rng.randn(2000, 8)
    logits = Z @ rng.randn(8, 3)
    X = Z @ rng.randn(8, 8) * np.logspace(-1, 1, 8) + 1
    return X, (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_comes_to_the_optimum_of_scikit_learn(noisy, fit_intercept):
    X, y = noisy
    model = StochasticLogistic(
        100,
        learning_rate=0.01,
        batch_size=100,
        ridge=1e-9,
        early_stopping=False,
        fit_intercept=fit_intercept,
        random_state=0,
    )
    theirs = LogisticRegression(
        C=np.inf, solver="newton-cg", max_iter=1000, tol=1e-8, fit_intercept=fit_intercept
    )
    model.fit(X, y)
    theirs.fit(X, y)
    assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=0.02)
    assert np.isnan(model.validation_curve_).all()
    assert model.n_iter_ == len(model.loss_curve_) == 100


@pytest.mark.parametrize("n_products", [0, 2], ids=["operators", "kept"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operators_are_the_whitened_rows(noisy, dtype, n_products):
    X = noisy[0].astype(dtype)
    identity = FunctionTransformer().fit(X)
    system = gram_system(FeatureBlocks(X, identity)).factor(1e-3 * len(X))
    rows = np.arange(5, 1005)
    whitened = WhitenedFeatures(X[rows], identity, system, cache_size=100)
    operators = PreconditionedFeatures(X, identity, system, rows, cache_size=10, n_products=n_products)
    batch = np.array([3, 999, 17, 0])
    rng = np.random.RandomState(0)
    weights, residual = rng.randn(9, 3).astype(dtype), rng.randn(4, 3).astype(dtype)
    tolerance = {"rtol": 1e-3, "atol": 1e-3}
    assert_allclose(operators[batch] @ weights, whitened[batch] @ weights, **tolerance)
    assert_allclose(operators[batch].T @ residual, whitened[batch].T @ residual, **tolerance)


def test_the_weights_kept_are_the_best_on_held_out_rows():
    rng = np.random.RandomState(0)
    X = rng.randn(400, 150)
    y = (X[:, 0] + 2 * rng.randn(400) > 0).astype(int)
    model = StochasticLogistic(
        50, batch_size=32, learning_rate=0.03, n_iter_no_change=4, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    assert model.n_iter_ == 1 + model.validation_curve_.argmin() == len(model.loss_curve_) - 4 < 46
    held_out = hold_out(y, 0.3, np.random.RandomState(0))
    own = model.predict_proba(X[held_out])[np.arange(held_out.sum()), y[held_out]]
    assert_allclose(model.validation_curve_[model.n_iter_ - 1], -np.log(own).mean(), rtol=1e-4)


def test_a_feature_that_the_sample_does_not_see_is_no_harm(digits):
    X, y, V, v = digits
    rare = np.zeros((len(X), 1))
    rare[::400] = 1.0
    model = StochasticLogistic(batch_size=64, preconditioner_rows=100, random_state=0)
    without = model.fit(X, y).score(V, v)
    model.fit(np.hstack([X, rare]), y)
    assert np.abs(model.coef_[:, -1]).max() < 10
    assert model.score(np.hstack([V, np.zeros((len(V), 1))]), v) > without - 0.01


def test_few_rows_for_the_features_do_not_fit_noise(digits):
    X, y, V, v = digits
    features = RandomFourierFeatures(n_components=1500, random_state=0).fit(X)
    F, G = features.transform(X[:600]), features.transform(V)
    model = StochasticLogistic(few_rows=0, random_state=0).fit(F, y[:600])
    assert model.ridge_ == 10
    weak = StochasticLogistic(ridge=1e-3, random_state=0).fit(F, y[:600])
    assert model.score(G, v) > weak.score(G, v)
    assert model.score(G, v) > LogisticRegression(max_iter=200).fit(F, y[:600]).score(G, v) - 0.02


def test_a_warning_names_the_estimator_that_the_user_fits(digits):
    X, y, _, _ = digits
    model = StochasticLogistic(random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"StochasticLogistic: max_iter=1 .* Scale the features\."):
        hand_over(model, X, y, None, max_iter=1)


def test_passes_that_end_early_are_repeated_with_a_larger_ridge():
    rng = np.random.RandomState(1)
    X = rng.randn(3000, 120) * np.logspace(0, -2, 120)
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.randn(3000) > 0).astype(int)
    model = StochasticLogistic(few_rows=0, n_iter_no_change=3, random_state=0).fit(X, y)
    weak = clone(model).set_params(ridge=1e-3).fit(X, y)
    assert len(weak.loss_curve_) < weak.max_iter
    assert model.ridge_ == 10
    assert model.validation_curve_.min() < weak.validation_curve_.min()


def test_few_rows_are_left_to_full_gradients(digits):
    X, y, V, _ = digits
    features = FrozenEstimator(GEM(top=1).fit(X, y))
    model = StochasticLogistic(feature_map=features, random_state=0).fit(X, y)
    full = SecondOrderLogistic(feature_map=features, random_state=0).fit(X, y)
    assert_array_equal(model.predict_proba(V), full.predict_proba(V))
    assert model.C_ == full.C_
    assert np.isnan([model.ridge_, model.penalty_]).all()
    for parameters in (
        {"few_rows": len(X) - 1},
        {"learning_rate": 0.01},
        {"early_stopping": False},
        {"max_iter": 1},
        {"feature_map": GEM(top=1)},
    ):
        assert clone(model).set_params(**parameters).fit(X, y).C_ is None
