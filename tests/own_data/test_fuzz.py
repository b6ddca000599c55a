"""Whatever a table holds, it ends in a leaderboard and a model, or in one sentence.

``EIGENBENCH_FUZZ_TABLES=200 pytest -v -n 2 --dist load -m slow tests/own_data/test_fuzz.py`` takes so many
tables to the end and says how far it is; ``1000-1200`` takes those of other seeds.
"""

import os
import pickle

import numpy as np
import pytest
from generated_tables import generated, regular_table
from rich.console import Console

from eigenbench.bench.jobs import train
from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets import open_prepared, prepare
from eigenbench.datasets.catalogue import load_with_own
from eigenbench.methods.model_file import load_model
from eigenbench.methods.preprocessing.table_preprocessor import TablePreprocessor
from eigenbench.own_data.compared_methods import INPUTS, known_methods
from eigenbench.own_data.comparison_run import Options, choose, columns_of, rank
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.fold_fits import fit_in_order
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.progress import RunProgress
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.terminal import comparison_table
from eigenbench.own_data.winner import save_winner
from eigenbench.own_data.workspace import dataset_name, write_workspace
from eigenbench.reporting.__main__ import main as report


def prepared(folder, problem, seed=0):
    """Write the folder of a comparison; open its data as a job does, with the suite's plan."""
    methods, metric = choose(problem, Options())
    workspace = write_workspace(folder, problem, methods, metric=metric, seed=seed, time_limit=60)
    catalogue = load_with_own(workspace.suites)
    plan = plan_suite(load_suite(workspace.suite), catalogue)
    name = dataset_name(problem.name)
    prepare(name, data_dir=folder / "data", catalogue=catalogue, progress=False)
    return plan, lambda split: open_prepared(folder / "data" / "prepared" / name, split_seed=split)


def one_sentence(error):
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_table_becomes_a_folder_or_one_sentence(tmp_path, seed):
    n_folds = 2 + seed % 5
    path, targets, _ = generated(seed, tmp_path)
    try:
        problem = make_problem(read_user_file(path, targets), n_folds=n_folds)
        plan, dataset = prepared(tmp_path / "out", problem)
    except OwnDataError as error:
        one_sentence(error)
        return
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


def test_five_folds_are_the_default(tmp_path):
    regular_table(0, n=60)[["a", "kind"]].to_parquet(tmp_path / "data.parquet")
    problem = make_problem(read_user_file(tmp_path / "data.parquet", ["kind"]))
    assert problem.n_folds == 5
    assert any("5 folds" in line for line in problem.describe())


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


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (Options(methods=["gme"]), "Did you mean 'gem'"),
        (Options(exclude=["raw"]), "it stays"),
        (Options(metric="eror"), "Did you mean 'error'"),
        (Options(time_limit=20), "above 20"),
        (Options(time_limit=40, curve=True), "above 40"),
        (Options(jobs=0), "not a number of cores"),
    ],
)
def test_what_is_wrong_with_an_option_is_one_sentence(tmp_path, options, told):
    regular_table(4).to_csv(tmp_path / "data.csv", index=False)
    with pytest.raises(OwnDataError, match=told):
        choose(make_problem(read_user_file(tmp_path / "data.csv", ["kind"])), options)


FIRST, _, END = os.environ.get("EIGENBENCH_FUZZ_TABLES", "8").rpartition("-")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(FIRST or 0), int(END)))
def test_a_table_becomes_a_leaderboard_or_one_sentence(tmp_path, monkeypatch, seed):
    path, targets, group = generated(seed, tmp_path)
    try:
        table = read_user_file(path, targets, group)
        problem = make_problem(table, n_folds=2)
        known = known_methods(problem.kind, problem.sparse)
        names = np.random.default_rng(seed).choice(known, 3, replace=False).tolist()
        methods, metric = choose(problem, Options(methods=names, search=seed % 5 == 1))
        workspace = write_workspace(tmp_path / "out", problem, methods, metric=metric, seed=0, time_limit=60)
    except OwnDataError as error:
        one_sentence(error)
        return
    assert all(problem.describe())
    watch = RunProgress(workspace)
    # The best model is saved and loaded below; to save all as the jobs do takes longer than to fit them.
    monkeypatch.setattr(train, "save_model", pickle_model)
    fit_in_order(workspace, 1)
    assert len(watch.done()) == len(watch.runs)
    check_failures(workspace, watch)
    board = rank(workspace)
    check_board(board)
    if seed % 10 == 0:
        monkeypatch.chdir(workspace.folder)
        assert report(["--suite", "suites/compare.yaml"]) == 0
    best = board[board["rank"].notna()].iloc[0]
    save_winner(workspace, problem, best["method"], best["classifier"])
    check_model(load_model(workspace.model), table, problem)


def pickle_model(path, model):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(model))


def check_failures(workspace, watch):
    """A method that can't work on the data says so; it doesn't stumble."""
    for run in watch.runs:
        failure = read_record(workspace.results / run.record).failure
        assert failure is None or failure.type in ("ValueError", "LinAlgError", "LeftOut"), failure


def check_board(board):
    """Every line has a result or says why not, in words that need no log."""
    columns_of(board).to_csv(os.devnull)
    console = Console(width=200)
    with console.capture() as printed:
        console.print(comparison_table(board, 200))
    assert "Traceback" not in printed.get()
    raw = board[
        (board["method"] == INPUTS) & board["classifier"].isin(["LogisticRegression", "OneVsRestLogistic"])
    ]
    assert raw["rank"].notna().all(), raw["without_result"].iloc[0]
    assert board.loc[board["rank"].isna(), "without_result"].str.len().gt(0).all()


def check_model(model, table, problem):
    """The saved model takes the user's own table and answers in the user's labels."""
    predicted = model.predict(table.features)
    assert predicted.shape[0] == len(table)
    if problem.kind == "multilabel":
        assert predicted.shape[1] == problem.n_classes
    elif problem.kind == "multiclass":
        assert set(np.unique(predicted)) <= set(np.unique(problem.target.labels))
    else:
        assert np.isfinite(predicted).all()
