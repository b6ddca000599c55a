"""SecondOrderLogistic: the optimum of an independent solver, early stopping and held-out rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from eigenbench import GEM, RandomFourierFeatures, SecondOrderLogistic, SignedPowers
from eigenbench.methods.classifiers import second_order_logistic
from eigenbench.methods.classifiers.streamed import hold_out


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_converges_to_the_optimum_of_scikit_learn(digits, fit_intercept, binary, C):
    X, y, V, _ = digits
    y = y % 2 if binary else y
    mine = SecondOrderLogistic(
        C=C, early_stopping=False, max_iter=2000, tol=1e-13, fit_intercept=fit_intercept
    )
    theirs = LogisticRegression(
        C=C, solver="newton-cg", tol=1e-10, max_iter=1000, fit_intercept=fit_intercept
    )
    mine.fit(X, y)
    theirs.fit(X, y)
    assert_allclose(mine.predict_proba(V), theirs.predict_proba(V), atol=1e-4)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    assert mine.intercept_.shape == theirs.intercept_.shape


def test_ill_conditioned_features_are_no_harder(digits):
    X, y, _, _ = digits
    X = X + 0.01 * np.random.RandomState(0).rand(*X.shape)
    A = np.diag(np.logspace(-2, 2, 64))
    plain, mapped = (
        SecondOrderLogistic(C=1e12, early_stopping=False, max_iter=15, tol=0).fit(Z, y).loss_curve_
        for Z in (X, X @ A)
    )
    assert_allclose(mapped, plain, rtol=0.05)


def test_early_stopping_keeps_the_best_held_out_point():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 120)
    y = (X[:, 0] + 2 * rng.randn(300) > 0).astype(int)
    model = SecondOrderLogistic(C=1e4, n_iter_no_change=4, validation_fraction=0.3, random_state=0).fit(X, y)
    assert model.best_iter_ == model.validation_curve_.argmin()
    assert model.n_iter_ == model.best_iter_ + 5 == len(model.loss_curve_) < 101
    held_out = hold_out(y, 0.3, np.random.RandomState(0))
    loss = log_loss(y[held_out], model.predict_proba(X[held_out]))
    assert_allclose(model.validation_curve_[model.best_iter_], loss)


def test_held_out_rows_do_not_enter_the_loss(digits):
    X, y, _, _ = digits
    held_out = hold_out(y, 0.1, np.random.RandomState(0))
    options = {"max_iter": 8, "random_state": 0, "n_iter_no_change": 100}
    model = SecondOrderLogistic(1.0, **options).fit(X, y)
    assert model.loss_curve_.shape == (9,)
    logits = X[~held_out] @ model.coef_.T + model.intercept_
    loss = -log_softmax(logits, axis=1)[np.arange((~held_out).sum()), y[~held_out]].mean()
    penalty = (model.coef_**2).sum() / (2 * (~held_out).sum())
    assert_allclose(model.loss_curve_[model.best_iter_], loss + penalty)
    assert_allclose(model.loss_curve_[0], np.log(10))


@given(st.integers(1, 200), st.integers(1, 8), st.floats(0.01, 0.9), st.integers(0, 99))
def test_held_out_rows_are_stratified(n, n_classes, fraction, seed):
    rng = np.random.RandomState(seed)
    codes = np.unique(rng.randint(n_classes, size=n), return_inverse=True)[1]
    held_out = hold_out(codes, fraction, rng)
    sizes, held = np.bincount(codes), np.bincount(codes, weights=held_out)
    assert np.all(held < sizes)
    assert np.all(np.abs(held - fraction * sizes) < 2)


def test_classes_of_one_row_are_trained_on():
    X, y = np.eye(4), np.arange(4)
    model = SecondOrderLogistic(random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), y)
    assert np.isnan(model.validation_curve_).all()


def sample_of_a_hundred_rows(monkeypatch):
    monkeypatch.setattr(second_order_logistic, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(second_order_logistic, "SAMPLE_ROWS_PER_FEATURE", 0)


def test_a_sampled_preconditioner_leads_to_the_same_optimum(digits, monkeypatch):
    X, y, _, _ = digits
    options = {"C": 0.1, "early_stopping": False, "max_iter": 500, "tol": 1e-12}
    whole = SecondOrderLogistic(**options).fit(X, y)
    sample_of_a_hundred_rows(monkeypatch)
    sampled = SecondOrderLogistic(random_state=0, **options).fit(X, y)
    assert sampled.n_iter_ > whole.n_iter_
    assert_allclose(sampled.coef_, whole.coef_, atol=1e-4)


def test_no_penalty_comes_to_the_optimum_without_one():
    rng = np.random.RandomState(0)
    X = rng.randn(500, 5)
    y = (X @ rng.randn(5, 3) + rng.gumbel(size=(500, 3))).argmax(axis=1)
    mine = SecondOrderLogistic(np.inf, early_stopping=False, max_iter=500, tol=1e-12).fit(X, y)
    theirs = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10).fit(X, y)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-4)


def test_more_features_than_rows_come_to_the_optimum_of_the_chosen_C():
    rng = np.random.RandomState(0)
    X = rng.randn(90, 200) * (rng.rand(90, 200) < 0.2)
    y = (X[:, :3] + 0.5 * rng.randn(90, 3)).argmax(axis=1)
    mine = SecondOrderLogistic(max_iter=500, tol=1e-12, random_state=0).fit(X, y)
    theirs = LogisticRegression(C=mine.C_, solver="newton-cg", tol=1e-10).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    thin = clone(mine).fit(sparse.csr_array(X), y)
    assert_allclose(thin.coef_, mine.coef_, atol=1e-8)
    same = FunctionTransformer(accept_sparse=True)
    assert_allclose(clone(mine).set_params(feature_map=same).fit(X, y).coef_, mine.coef_, atol=1e-8)


@pytest.mark.parametrize("n", [300, 1000], ids=["folds", "held out"])
def test_the_chosen_C_is_near_the_best_on_new_rows(n):
    rng = np.random.RandomState(1)
    X = rng.randn(4000, 80)
    y = (X[:, :4].sum(axis=1) + 2 * rng.randn(4000) > 0).astype(int)
    model = SecondOrderLogistic(random_state=0).fit(X[:n], y[:n])
    losses = [
        log_loss(y[n:], LogisticRegression(C=C).fit(X[:n], y[:n]).predict_proba(X[n:]))
        for C in (1e-4, 1e-3, 1e-2, 1e-1, 1, 10)
    ]
    assert log_loss(y[n:], model.predict_proba(X[n:])) < 1.03 * min(losses)
    assert np.isnan(model.validation_curve_).all()


@pytest.mark.parametrize("n", [300, 1100], ids=["folds", "held out"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_that_saw_the_labels_do_not_weaken_the_penalty_for_ever(digits, n, monkeypatch):
    X, y, V, v = digits
    embed = make_pipeline(GEM(top=1), SignedPowers()).fit(X[:n], y[:n])
    F, G = embed.transform(X[:n]), embed.transform(V)
    model = SecondOrderLogistic(random_state=0).fit(F, y[:n])
    assert model.C_ * F.var(axis=0).mean() == pytest.approx(1)
    if n > second_order_logistic.ROWS_TO_STOP:
        assert model.n_iter_ < 40
        optimum = SecondOrderLogistic(model.C_, early_stopping=False).fit(F, y[:n])
        assert log_loss(v, model.predict_proba(G)) < log_loss(v, optimum.predict_proba(G))
    monkeypatch.setattr(second_order_logistic, "WIDE_PATH", len(second_order_logistic.PATH))
    assert clone(model).fit(F, y[:n]).C_ > 5 * model.C_


def test_a_descent_that_ends_early_says_so(digits):
    X, y, _, _ = digits
    with pytest.warns(ConvergenceWarning, match="max_iter=3 passes did not come within tol=1e-06"):
        SecondOrderLogistic(1.0, max_iter=3).fit(X, y)


def test_a_sample_preconditions_features_in_the_space_of_few_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    features = RandomFourierFeatures(n_components=300, random_state=0)
    whole = SecondOrderLogistic(feature_map=features, random_state=0).fit(X, y)
    sample_of_a_hundred_rows(monkeypatch)
    model = SecondOrderLogistic(feature_map=features, random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=0.01)


@pytest.mark.parametrize("repeats", [1, 2])
def test_in_the_space_of_few_rows_it_is_the_model_of_scikit_learn(repeats):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 120)), rng.integers(0, 3, 40)
    model = SecondOrderLogistic(tol=1e-12, random_state=0).fit(np.tile(X, (repeats, 1)), np.tile(y, repeats))
    peer = LogisticRegression(C=repeats * model.C_, tol=1e-9, max_iter=1000).fit(X, y)
    assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_constant_inputs_give_the_shares_of_classes(value):
    y = np.repeat([0, 1], [5, 15])
    model = SecondOrderLogistic(random_state=0).fit(np.full((20, 50), value), y)
    assert 0 < model.C_ < 1e6
    assert_allclose(model.predict_proba(np.full((1, 50), value)), [[0.25, 0.75]], atol=0.01)
