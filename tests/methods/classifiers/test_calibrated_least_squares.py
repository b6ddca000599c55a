"""CalibratedLeastSquares against the rounds written out with dense least squares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from eigenbench import CalibratedLeastSquares
from eigenbench.methods.classifiers.calibrated_least_squares import LINK_RIDGE
from eigenbench.methods.classifiers.score_calibration import ScoreCalibration, fit_calibration
from eigenbench.methods.classifiers.simplex import project_rows_to_simplex


def naive_rounds(X, y, V, *, alpha, n_rounds):
    """The algorithm with a new dense regression in every round; training and new-row probabilities."""
    Y = np.eye(10)[y]
    P, Q = np.zeros_like(Y), np.zeros((len(V), 10))
    for _ in range(n_rounds):
        ridge = Ridge(alpha=alpha).fit(X, Y - P)
        P, Q = P + ridge.predict(X), Q + ridge.predict(V)
        basis, new_basis = (np.hstack([A, A**2 / 2, A**3 / 6, A**4 / 24]) for A in (P, Q))
        link = Ridge(alpha=LINK_RIDGE * (basis**2).sum() / 40, fit_intercept=False).fit(basis, Y).coef_.T
        P, Q = project_rows_to_simplex(basis @ link), project_rows_to_simplex(new_basis @ link)
    return P, Q


def test_equals_the_rounds_written_out(digits):
    X, y, V, _ = digits
    model = CalibratedLeastSquares(ridge=2.0, n_rounds=4).fit(X, y)
    alpha = 2.0 * X.var(axis=0).mean()
    assert_allclose(model.penalty_, alpha)
    P, Q = naive_rounds(X, y, V, alpha=alpha, n_rounds=4)
    assert_allclose(model.predict_proba(V), Q, atol=1e-9)
    assert_allclose(model.predict_proba(X), P, atol=1e-9)
    assert_allclose(model.loss_curve_[-1], ((np.eye(10)[y] - P) ** 2).sum() / len(y), rtol=1e-9)


def test_curves_describe_every_round(digits):
    X, y, _, _ = digits
    model = CalibratedLeastSquares(n_rounds=5).fit(X, y)
    assert model.loss_curve_.shape == model.error_curve_.shape == (5,)
    assert np.all(np.diff(model.loss_curve_) < 0)
    assert_allclose(model.error_curve_[-1], 1 - model.score(X, y))
    assert model.coef_.shape == (5, 10, 64)
    assert model.link_.shape == (5, 40, 10)


def test_rounds_improve_on_plain_least_squares(digits):
    X, y, V, v = digits
    one, many = (CalibratedLeastSquares(n_rounds=n).fit(X, y).score(V, v) for n in (1, 7))
    assert many > one


def test_the_scale_of_the_features_does_not_matter(digits):
    X, y, V, _ = digits
    small, large = (CalibratedLeastSquares().fit(s * X, y).predict_proba(s * V) for s in (1, 1024))
    assert_allclose(large, small, atol=1e-7)


def test_more_features_than_rows():
    rng = np.random.RandomState(0)
    X = rng.randn(30, 200).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = CalibratedLeastSquares().fit(X, y)
    assert model.score(X, y) == 1


def test_calibration_changes_probabilities_and_nothing_else(digits):
    X, y, V, v = digits
    plain = CalibratedLeastSquares().fit(X, y)
    fitted = CalibratedLeastSquares(calibrate=True).fit(X, y)
    assert_array_equal(fitted.decision_function(V), plain.decision_function(V))
    P = fitted.predict_proba(V)
    assert_array_equal(fitted.classes_[P.argmax(axis=1)], plain.predict(V))
    assert_allclose(P.sum(axis=1), 1)
    assert P.min() > 0
    assert plain.predict_proba(V)[np.arange(len(v)), v].min() == 0
    assert log_loss(v, P) < 0.7 * log_loss(v, plain.predict_proba(V))
    assert abs(P.max(axis=1).mean() - fitted.score(V, v)) < 0.04
    assert_array_equal(P, CalibratedLeastSquares(calibrate=True).fit(X, y).predict_proba(V))


def test_calibration_finds_the_map_that_made_the_labels():
    rng = np.random.RandomState(0)
    made = ScoreCalibration(softness=0.2, power=3.0)
    scores = rng.uniform(-0.5, 1.2, size=(4000, 4))
    P = np.exp(made.log_probabilities(scores))
    codes = np.array([rng.choice(4, p=p) for p in P])
    found = fit_calibration(scores, codes, None).log_probabilities(scores)
    assert np.abs(np.exp(found) - P).mean() < 0.01
    w = rng.randint(0, 3, size=len(codes))
    weighted = fit_calibration(scores, codes, w)
    assert_allclose(
        weighted, fit_calibration(np.repeat(scores, w, axis=0), np.repeat(codes, w), None), rtol=1e-3
    )


def test_calibration_of_extreme_scores_is_finite():
    logs = ScoreCalibration(0.01, 2.0).log_probabilities(np.array([[1e6, -1e6, 0.0], [-40.0, -41.0, -42.0]]))
    assert np.isfinite(logs).all()
    assert logs.argmax(axis=1).tolist() == [0, 0]


def test_too_few_rows_to_calibrate_are_an_error():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1 of 6 rows"):
        CalibratedLeastSquares(calibrate=True).fit(np.eye(6), [0, 1] * 3)
