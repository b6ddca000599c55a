"""The ensemble against its formula, its bound, and scikit-learn's contract."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection

from eigenbench import GEM, CalibratedLeastSquares, GeometricMeanEnsemble, SignedPowers


@pytest.fixture(scope="module")
def projected(digits):
    member = make_pipeline(GaussianRandomProjection(8), GaussianNB())
    return GeometricMeanEnsemble(member, n_estimators=4, random_state=3).fit(*digits[:2])


def test_probabilities_are_the_renormalised_geometric_mean(projected, digits):
    stacked = np.array([np.maximum(m.predict_proba(digits[2]), 1e-6) for m in projected.estimators_])
    mean = stacked.prod(axis=0) ** (1 / 4)
    expected = mean / mean.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(projected.predict_proba(digits[2]), expected, rtol=1e-10)
    assert np.array_equal(projected.predict(digits[2]), projected.classes_[expected.argmax(axis=1)])


def test_members_differ_by_their_seeds_and_are_repeatable(digits):
    member = make_pipeline(GEM(top=2, pairs="hypercube"), SignedPowers(), CalibratedLeastSquares())
    X, y = digits[0][:400], digits[1][:400]
    first, again, other = (
        GeometricMeanEnsemble(member, n_estimators=3, random_state=seed).fit(X, y) for seed in (0, 0, 1)
    )
    draws = [m[0].pairs_.tolist() for m in first.estimators_]
    assert len({str(draw) for draw in draws}) == 3
    assert draws == [m[0].pairs_.tolist() for m in again.estimators_]
    assert draws != [m[0].pairs_.tolist() for m in other.estimators_]
    assert member[0].random_state is None
    alone = [m.score(*digits[2:]) for m in first.estimators_]
    assert first.score(*digits[2:]) >= np.mean(alone)


def test_processes_give_what_one_process_gives(digits, projected):
    parallel = GeometricMeanEnsemble(projected.estimator, n_estimators=4, n_jobs=2, random_state=3)
    X = digits[2]
    assert np.array_equal(parallel.fit(*digits[:2]).predict_proba(X), projected.predict_proba(X))


class Certain(LogisticRegression):
    """Says one class with certainty: that of the parity of its seed."""

    def predict_proba(self, X):
        return np.eye(2)[np.full(len(X), self.random_state % 2)]


def test_a_class_excluded_by_one_member_is_unlikely_but_not_impossible():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    ensemble = GeometricMeanEnsemble(Certain(), n_estimators=9, random_state=0).fit(X, y)
    votes = np.bincount([m.random_state % 2 for m in ensemble.estimators_], minlength=2)
    assert votes.min() > 0
    odds = 1e-6 ** ((votes[0] - votes[1]) / 9)
    np.testing.assert_allclose(ensemble.predict_proba(X)[:, 1], 1 / (1 + 1 / odds))


def test_variants_are_taken_in_turn(digits):
    member = make_pipeline(GEM(top=2, pairs="uniform"), SignedPowers(), CalibratedLeastSquares())
    variants = [{"gem__n_pairs": 5}, {"gem__n_pairs": 7, "signedpowers": "passthrough"}]
    ensemble = GeometricMeanEnsemble(member, n_estimators=3, variants=variants, random_state=0)
    members = ensemble.fit(*digits[:2]).estimators_
    assert [m[0].n_pairs for m in members] == [5, 7, 5]
    assert [m[-1].coef_.shape[-1] for m in members] == [5 * 2 * 6, 7 * 2, 5 * 2 * 6]
    assert members[0][0].pairs_.tolist() != members[2][0].pairs_.tolist()
    assert member[0].n_pairs is None
    logs = np.mean([np.log(np.maximum(m.predict_proba(digits[2]), 1e-6)) for m in members], axis=0)
    assert np.array_equal(ensemble.predict(digits[2]), logs.argmax(axis=1))


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ([], "variants: 0 for 2 members"),
        ([{}] * 3, "variants: 3 for 2 members"),
        ([{"D": 1}], "Invalid parameter 'D'"),
    ],
)
def test_variants_that_cannot_be_had_are_refused(variants, said, digits):
    with pytest.raises(ValueError, match=said):
        GeometricMeanEnsemble(LogisticRegression(), 2, variants=variants).fit(*digits[:2])
