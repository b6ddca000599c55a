"""Pipelines from their specification, with pipelines side by side among their steps."""

from pathlib import Path

import pytest
from eigenbench.experiments.code_hash import unit_code_hash
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline, make_union

from eigenbench import GEM, SignedPowers, SubclassGEM
from eigenbench.experiments.pipelines import build, fit_features
from eigenbench.experiments.plan import make_plan
from eigenbench.experiments.suite import StepSpec, Suite, SuiteError
from eigenbench.experiments.suite_file import check_parameters
from eigenbench.registry import component

WHOLES = [{"GEM": {"top": 2}}, {"SignedPowers": {"powers": [0.5, 1.0]}}, {"GEM": {"top": 1}}]
PARTS = [{"SubclassGEM": {"top": 1, "n_subclasses": 2}}]


def union(*branches):
    listed = [[f"branch-{number}", steps] for number, steps in enumerate(branches)]
    return {"FeatureUnion": {"transformer_list": listed}}


def parsed(*steps):
    return tuple(StepSpec(component=name, params=params) for step in steps for name, params in step.items())


def suite(*steps):
    experiment = {
        "dataset": "digits",
        "methods": {"wide": {"steps": list(steps)}},
        "classifiers": ["CalibratedLeastSquares"],
    }
    return Suite.model_validate({"name": "s", "title": "t", "experiments": {"main": experiment}})


def test_branches_are_fitted_with_the_seed_and_stand_side_by_side():
    X, y = load_digits(return_X_y=True)
    features = fit_features(parsed(union(WHOLES, PARTS), {"SignedPowers": {}}), X, y, seed=3, moments=None)
    wholes = make_pipeline(GEM(top=2), SignedPowers(powers=[0.5, 1.0]), GEM(top=1))
    parts = SubclassGEM(top=1, n_subclasses=2, random_state=3)
    plain = make_pipeline(make_union(wholes, parts), SignedPowers()).fit(X, y)
    assert_array_equal(features.transform(X), plain.transform(X))


def test_a_list_that_holds_no_steps_stays_a_list():
    assert build(parsed({"SignedPowers": {"powers": [0.5, 2]}})[0], seed=None).powers == [0.5, 2]


def test_a_seed_matters_to_a_union_when_it_matters_to_a_branch():
    kind = component("FeatureUnion")
    assert not kind.is_seeded(union(WHOLES)["FeatureUnion"])
    assert kind.is_seeded(union(WHOLES, PARTS)["FeatureUnion"])


def test_a_wrong_name_in_a_branch_is_an_error():
    wrong = union(WHOLES, [{"SubclassGEM": {"n_subclass": 2}}])
    with pytest.raises(SuiteError, match=r"SubclassGEM has no parameter 'n_subclass'\. Did you mean"):
        check_parameters(suite(wrong), Path("s.yaml"))


def test_the_code_of_a_branch_is_part_of_the_hash(monkeypatch):

    seen = []
    monkeypatch.setattr(
        "eigenbench.experiments.code_hash.modules_hash", lambda names: seen.extend(names) or ""
    )
    plan = make_plan(suite(union(WHOLES, PARTS)), {"digits": True})
    (embed,) = (unit for unit in plan.units.values() if unit.stage == "embed")
    unit_code_hash(embed)
    assert {
        "eigenbench.embeddings.discriminants.gem",
        "eigenbench.embeddings.discriminants.subclass_gem",
    } <= set(seen)
