"""Pipelines from their specification, with pipelines side by side among their steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from small_jobs import plan_of

from eigenbench import GEM, ClassMoments, SignedPowers, SubclassGEM
from eigenbench.bench.jobs.pipelines import (
    BLOCK_ROWS,
    build,
    build_pipeline,
    fit_features,
    learns_from_labels,
    transform,
)
from eigenbench.bench.jobs.train import fit_classifier
from eigenbench.bench.suites.steps import Step

WHOLES = [{"GEM": {"top": 2}}, {"SignedPowers": {"powers": [0.5, 1.0]}}, {"GEM": {"top": 1}}]
PARTS = [{"SubclassGEM": {"top": 1, "n_subclasses": 2}}]


def union(*branches):
    listed = [[f"branch-{number}", steps] for number, steps in enumerate(branches)]
    return {"FeatureUnion": {"transformer_list": listed}}


def job(*steps):
    return plan_of(methods={"wide": {"steps": list(steps)}}).spec


@pytest.fixture(scope="module")
def digits():
    return load_digits(n_class=4, return_X_y=True)


def test_branches_are_fitted_with_the_seed_and_stand_side_by_side(digits):
    X, y = digits
    spec = job(union(WHOLES, PARTS), {"SignedPowers": {}})
    features = fit_features(spec, spec.steps, X, y, seed=3)
    wholes = make_pipeline(GEM(top=2), SignedPowers(powers=[0.5, 1.0]), GEM(top=1))
    parts = SubclassGEM(top=1, n_subclasses=2, random_state=3)
    plain = make_pipeline(make_union(wholes, parts), SignedPowers()).fit(X, y)
    assert_array_equal(features.transform(X), plain.transform(X))


@pytest.mark.parametrize(
    ("steps", "supervised"),
    [
        (["StandardScaler", {"GEM": {"top": 1}}, "SignedPowers"], True),
        ([union(PARTS, [{"StandardScaler": {}}]), "SignedPowers"], True),
        (["StandardScaler", {"PCA": {"n_components": 3}}], False),
    ],
)
@pytest.mark.parametrize("early_stopping", [True, False])
def test_a_classifier_never_stops_by_rows_whose_labels_its_map_has_seen(
    digits, steps, supervised, early_stopping
):
    X, y = digits
    spec = job(*steps)
    features = fit_features(spec, spec.steps, X, y, seed=3)
    assert learns_from_labels(features) is supervised
    params = {"C": 1.0, "early_stopping": early_stopping, "max_iter": 3}
    step = Step(component="SecondOrderLogistic", params=params)
    spec = plan_of(
        methods={"wide": {"steps": steps}}, classifiers={"SecondOrderLogistic": {"params": step.params}}
    ).spec
    model, _ = fit_classifier(spec, step, features, X, y, 3)
    same = np.array_equal(model.feature_map_.transform(X), features.transform(X))
    assert same is not (supervised and early_stopping)


@pytest.mark.parametrize(
    "classifier", ["CalibratedLeastSquares", "SecondOrderLogistic", "StochasticLogistic"]
)
def test_missing_values_are_replaced_before_any_classifier(digits, classifier):
    X, y = digits
    X = X.astype(np.float32)
    X[::3, 20] = np.nan
    steps = ["SimpleImputer", "StandardScaler"]
    spec = plan_of(methods={"filled": {"steps": steps}}, classifiers={classifier: {}}).spec
    features = fit_features(spec, spec.steps, X, y, seed=0)
    model, _ = fit_classifier(spec, Step(component=classifier), features, X, y, 0)
    assert model.score(X, y) > 0.95


def test_a_list_that_holds_no_steps_stays_a_list():
    spec = job({"SignedPowers": {"powers": [0.5, 2]}})
    assert build(spec, spec.steps[0], seed=None).powers == [0.5, 2]


def test_a_seed_matters_to_a_union_when_it_matters_to_a_branch():
    plain, seeded = job(union(WHOLES)), job(union(WHOLES, PARTS))
    assert not plain.is_random(plain.steps[0])
    assert seeded.is_random(seeded.steps[0])


def test_a_random_state_in_the_suite_wins_over_the_seed():
    spec = job({"RandomDirections": {"n_components": 3, "random_state": 11}})
    assert build(spec, spec.steps[0], seed=3).random_state == 11
    assert not spec.is_random(spec.steps[0])


def test_a_step_gets_the_rows_where_they_are_smaller_than_their_moments(digits, monkeypatch):
    X, y = (part[:200] for part in digits)
    spec = job({"GEM": {"top": 10}}, "SignedPowers", {"GEM": {"top": 2}})
    widths = []
    gather = ClassMoments.of

    def watched(*data, **options):
        moments = gather(*data, **options)
        widths.append(moments.n_features)
        return moments

    monkeypatch.setattr(ClassMoments, "of", watched)
    features = fit_features(spec, spec.steps, X, y, seed=0)
    assert widths == [64]
    plain = make_pipeline(GEM(top=10), SignedPowers(), GEM(top=2)).fit(X, y)
    assert_allclose(features.transform(X), plain.transform(X), rtol=1e-5, atol=1e-6)


def test_no_steps_are_no_features_for_a_run_and_a_passage_for_a_protocol():
    spec = job()
    assert fit_features(spec, (), np.ones((4, 2)), np.arange(4), seed=0) is None
    assert_array_equal(build_pipeline(spec, 0, {}).fit_transform(np.eye(3)), np.eye(3))


def test_the_last_step_takes_what_a_protocol_varies():
    spec = job("SignedPowers", {"RandomDirections": {"n_components": 3}})
    pipeline = build_pipeline(spec, 5, {"n_components": 7})
    assert pipeline.named_steps["randomdirections"].get_params()["n_components"] == 7
    assert pipeline.named_steps["randomdirections"].random_state == 5
    assert spec.steps[1].params == {"n_components": 3}


@pytest.mark.parametrize("n_rows", [1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 3])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_blocks_give_what_one_pass_gives(n_rows, kind):
    X = kind(np.random.default_rng(0).normal(size=(n_rows, 3)))
    scaler = StandardScaler(with_mean=False).fit(X)
    found, expected = transform(scaler, X), scaler.transform(X)
    if sparse.issparse(expected):
        found, expected = found.toarray(), expected.toarray()
    assert_array_equal(found, expected)
    assert transform(None, X) is X


def test_a_job_is_told_where_the_components_of_branches_and_grids_are():
    spec = plan_of(
        methods={"wide": {"steps": [union(WHOLES, PARTS)]}},
        classifiers={"CalibratedLeastSquares": {"grid": {"feature_map": [{"RandomFourierFeatures": {}}]}}},
    ).spec
    steps = {"FeatureUnion", "GEM", "SignedPowers", "SubclassGEM"}
    assert set(spec.components) == steps | {"CalibratedLeastSquares", "RandomFourierFeatures"}
