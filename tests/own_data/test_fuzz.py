"""Whatever a table holds, it becomes a folder that the workflow accepts, or one sentence."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find these

from generated_tables import generated, regular_table

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets import open_prepared, prepare
from eigenbench.datasets.catalogue import load_with_own
from eigenbench.methods.preprocessing.table_preprocessor import TablePreprocessor
from eigenbench.own_data.comparison_run import Options, choose
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.workspace import dataset_name, write_workspace


def prepared(folder, problem, seed=0):
    """Write the folder of a comparison; open its data as a job does, with the suite's plan."""
    methods, metric = choose(problem, Options())
    workspace = write_workspace(folder, problem, methods, metric=metric, seed=seed, time_limit=60)
    catalogue = load_with_own(workspace.suites)
    plan = plan_suite(load_suite(workspace.suite), catalogue)
    name = dataset_name(problem.name)
    prepare(name, data_dir=folder / "data", catalogue=catalogue, progress=False)
    return plan, lambda split: open_prepared(folder / "data" / "prepared" / name, split_seed=split)


@pytest.mark.parametrize("seed", range(20))
def test_a_table_becomes_a_folder_or_one_sentence(tmp_path, seed):
    n_folds = 2 + seed % 5
    outcome = _outcome(tmp_path, seed, n_folds)
    if isinstance(outcome, str):
        assert len(outcome.splitlines()) == 1, outcome
    else:
        _check_folds(*outcome, n_folds)


def _outcome(folder, seed, n_folds):
    """Return the problem with its plan and data, or the sentence that says why there is none."""
    try:
        path, targets, _ = generated(seed, folder)
        problem = make_problem(read_user_file(path, targets), n_folds=n_folds)
        return problem, *prepared(folder / "out", problem)
    except OwnDataError as error:
        return str(error)


def _check_folds(problem, plan, dataset, n_folds):
    assert all(problem.describe())
    tested = 0
    for seed in range(n_folds):
        opened = dataset(seed)
        assert opened.X_train.shape[1] == problem.n_features
        categorical = problem.encoder.categorical if problem.encoder else []
        rows = TablePreprocessor(categorical=categorical).fit(opened.X_train)
        for block in (opened.X_train, opened.X_test):
            found = rows.transform(block)
            assert np.isfinite(found.data if problem.sparse else found).all()
        if problem.target.kind != "multilabel":
            assert len(np.unique(opened.y_train)) > 1
        tested += opened.X_test.shape[0]
    assert tested == problem.matrix.shape[0]
    assert len({run.seed for run in plan.runs}) == n_folds


@pytest.mark.parametrize(("n_rows", "n_folds"), [(60, 5), (20_004, 3)])
def test_large_tables_have_fewer_folds(tmp_path, n_rows, n_folds):
    regular_table(0, n=n_rows)[["a", "kind"]].to_parquet(tmp_path / "data.parquet")
    problem = make_problem(read_user_file(tmp_path / "data.parquet", ["kind"]))
    assert problem.n_folds == n_folds
    assert any(f"{n_folds} folds" in line for line in problem.describe())


@pytest.mark.parametrize("classes", [3, 30])
def test_groups_stay_in_one_fold(tmp_path, classes):
    frame = regular_table(0, classes=classes)
    frame.to_parquet(tmp_path / "data.parquet")
    problem = make_problem(read_user_file(tmp_path / "data.parquet", ["kind"], "site"), n_folds=4)
    _, dataset = prepared(tmp_path / "out", problem)
    sites = dict(zip(problem.matrix[:, 1], frame["site"], strict=True))
    for seed in range(4):
        opened = dataset(seed)
        train, test = ({sites[value] for value in block[:, 1]} for block in (opened.X_train, opened.X_test))
        assert test
        assert not train & test


def test_rows_of_a_test_file_are_the_test_rows(tmp_path):
    frame = regular_table(1)
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    frame[:40].to_csv(train, index=False)
    frame[40:].assign(extra=1).to_csv(test, index=False)
    problem = make_problem(read_user_file(train, ["kind"]), read_user_file(test, ["kind"]))
    plan, dataset = prepared(tmp_path / "out", problem)
    opened = dataset(0)
    assert (opened.X_train.shape, opened.X_test.shape) == ((40, 5), (20, 5))
    assert [opened.classes[code] for code in opened.y_test] == frame["kind"][40:].tolist()
    assert {run.seed for run in plan.runs} == {0}


def test_the_same_table_writes_the_same_bytes_and_another_seed_other_folds(tmp_path):
    regular_table(2).to_csv(tmp_path / "data.csv", index=False)
    problem = make_problem(read_user_file(tmp_path / "data.csv", ["kind"]))
    plans = [prepared(tmp_path / name, problem, seed)[0] for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    files = [sorted((tmp_path / name / "suites").iterdir()) for name in ("a", "b")]
    assert [file.read_bytes() for file in files[0]] == [file.read_bytes() for file in files[1]]
    seeds = [{run.seed for run in plan.runs} for plan in plans]
    assert seeds == [set(range(5)), set(range(5)), set(range(5, 10))]


def test_a_folder_with_other_content_is_not_touched(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    regular_table(3).to_csv(tmp_path / "data.csv", index=False)
    problem = make_problem(read_user_file(tmp_path / "data.csv", ["kind"]))
    with pytest.raises(OwnDataError, match="not empty"):
        prepared(tmp_path, problem)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(methods=["gme"]), "Did you mean 'gem'"),
        (Options(exclude=["raw"]), "it stays"),
        (Options(metric="eror"), "Did you mean 'error'"),
        (Options(time_limit=0), "above 0"),
        (Options(jobs=0), "not a number of cores"),
    ],
)
def test_what_is_wrong_with_an_option_is_one_sentence(tmp_path, options, told):
    regular_table(4).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(OwnDataError, match=told):
        choose(make_problem(read_user_file(tmp_path / "data.csv", ["kind"])), options)
