"""Experiments at several numbers of training rows or classes, from the suite to the records."""

import numpy as np
import pytest
from small_jobs import plan_of, suite_of

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.suite import Suite
from eigenbench.datasets import load_catalogue

CURVE = {"protocol": "learning_curve", "classifiers": {}}


def methods_by_experiment(**changes):
    plan = plan_suite(suite_of(**changes), load_catalogue())
    return {method.spec.experiment: method for method in plan.methods}


def test_each_size_is_an_experiment():
    found = methods_by_experiment(train_rows=[60, 1000], title="Digits")
    assert {name: method.spec.train_rows for name, method in found.items()} == {
        "main_60_rows": 60,
        "main_1000_rows": 1000,
    }
    assert found["main_60_rows"].seconds < found["main_1000_rows"].seconds
    titles = [spec.title for spec in suite_of(train_rows=[60, 1000], title="Digits").experiments.values()]
    assert titles == ["Digits: 60 rows", "Digits: 1,000 rows"]
    assert list(methods_by_experiment(classes=[2, 5])) == ["main_2_classes", "main_5_classes"]


def test_a_protocol_that_measures_all_sizes_has_one_run():
    as_key = plan_of(**CURVE, train_rows=[60, 1000])
    as_setting = plan_of(**CURVE, settings={"train_rows": [60, 1000]})
    assert [run.key for run in as_key.runs] == [run.key for run in as_setting.runs]


@pytest.mark.parametrize("protocol", [{}, CURVE])
@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"train_rows": [60, 5000]}, "train_rows: 5,000 are asked for; digits has 1,348 training rows"),
        ({"classes": [2, 11]}, "classes: 11 are asked for; digits has 10 classes"),
    ],
)
def test_more_than_there_is(protocol, sizes, words):
    of_classes = {"settings": {"rows_per_class": 5}} if protocol and "classes" in sizes else {}
    with pytest.raises(SuiteError, match=rf"s.yaml: experiments.main.{words}"):
        methods_by_experiment(**protocol, **sizes, **of_classes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train_rows": [60, 30]}, "sizes must ascend"),
        ({"train_rows": [60], "classes": [2]}, "either 'train_rows' or 'classes'"),
        ({"train_rows": [1]}, "greater than or equal to 2"),
    ],
)
def test_contradictory_sizes(changes, words):
    with pytest.raises(ValueError, match=words):
        suite_of(**changes)


def test_a_name_that_a_size_takes_is_refused():
    main = suite_of(train_rows=[60]).experiments["main_60_rows"].model_dump(include={"dataset", "methods"})
    plain = {**main, "classifiers": ["LogisticRegression"]}
    both = {"main": {**plain, "train_rows": [60]}, "main_60_rows": plain}
    with pytest.raises(ValueError, match="'main_60_rows' is a size of the experiment 'main', too"):
        Suite.model_validate({"name": "s", "title": "t", "experiments": both})


@pytest.mark.workflow
def test_a_run_uses_the_rows_or_classes_of_its_size(jobs):
    rows = methods_by_experiment(dataset="mnist", train_rows=[20, 100])
    found = {name: jobs.run(method)["CalibratedLeastSquares"] for name, method in rows.items()}
    assert [record.dataset_info.n_train for record in found.values()] == [20, 100]
    assert not any(record.deterministic for record in found.values())
    errors = [record.metrics["test_error"] for record in found.values()]
    assert errors[0] > errors[1]
    (few,) = methods_by_experiment(dataset="mnist", classes=[2]).values()
    record = jobs.run(few)["CalibratedLeastSquares"]
    assert record.dataset_info.n_classes == 2
    with np.load(jobs.folder(few, "CalibratedLeastSquares") / "predictions.npz") as stored:
        assert set(stored["truth"]) == {0, 1}
        assert len(stored["rows"]) == record.dataset_info.n_test < 120
