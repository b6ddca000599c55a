"""Automatic checks: each planted fault is found and can be silenced, a clean experiment has no finding."""

import dataclasses

import numpy as np
import pytest

from eigenbench.bench.records.record import Candidate, Confusion, Search
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.checks import check_results, control_error, scaled_scores
from eigenbench.reporting.replicates import RunGroup
from eigenbench.reporting.row_metrics import run_of

N_TEST = 360
CLASSIFIER = "LogisticRegression"
CLASSIFIERS = {CLASSIFIER: {}, "DummyClassifier": {"methods": ["identity"]}}


def spec(**changes):
    methods = {"gem": {}, "pca": {}, "identity": {}}
    given = {"dataset": "digits", "methods": methods, "classifiers": CLASSIFIERS, "seeds": [0, 1, 2, 3, 4]}
    return ExperimentSpec.model_validate(given | changes)


@pytest.fixture
def group(make_record, tmp_path):
    """Return the function that makes a group of five runs with predictions; ``wrong`` of rows by seed."""

    def make(method, wrong, *, classifier=CLASSIFIER, single=False, draw=0, **changes):
        records = []
        for seed, n_wrong in enumerate(wrong):
            truth = np.arange(N_TEST) % 10
            predicted = truth.copy()
            rows = np.random.default_rng([seed, draw]).permutation(N_TEST)[:n_wrong]
            predicted[rows] = (truth[rows] + 1) % 10
            if single:
                predicted[:] = 3
            matrix = np.zeros((10, 10), dtype=int)
            np.add.at(matrix, (truth, predicted), 1)
            errors = int(np.sum(truth != predicted))
            confusion = Confusion(labels=list("0123456789"), matrix=matrix.tolist())
            fields = {"metrics": {"test_error": errors / N_TEST}, "confusion": confusion, "search": None}
            record = make_record("digits", method, classifier, seed, **fields | changes)
            path = tmp_path / run_of(record).folder / "predictions.npz"
            path.parent.mkdir(parents=True)
            np.savez(path, truth=truth, predicted=predicted)
            records.append(record)
        return RunGroup(method, classifier, tuple(records), len(records), tmp_path)

    return make


def search(values, chosen):
    candidates = [Candidate(params={"gem__gamma": value}, status="ok", score=0.1) for value in values]
    return Search(metric="error", candidates=candidates, selected=values.index(chosen))


CLEAN = [20, 22, 19, 24, 21]


@pytest.fixture
def clean(group):
    return [
        group("gem", CLEAN, draw=1, search=search([0.1, 1.0, 10.0], 1.0)),
        group("pca", [30, 33, 28, 31, 35], draw=2),
        group("identity", [40, 44, 41, 39, 45], draw=3),
        group("identity", [0] * 5, classifier="DummyClassifier", single=True),
    ]


def codes(given, groups):
    return {(check.code, check.label.split(" + ")[0]) for check in check_results(given, groups)}


def test_a_clean_experiment_has_no_finding(clean):
    assert check_results(spec(), clean) == []


def test_permuted_labels_that_give_guesses_are_no_finding(group):
    edge = search([0.1, 1.0, 10.0], 10.0)
    guesses = group("gem", [324, 320, 327, 330, 322], search=edge)
    assert check_results(spec(permute_labels=True), [guesses]) == []


def test_a_guess_is_no_leak_where_the_most_frequent_class_is_rare_among_test_rows(group):
    rare = group("identity", [355] * 5, classifier="DummyClassifier", draw=3)
    guesses = group("gem", [324, 320, 327, 330, 322])
    records = tuple(record.model_copy(update={"confusion": None}) for record in guesses.records)
    assert check_results(spec(permute_labels=True), [RunGroup("gem", CLASSIFIER, records, 5), rare]) == []


