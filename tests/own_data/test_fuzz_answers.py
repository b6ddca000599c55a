"""Whatever a table holds, it ends in a leaderboard and a model, or in one sentence.

``EIGENBENCH_FUZZ_TABLES=200 pytest -v -n 2 --dist load -m slow tests/own_data/test_fuzz_answers.py`` takes so
many tables and says how far it is; ``1000-1200`` takes those of other seeds.
"""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))  # where the tests find these

from generated_tables import generated
from jobs_here import fit_all

from eigenbench.bench.jobs import train
from eigenbench.bench.records.record import read_record
from eigenbench.methods.model_file import load_model
from eigenbench.own_data.compared_methods import INPUTS, known_methods
from eigenbench.own_data.comparison_run import Options, choose, columns_of, rank
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.progress import RunProgress
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.terminal import comparison_table
from eigenbench.own_data.winner import save_winner
from eigenbench.own_data.workspace import dataset_name, write_workspace
from eigenbench.reporting.__main__ import main as report

pytestmark = pytest.mark.slow

FIRST, _, END = os.environ.get("EIGENBENCH_FUZZ_TABLES", "8").rpartition("-")


@pytest.mark.parametrize("seed", range(int(FIRST or 0), int(END)))
def test_a_table_becomes_a_leaderboard_or_one_sentence(tmp_path, monkeypatch, seed):
    answer = answer_of(tmp_path, seed)
    if isinstance(answer, OwnDataError):
        assert len(str(answer).splitlines()) == 1
        return
    table, problem, workspace = answer
    assert all(problem.describe())
    watch = RunProgress(workspace)
    # The best model is saved and loaded below; to save all as the jobs do takes longer than to fit them.
    monkeypatch.setattr(train, "save_model", pickle_model)
    fit_all(workspace, watch, dataset_name(problem.name))
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


def answer_of(folder, seed):
    """Return the table, the problem and the folder of a comparison of a few methods; or why there is none."""
    try:
        path, targets, group = generated(seed, folder)
        table = read_user_file(path, targets, group)
        problem = make_problem(table, n_folds=2)
        known = known_methods(problem.kind, problem.sparse)
        names = np.random.default_rng(seed).choice(known, 3, replace=False).tolist()
        methods, metric = choose(problem, Options(methods=names, search=seed % 5 == 1))
        workspace = write_workspace(folder / "out", problem, methods, metric=metric, seed=0, time_limit=60)
    except OwnDataError as error:
        return error
    return table, problem, workspace


def pickle_model(path, model):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(model))


def check_failures(workspace, watch):
    """A method that can't work on the data says so; it doesn't stumble."""
    for run in watch.runs:
        failure = read_record(workspace.results / run.record).failure
        assert failure is None or failure.type in ("ValueError", "LinAlgError"), failure


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
    else:
        assert set(np.unique(predicted)) <= set(np.unique(problem.target.labels))
