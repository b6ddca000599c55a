"""The protocol's figures against an ensemble built and scored by hand."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from eigenbench import GEM, CalibratedLeastSquares, GeometricMeanEnsemble, SignedPowers
from eigenbench.bench.protocols.ensemble import EnsembleSettings, measure

#: One detector for each pair of a random hypercube.
HYPERCUBE = partial(GEM, top=1, pairs="hypercube")


def test_the_ensemble_of_the_first_members_at_every_size(make_trial, digits):
    X, V, y, v = digits
    settings = EnsembleSettings(members=3, params={"ridge": 1.0})
    outcome = measure(make_trial(settings, *digits)(HYPERCUBE, seed=4))
    member = CalibratedLeastSquares(ridge=1.0, feature_map=HYPERCUBE())
    whole = GeometricMeanEnsemble(member, n_estimators=3, random_state=4).fit(X, y)
    assert outcome.metrics["error"] == pytest.approx(1 - whole.score(V, v))
    assert outcome.metrics["log_loss"] == pytest.approx(log_loss(v, whole.predict_proba(V)), rel=1e-4)
    alone = [1 - one.score(V, v) for one in whole.estimators_]
    assert outcome.metrics["member_error"] == pytest.approx(np.mean(alone))
    assert outcome.metrics["log_loss"] < outcome.metrics["member_log_loss"]
    sizes, errors = zip(*outcome.curves["error_by_members"], strict=True)
    assert sizes == (1, 2, 3)
    assert errors[0] == pytest.approx(alone[0])
    assert errors[2] == outcome.metrics["error"]
    two = GeometricMeanEnsemble(member, n_estimators=2, random_state=4).fit(X, y)
    assert errors[1] == pytest.approx(1 - two.score(V, v))
    assert outcome.dimension == whole.estimators_[0].coef_.shape[-1]


def test_members_may_differ_by_parameters_of_their_features(make_trial, digits):
    X, V, y, v = digits
    variants = ({"gem__top": 1}, {"gem__top": 3, "signedpowers": "passthrough"})
    settings = EnsembleSettings(members=2, variants=variants, params={"ridge": 1.0})
    outcome = measure(make_trial(settings, *digits)(SignedPowers, GEM()))
    models = [
        CalibratedLeastSquares(ridge=1.0, feature_map=features).fit(X, y)
        for features in (make_pipeline(GEM(top=1), SignedPowers()), GEM(top=3))
    ]
    logs = sum(np.log(np.maximum(model.predict_proba(V), 1e-6)) for model in models)
    assert outcome.metrics["test_errors"] == np.sum(logs.argmax(axis=1) != v)
    assert outcome.metrics["test_errors"] == pytest.approx(outcome.metrics["error"] * len(v))
    assert outcome.metrics["member_error"] == pytest.approx(np.mean([1 - m.score(V, v) for m in models]))


def test_a_class_without_training_rows_is_refused(make_trial, digits):
    X, V, y, v = digits
    trial = make_trial(EnsembleSettings(members=2), X[y != 3], V, y[y != 3], v)
    with pytest.raises(ValueError, match="without a training row: 3"):
        measure(trial(HYPERCUBE))