def test_clusters_with_a_right_name_by_chance_are_no_leak(group):
    """All rows of a class are predicted alike: that the names of three of ten are right is chance."""
    records = []
    for record in group("gem", [324, 324]).records:
        matrix = 36 * np.roll(np.eye(10, dtype=int), 1, axis=1)
        matrix[[0, 1, 2]] = 36 * np.eye(10, dtype=int)[[0, 1, 2]]
        named = Confusion(labels=list("0123456789"), matrix=matrix.tolist())
        records.append(record.model_copy(update={"confusion": named, "metrics": {"test_error": 0.7}}))
    found = RunGroup("gem", CLASSIFIER, tuple(records), 2)
    assert check_results(spec(permute_labels=True), [found]) == []


@pytest.mark.parametrize(
    ("code", "wrong", "changes", "given"),
    [
        ("guessing", [323, 326, 324, 322, 325], {}, {}),
        ("leak", [20, 22, 19, 24, 21], {}, {"permute_labels": True}),
        ("one_class", CLEAN, {"single": True}, {"silence": {"guessing": "planted", "identical": "too"}}),
        ("identical", [30, 33, 28, 31, 35], {"draw": 2}, {}),
        ("outlying_seed", [20, 22, 150, 24, 21], {}, {}),
        ("slow_search", CLEAN, {"search": search([0.1, 1.0, 10.0], 1.0), "search_seconds": 1e5}, {}),
    ],
)
def test_a_planted_fault_is_found_and_can_be_silenced(clean, group, code, wrong, changes, given, tmp_path):
    rivals = [] if code == "leak" else clean[1:]
    (tmp_path / "quick" / "digits" / "gem").rename(tmp_path / "clean")
    planted = [group("gem", wrong, **{"draw": 1, **changes}), *rivals]
    found = codes(spec(**given), planted)
    assert {name for name, _ in found} == {code}
    silenced = {**given, "silence": {**given.get("silence", {}), code: "it is planted"}}
    assert codes(spec(**silenced), planted) == set()


def test_guessing_is_the_control_that_ran_or_the_best_constant_prediction(clean):
    assert control_error(spec(), clean) == pytest.approx(0.9)
    assert control_error(spec(), clean[:1]) == pytest.approx(0.9)
    records = tuple(record.model_copy(update={"confusion": None}) for record in clean[0].records)
    many_classes = dataclasses.replace(clean[0], records=records)
    assert control_error(spec(), [many_classes]) == pytest.approx(0.9)


def test_scores_lie_between_guessing_and_the_best(clean):
    scores = scaled_scores(spec(), clean)
    assert scores[f"gem + {CLASSIFIER}"] == 1
    assert scores["identity + DummyClassifier"] == 0
    expected = (0.9 - np.mean([30, 33, 28, 31, 35]) / N_TEST) / (0.9 - np.mean(CLEAN) / N_TEST)
    assert scores[f"pca + {CLASSIFIER}"] == pytest.approx(expected)
    lucky = dataclasses.replace(clean[0], method="lucky", records=clean[0].records[:1])
    assert scaled_scores(spec(), [*clean[1:], lucky]).keys().isdisjoint({lucky.label}), "it lacks seeds"


def test_with_a_bayes_rule_it_is_the_ceiling(clean, group):
    rule = {"params": {"centers": [[0.0]]}, "methods": ["identity"]}
    given = spec(classifiers=CLASSIFIERS | {"BayesRule": rule})
    groups = [*clean, group("identity", [27] * 5, classifier="BayesRule", draw=4)]
    scores = scaled_scores(given, groups)
    assert scores["identity + DummyClassifier"] == 0
    assert scores[f"pca + {CLASSIFIER}"] < scores["identity + BayesRule"] == 1 < scores[f"gem + {CLASSIFIER}"]
    assert check_results(given, groups) == []


def test_a_code_that_no_check_has_is_refused():
    with pytest.raises(ValueError, match="leek"):
        spec(silence={"leek": "no such code"})
