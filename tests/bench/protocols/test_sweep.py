"""Curves of errors against variants trained and scored by hand, and which rows they may see."""

from functools import partial

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from eigenbench import GEM, CalibratedLeastSquares, SignedPowers
from eigenbench.bench.protocols.sweep import SweepSettings, measure

ROOTS = partial(SignedPowers, (0.5,), 1.0)


def sweep(make_trial, rows, seed=0, **settings):
    given = SweepSettings(train_rows=400, validation_rows=300, params={"ridge": 1.0}, **settings)
    return measure(make_trial(given, *rows)(ROOTS, GEM(top=2), seed=seed))


def test_a_parameter_is_judged_on_validation_rows(make_trial, digits):
    X, _, y, _ = digits
    outcome = sweep(
        make_trial, digits, values={"gem__gamma": (0.01, 0.5)}, axis="gamma_in_percent", unit=0.01
    )
    order = np.random.default_rng([0, 0x5357]).permutation(1000)
    held_out, rows = np.sort(order[:300]), np.sort(order[300:700])
    expected = []
    for gamma in (0.01, 0.5):
        model = CalibratedLeastSquares(1.0, feature_map=make_pipeline(GEM(gamma, top=2), ROOTS()))
        expected.append(1 - model.fit(X[rows], y[rows]).score(X[held_out], y[held_out]))
    steps, errors = zip(*outcome.curves["validation_error_by_gamma_in_percent"], strict=True)
    assert steps == (1, 50)
    assert errors == pytest.approx(expected)
    assert outcome.curves["detectors_by_gamma_in_percent"] == [(1, 180), (50, 180)]
    best = int(np.argmin(expected))
    assert outcome.metrics == pytest.approx(
        {"validation_error": expected[best], "best_gamma_in_percent": steps[best]}
    )
    assert outcome.dimension == 2 * 180


def test_test_rows_play_no_part_in_a_choice(make_trial, digits):
    X, V, y, v = digits
    values = {"gem__theta": (1, 8)}
    blind = sweep(make_trial, (X, np.full_like(V, np.nan), y, v[::-1]), values=values)
    assert blind.curves == sweep(make_trial, digits, values=values).curves
    counts = [width for _, width in blind.curves["detectors_by_value"]]
    assert counts[0] > counts[1]


def test_detectors_are_counted_on_their_axis(make_trial, digits):
    outcome = sweep(make_trial, digits, values={"gem__top": (1, 3)}, axis="detectors")
    (curve,) = outcome.curves.values()
    assert [step for step, _ in curve] == [90, 270]


def test_numbers_of_training_rows_are_judged_on_test_rows_and_nested(make_trial, digits):
    X, V, y, v = digits
    outcome = sweep(make_trial, digits, seed=3, sizes=(200, 800))
    rows = np.random.default_rng([3, 0x5357]).permutation(1000)
    expected = []
    for size in (200, 800):
        model = CalibratedLeastSquares(1.0, feature_map=make_pipeline(GEM(top=2), ROOTS()))
        expected.append(1 - model.fit(X[rows[:size]], y[rows[:size]]).score(V, v))
    (curve,) = outcome.curves.values()
    assert list(outcome.curves) == ["test_error_by_training_rows"]
    assert [step for step, _ in curve] == [200, 800]
    assert [error for _, error in curve] == pytest.approx(expected, abs=0.003)
    assert outcome.metrics["test_error"] == curve[-1][1]


def test_each_method_takes_the_parameter_of_its_own_step(make_trial, digits):
    values = {"gem__top": (1, 2), "randomdirections__n_components": (90, 180)}
    outcome = sweep(make_trial, digits, values=values, axis="detectors")
    assert [step for step, _ in outcome.curves["validation_error_by_detectors"]] == [90, 180]
    with pytest.raises(ValueError, match="name 0 of"):
        sweep(make_trial, digits, values={"pca__n_components": (1, 2)})
    with pytest.raises(ValueError, match="name 2 of"):
        sweep(make_trial, digits, values={"gem__top": (1, 2), "signedpowers__offset": (0, 1)})


def test_too_few_rows_are_an_error(make_trial, digits):
    X, V, y, v = digits
    with pytest.raises(ValueError, match="there are 1000 training rows"):
        sweep(make_trial, digits, sizes=(200, 2000))
    with pytest.raises(ValueError, match="too few beside 300 validation rows"):
        sweep(make_trial, (X[:301], V, y[:301], v), values={"gem__top": (1,)})


def test_an_embedding_that_predicts_is_followed_by_the_classifier(make_trial, digits):
    X, V, y, v = digits
    varied = SweepSettings(
        values={"lineardiscriminantanalysis__n_components": (2, 9)}, train_rows=400, validation_rows=300
    )
    outcome = measure(make_trial(varied, *digits)(LinearDiscriminantAnalysis))
    assert outcome.curves["detectors_by_value"] == [(2, 2), (9, 9)]
    sizes = SweepSettings(sizes=(1000,), params={"ridge": 1.0})
    outcome = measure(make_trial(sizes, *digits)(LinearDiscriminantAnalysis))
    model = CalibratedLeastSquares(1.0, feature_map=LinearDiscriminantAnalysis()).fit(X, y)
    assert outcome.metrics["test_error"] == pytest.approx(1 - model.score(V, v), abs=0.003)
    assert outcome.dimension == model.coef_.shape[-1]
