"""CalibratedLeastSquares against the rounds written out with dense least squares."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import log_loss

from eigenbench import CalibratedLeastSquares
from eigenbench.methods.classifiers import calibrated_least_squares
from eigenbench.methods.classifiers.least_squares_rounds import (
    LINK_RIDGE,
    NormalEquations,
    project_rows_to_simplex,
)
from eigenbench.methods.classifiers.out_of_fold_rounds import RIDGES, OutOfFoldRounds, folds_of
from eigenbench.methods.classifiers.score_calibration import (
    ScoreCalibration,
    fit_calibration,
    fit_temperature,
)
from eigenbench.methods.classifiers.streamed import GAIN

ROWS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-50, 50))


def naive_rounds(X, y, V, *, alpha, n_rounds):
    """The algorithm with a new dense regression in every round; training and new-row scores."""
    Y = np.eye(10)[y]
    P, Q = np.zeros_like(Y), np.zeros((len(V), 10))
    for _ in range(n_rounds):
        ridge = Ridge(alpha=alpha).fit(X, Y - P)
        P, Q = P + ridge.predict(X), Q + ridge.predict(V)
        basis, new_basis = (np.hstack([A, A**2 / 2, A**3 / 6, A**4 / 24]) for A in (P, Q))
        link = Ridge(alpha=LINK_RIDGE * (basis**2).sum() / 40, fit_intercept=False).fit(basis, Y).coef_.T
        scores, new_scores = basis @ link, new_basis @ link
        P, Q = project_rows_to_simplex(scores.copy()), project_rows_to_simplex(new_scores.copy())
    return scores, new_scores, P


@pytest.mark.parametrize("kept", [4000, 500], ids=["folds", "held out"])
def test_scores_are_those_of_the_rounds_written_out(digits, monkeypatch, kept):
    monkeypatch.setattr(calibrated_least_squares, "affordable_rows", lambda n_features, products: kept)
    X, y, V, _ = digits
    model = CalibratedLeastSquares(ridge=2.0, n_rounds=4).fit(X, y)
    alpha = 2.0 * X.var(axis=0).mean()
    assert_allclose(model.penalty_, alpha)
    scores, new_scores, P = naive_rounds(X, y, V, alpha=alpha, n_rounds=4)
    assert_allclose(model.decision_function(V), new_scores, atol=1e-8)
    assert_allclose(model.decision_function(X), scores, atol=1e-8)
    assert_allclose(model.loss_curve_[-1], ((np.eye(10)[y] - P) ** 2).sum() / len(y), rtol=1e-9)
    assert len(model.loss_curve_) == len(model.error_curve_) == 4
    assert_allclose(model.error_curve_[-1], 1 - model.score(X, y))


@pytest.mark.parametrize(("columns", "rtol"), [(20, 1e-12), (2100, 1e-5)], ids=["double", "single"])
def test_sums_by_class_are_weighted(columns, rtol):
    rng = np.random.RandomState(0)
    block, codes = rng.rand(300, columns).astype(np.float32), rng.randint(3, size=300)
    held_out, w = rng.rand(300) < 0.2, rng.rand(300)
    equations = NormalEquations(columns, block.dtype, 3, fit_intercept=True)
    equations.add(block, codes, held_out, w)
    Y = np.eye(3)[codes] * w[:, None]
    kept, everything = equations.kept_and_all()
    assert_allclose(kept.cross, block[~held_out].T.astype(np.float64) @ Y[~held_out], rtol=rtol)
    assert_allclose(everything.cross, block.T.astype(np.float64) @ Y, rtol=rtol)
    assert_allclose(everything.total, Y.sum(axis=0))


def test_sums_of_many_equal_rows_lose_no_digits():
    block = np.full((10_000, 2100), 0.1, dtype=np.float32)
    equations = NormalEquations(2100, block.dtype, 1, fit_intercept=True)
    equations.add(block, np.zeros(10_000, dtype=int), np.zeros(10_000, dtype=bool))
    assert_allclose(equations.kept_and_all()[0].cross, 10_000 * float(block[0, 0]), rtol=1e-5)


@pytest.mark.parametrize("columns", [64, 600])
def test_the_ridge_has_the_least_error_out_of_fold(digits, columns):
    """Of all penalties, by folds and rounds written out; wide features are reduced first."""
    X, y = digits[0][:400], digits[1][:400]
    F = np.cos(X @ np.random.RandomState(0).randn(64, columns)) if columns > 64 else X
    folds, at_once = folds_of(F, y), OutOfFoldRounds(F, y, None, 10, n_rounds=3, fit_intercept=True)
    errors = []
    for ridge in RIDGES:
        S = np.empty((400, 10))
        for fold in range(5):
            T, t = F[folds != fold], y[folds != fold]
            _, S[folds == fold], _ = naive_rounds(
                T, t, F[folds == fold], alpha=ridge * T.var(axis=0).mean(), n_rounds=3
            )
        assert_allclose(at_once.best((ridge,))[1], S, atol=1e-5)
        errors.append(((project_rows_to_simplex(S) - np.eye(10)[y]) ** 2).sum())
    model = CalibratedLeastSquares(n_rounds=3).fit(F, y)
    assert errors[RIDGES.index(model.ridge_)] <= min(errors) / (1 - GAIN)


def test_folds_keep_equal_rows_together_and_classes_in_shares(digits):
    X, y = digits[0][:300], digits[1][:300]
    w = np.random.RandomState(0).randint(1, 4, size=300)
    folds = folds_of(X, y)
    assert_array_equal(folds_of(np.repeat(X, w, axis=0), np.repeat(y, w)), np.repeat(folds, w))
    sizes = np.array([np.bincount(folds[y == code], minlength=5) for code in range(10)])
    assert np.ptp(sizes, axis=1).max() <= 1


def test_the_scale_of_the_features_does_not_matter(digits):
    X, y, V, _ = digits
    small, large = (CalibratedLeastSquares().fit(s * X, y).predict_proba(s * V) for s in (1, 1024))
    assert_allclose(large, small, atol=1e-7)


def test_probabilities_hold_and_are_never_zero(digits):
    X, y, V, v = digits
    model = CalibratedLeastSquares().fit(X, y)
    P, projected = model.predict_proba(V), project_rows_to_simplex(model.decision_function(V))
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(V))
    assert_allclose(P.sum(axis=1), 1)
    assert P.min() > 0
    assert projected[np.arange(len(v)), v].min() == 0
    assert log_loss(v, P) < 0.7 * log_loss(v, projected)
    assert abs(P.max(axis=1).mean() - model.score(V, v)) < 0.04


def test_rows_far_from_those_of_training_have_probabilities(digits):
    X, y, V, _ = digits
    model = CalibratedLeastSquares().fit(X.astype(np.float32), y)
    P = model.predict_proba(V.astype(np.float32) * np.float32(1e14))
    assert_allclose(P.sum(axis=1), 1)


def test_working_memory_does_not_travel():
    equations = NormalEquations(3, np.dtype(np.float64), 2, True)
    rows = np.random.RandomState(0).randn(5000, 3), np.arange(5000) % 2, np.arange(5000) % 3 == 0
    equations.add(*rows)
    twin = pickle.loads(pickle.dumps(equations))
    assert len(pickle.dumps(twin)) < 5000
    for each in (equations, twin):
        each.add(rows[0].astype(np.float32), *rows[1:])
        each.add(*rows)
    assert_array_equal(*(each.kept_and_all()[0].cross for each in (equations, twin)))


def test_many_classes_are_linear_and_small():
    rng = np.random.RandomState(0)
    y = np.arange(4800) % 80
    X = (2.0 * rng.randn(80, 30)[y] + rng.randn(4800, 30)).astype(np.float32)
    X, y, V, v = X[:3200], y[:3200], X[3200:], y[3200:]
    model = CalibratedLeastSquares().fit(X, y)
    assert model.coef_.shape == (1, 80, 30)
    assert len(pickle.dumps(model)) < 8 * 30 * 80
    P = model.predict_proba(V)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(V))
    assert P.min() > 0
    assert model.score(V, v) > RidgeClassifier().fit(X, y).score(V, v)
    assert abs(P.max(axis=1).mean() - model.score(V, v)) < 0.05


def test_calibration_finds_the_map_that_made_the_labels():
    rng = np.random.RandomState(0)
    made = ScoreCalibration(softness=0.2, power=3.0)
    scores = rng.uniform(-0.5, 1.2, size=(4000, 4))
    P = made.probabilities(scores)
    codes = np.array([rng.choice(4, p=p) for p in P])
    found = fit_calibration(scores, codes, None).probabilities(scores)
    assert np.abs(found - P).mean() < 0.01
    w = rng.randint(0, 3, size=len(codes))
    weighted = fit_calibration(scores, codes, w)
    assert_allclose(
        weighted, fit_calibration(np.repeat(scores, w, axis=0), np.repeat(codes, w), None), rtol=1e-3
    )


@pytest.mark.parametrize("y", [[0, 1], [0, 1, 1], [0, 1, 2, 0]])
def test_a_few_rows_are_enough(y):
    model = CalibratedLeastSquares().fit(np.eye(len(y)), y)
    P = model.predict_proba(np.eye(len(y)))
    assert np.isfinite(P).all()
    assert P.min() > 0


def test_the_temperature_of_logits_that_are_too_large():
    rng = np.random.RandomState(0)
    logits = 2 * rng.randn(4000, 5)
    codes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    assert fit_temperature(3 * logits, codes) == pytest.approx(3, rel=0.1)


@given(ROWS)
def test_projected_rows_are_the_nearest_probabilities(scores):
    projected = project_rows_to_simplex(scores.copy())
    for row, point in zip(scores, projected, strict=True):
        tau = brentq(
            lambda t, row=row: np.maximum(row - t, 0).sum() - 1, row.min() - 1.1, row.max(), xtol=1e-13
        )
        assert_allclose(point, np.maximum(row - tau, 0), atol=1e-9)
