"""A method that joins the reference: the suite that runs it, its place, and what is refused."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from merge_reference import write_digests

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.plan import load_plan, plan_suite
from eigenbench.bench.records.record import DatasetInfo, Failure, Record
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.comparison.rank_intervals import rank_intervals
from eigenbench.datasets import load_catalogue, prepare
from eigenbench.own_data.reference_ranking import (
    ReferencePart,
    check_data,
    joined_result,
    rank_joined,
    read_method,
    read_reference,
    write_suite,
)
from eigenbench.own_data.table import OwnDataError

DATASETS = ["sonar", "ionosphere", "vowel", "wdbc", "vehicle", "segment"]
DIGITS = {"dataset": "digits", "methods": {"raw": {}}, "classifiers": ["LogisticRegression"]}
RIVALS = ["raw", "pca", "gem"]
METHOD = """
from sklearn.preprocessing import StandardScaler

import beside


class Mine(StandardScaler):
    pass


class Guess:
    pass
"""


def reference_of(whole, methods):
    """The committed reference as if the suite had only some methods."""
    suite = whole.plan.suite
    experiments = {}
    for name, spec in suite.experiments.items():
        some = {
            "methods": {method: spec.methods[method] for method in methods},
            "classifiers": {"LogisticRegression": spec.classifiers["LogisticRegression"]},
        }
        experiments[name] = spec.model_copy(update=some)
    plan = plan_suite(suite.model_copy(update={"experiments": experiments}), catalogue_of(suite))
    keys = {run.key for run in plan.runs}
    return replace(whole, plan=plan, records=[one for one in whole.records if one.run_key in keys])


@pytest.fixture(scope="module")
def six_tables():
    return read_reference(DATASETS)


@pytest.fixture(scope="module")
def everyone(six_tables):
    return reference_of(six_tables, [*RIVALS, "fourier"])


@pytest.fixture(scope="module")
def reference(six_tables):
    return reference_of(six_tables, RIVALS)


@pytest.fixture
def joined(reference, everyone, tmp_path):
    """The plan of the suite that runs `fourier` alone, and its records, with the metrics of the reference."""
    method = read_method("fourier", {"fourier"})
    plan = load_plan(write_suite(method, reference.plan.suite, tmp_path, None))
    known = {(one.dataset, one.seed): one for one in everyone.records if one.method == "fourier"}
    info = {"n_features": 1, "n_classes": 2, "split": "", "source": "", "licence": ""}
    records = []
    for run in plan.runs:
        digest, n_train, n_test = reference.data[run.dataset]
        there = known[run.dataset, run.seed].model_dump(
            include={"status", "metrics", "fit_seconds", "train_seconds"}
        )
        data = DatasetInfo(name=run.dataset, sha256=digest, n_train=n_train, n_test=n_test, **info)
        records.append(Record(**run.identity, deterministic=False, dataset_info=data, **there))
    return plan, records


def test_the_place_is_that_of_a_run_with_everyone(reference, everyone, joined):
    plan, records = joined
    expected, found = rank_joined(everyone, []), rank_joined(reference, records)
    names = {"fourier_joined + LogisticRegression": "fourier + LogisticRegression"}
    pd.testing.assert_frame_equal(found.ranks.rename(index=names), expected.ranks)
    pd.testing.assert_frame_equal(found.pairs.rename(index=names), expected.pairs)
    place = rank_intervals(expected.errors).loc["fourier + LogisticRegression"]
    result = joined_result(reference, plan, records)
    names = ["place", "place_low", "place_high"]
    assert [result[name] for name in names] == place[names].tolist()
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert sorted(one["competitor"].split()[0] for one in result["nearest"]) == sorted(RIVALS)
    for rival in result["nearest"]:
        key = ("fourier + LogisticRegression", rival["competitor"])
        turned = key not in expected.pairs.index
        pair = expected.pairs.loc[key[::-1] if turned else key]
        counts = pair[["wins", "ties", "losses"]].tolist()
        assert [rival[name] for name in ("wins", "ties", "losses")] == (counts[::-1] if turned else counts)
        assert rival["p_value"] == pair["p_value"]
        assert rival["ratio"] == pytest.approx(1 / pair["ratio"] if turned else pair["ratio"])


def test_a_failed_run_is_the_worst_of_its_dataset_and_one_without_a_record_is_refused(reference, joined):
    plan, records = joined
    why = Failure(stage="train", type="ValueError", message="too few rows")
    failed = records[0].model_copy(update={"status": "failed", "failure": why, "metrics": {}})
    result = joined_result(reference, plan, [failed, *records[1:]])
    assert result["n_failed"] == 1
    assert result["datasets"][0]["errors"][str(failed.seed)] is None
    assert "too few rows" in result["datasets"][0]["failures"][0]
    ranks = rank_joined(reference, [failed, *records[1:]])
    assert ranks.errors.loc[failed.dataset].idxmax() == result["competitor"]
    with pytest.raises(OwnDataError, match="1 of 30 runs have no record"):
        joined_result(reference, plan, records[1:])


def test_the_committed_reference_can_be_joined():
    reference = read_reference()
    assert len(reference.plan.suite.experiments) == 26
    assert [one.run_key for one in reference.records] == [run.key for run in reference.plan.runs]
    assert set(reference.data) >= {one.dataset for one in reference.plan.suite.experiments.values()}


def test_digests_of_a_reference_are_those_of_the_prepared_data_and_others_are_refused(tmp_path):
    suite = Suite.model_validate({"name": "s", "title": "s", "experiments": {"digits": DIGITS}})
    plan = plan_suite(suite, load_catalogue())
    card = prepare("digits", data_dir=tmp_path, progress=False).model_dump(mode="json")
    write_json(tmp_path / "prepared" / "digits.json", {"card": card})
    (tmp_path / "datasets.csv").write_text("name,sha256,n_train,n_test\ndigits,0,1,2\nother,f,2,3\n")
    write_digests(plan, tmp_path, tmp_path)
    table = pd.read_csv(tmp_path / "datasets.csv", index_col="name")
    assert tuple(table.loc["other"]) == ("f", 2, 3)
    assert tuple(table.loc["digits", ["n_train", "n_test"]]) == (card["n_train"], card["n_test"])
    check_data(ReferencePart(plan, [], {"digits": tuple(table.loc["digits"])}), tmp_path)
    told = r"digits: .* [0-9a-f]{64} \(.* rows\) here, 0{64} \(7 \+ 8 rows\) there"
    with pytest.raises(OwnDataError, match=told):
        check_data(ReferencePart(plan, [], {"digits": ("0" * 64, 7, 8)}), tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"datasets": ["sonar", "vowel"]}, "2 datasets are too few"),
        ({"datasets": [*DATASETS, "sonnar"]}, "Did you mean 'sonar'"),
        ({"datasets": DATASETS, "n_splits": 6}, "--splits 6: the reference has 1 to 5"),
    ],
)
def test_a_choice_that_cannot_be_ranked_is_refused(options, message):
    with pytest.raises(OwnDataError, match=message):
        read_reference(**options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all tests: Python imports a module of one name once."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine_to_join.py").write_text(METHOD)
    (folder / "beside.py").write_text("")
    (folder / "pipe.yaml").write_text(
        "steps: [{'mine_to_join:Mine': {with_mean: false}}]\ngrid: {mine__with_std: [true, false]}"
    )
    (folder / "list.yaml").write_text("[PCA]")
    return folder


@pytest.fixture
def own(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("text", "name", "steps", "classifier"),
    [
        ("mine_to_join.py:Mine", "Mine", ["StandardScaler", "mine_to_join:Mine", "StandardScaler"], None),
        ("pipe.yaml", "pipe", ["mine_to_join:Mine"], None),
        ("PCA", "PCA", ["StandardScaler", "PCA", "StandardScaler"], None),
        ("raw", "raw_joined", ["StandardScaler"], None),
        ("GaussianNB", "GaussianNB", ["StandardScaler"], "GaussianNB"),
    ],
)
def test_the_suite_runs_the_method_alone_as_the_reference_ran_its_own(
    own, reference, text, name, steps, classifier
):
    method = read_method(text, set(RIVALS))
    path = write_suite(method, reference.plan.suite, own / "joined" / name, 7.0)
    assert method.name == name
    plan = load_plan(path)
    assert len(plan.runs) == 30
    for found in plan.methods:
        expected = reference.plan.of(found.spec.experiment)[0].spec
        assert [step.component for step in found.spec.steps] == steps
        assert found.spec.time_limit == 7
        assert found.spec.validation == expected.validation
        if classifier is None:
            assert found.spec.classifiers == expected.classifiers
        else:
            assert list(found.spec.classifiers) == [classifier]
    if "mine" in str(steps):
        assert {file.name for file in path.parent.glob("*.py")} == {"mine_to_join.py", "beside.py"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("absent.py:Mine", r"absent\.py: there is no such file"),
        ("mine_to_join.py", "name the class, too"),
        ("mine_to_join.py:Min", "Did you mean 'Mine'"),
        ("mine_to_join.py:Guess", "is no scikit-learn estimator"),
        ("list.yaml", "write 'steps' and"),
        ("PCAA", "unknown component 'PCAA'.* Did you mean 'PCA'"),
    ],
)
def test_a_method_that_cannot_be_found_is_refused(own, text, message):
    with pytest.raises(OwnDataError, match=message):
        read_method(text, ())
