"""A comparison that ends before all folds are done compares methods on the same ones."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from generated_tables import regular_table
from mlflow import MlflowClient

from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.plain_yaml import read_yaml, write_yaml
from eigenbench.own_data.compared_methods import chosen_methods
from eigenbench.own_data.comparison_run import _answer, rank
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.fold_fits import fit_in_order
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.progress import FitsEnd, RunProgress, report_beside
from eigenbench.own_data.workspace import CURVE, EXPERIMENT, Workspace, add_curve, write_workspace
from eigenbench.reporting.__main__ import main as report

METHODS = chosen_methods("multiclass", False, ["lda", "random", "KNeighborsClassifier"])
N_FOLDS = 4


def workspace_of(folder, seed=0):
    regular_table(seed, n=240).drop(columns="site").to_csv(folder / "data.csv", index=False)
    problem = make_problem(read_user_file(folder / "data.csv", ["kind"]), n_folds=N_FOLDS)
    return write_workspace(folder / "out", problem, METHODS, metric="error", seed=0, time_limit=60.0)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A comparison of which all folds are done, the records of them, and the predictions."""
    workspace = workspace_of(tmp_path_factory.mktemp("all"))
    watch = RunProgress(workspace)
    fit_in_order(workspace, 1)
    return workspace, watch


def stopped(done, folder, keep):
    """Return a comparison that has only those runs of another that ``keep`` takes, and its answer."""
    source, watch = done
    workspace = workspace_of(folder)
    for run in watch.runs:
        if keep(run):
            target = workspace.results / run.folder
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source.results / run.folder)
    return workspace, _answer(workspace, RunProgress(workspace), FitsEnd.TIME)


def test_methods_are_compared_and_reported_on_the_folds_that_all_have_done(done, tmp_path, monkeypatch):
    whole = _answer(*done, FitsEnd.DONE)
    assert not whole.note
    assert set(whole.board["n_seeds"]) == {N_FOLDS}
    whole = whole.board.set_index(["method", "classifier"])
    workspace, outcome = stopped(done, tmp_path, lambda run: run.seed < 2 or run.method == "raw")
    assert outcome.note == "The time was over: the table stands on 2 of 4 folds, the same for all methods."
    board = outcome.board.set_index(["method", "classifier"])
    assert set(board["n_seeds"]) == {2}
    assert board["rank"].notna().all()
    assert set(board["compared_over"]) == {"re-drawn splits"}
    assert board["tied"].isna().all(), "two folds do not tell"
    for key, line in board.iterrows():
        records = [
            json.loads((workspace.results / run.record).read_bytes())
            for run in done[1].runs
            if (run.method, run.classifier) == key and run.seed < 2
        ]
        assert line["mean"] == pytest.approx(np.mean([one["metrics"]["test_error"] for one in records]))
        assert line["ci_high"] - line["ci_low"] > whole.loc[key, "ci_high"] - whole.loc[key, "ci_low"]
    assert "on 2 of 4 folds" in load_suite(workspace.suite).title
    monkeypatch.chdir(workspace.folder)
    assert report(["--suite", "suites/compare.yaml"]) == 0
    told = pd.read_csv("reports/leaderboard.csv")
    assert told["rank"].notna().all()
    assert told["mean"].to_numpy() == pytest.approx(outcome.board["mean"].to_numpy())


def test_one_fold_is_compared_row_by_row(done, tmp_path):
    workspace, outcome = stopped(done, tmp_path, lambda run: run.seed == 0 or run.method == "lda")
    assert "on 1 of 4 folds" in outcome.note
    board = outcome.board
    assert set(board["compared_over"].dropna()) == {"test rows, one run each"}
    assert board["rank"].notna().all()
    wrong = {}
    for line in board.itertuples():
        path = workspace.results / "compare" / "methods" / line.method / "seed-0" / line.classifier
        arrays = np.load(path / "predictions.npz")
        wrong[line.Index] = arrays["predicted"] != arrays["truth"]
    assert len(wrong[0]) == 60
    for line in board.iloc[1:].itertuples():
        assert line.difference == pytest.approx(wrong[line.Index].mean() - wrong[0].mean())
        assert line.tied == (line.p_value > 0.05) == (line.difference_low <= 0)


def test_where_no_fold_is_complete_those_that_are_done_are_compared_on_the_first(done, tmp_path):
    _, outcome = stopped(done, tmp_path, lambda run: run.seed == 0 and run.method != "lda")
    assert outcome.note == (
        "The time was over: the table stands on 1 of 4 folds, where 1 of 5 methods are not done."
    )
    board = outcome.board.set_index("method")
    assert pd.isna(board.loc["lda", "rank"])
    assert "without a record" in board.loc["lda", "without_result"]
    assert board.drop(index="lda")["rank"].notna().all()


def test_time_is_kept_to_report_and_to_fit_the_best_on_all_rows(done, tmp_path):
    workspace, watch = done
    to_report = RunProgress(workspace_of(tmp_path)).seconds_to_finish()
    fit = rank(workspace)["seconds"].iloc[0]
    assert watch.seconds_to_finish() - to_report == pytest.approx(fit * N_FOLDS / (N_FOLDS - 1))


def test_all_methods_do_a_fold_before_the_next_and_one_that_fails_is_left_out(tmp_path):
    workspace = workspace_of(tmp_path)
    suite = read_yaml(workspace.suite)
    suite["experiments"]["methods"]["classifiers"]["KNeighborsClassifier"]["params"] = {"n_neighbors": 0}
    workspace.suite.write_text(write_yaml(suite))
    fit_in_order(workspace, 1)
    records = [read_record(workspace.results / run.record) for run in RunProgress(workspace).runs]
    failed = [one for one in records if one.classifier == "KNeighborsClassifier"]
    assert [one.status for one in failed] == ["failed", *["not_run"] * (N_FOLDS - 1)]
    assert "failed on an earlier fold" in failed[1].failure.message
    fitted = sorted((one for one in records if one.status == "ok"), key=lambda one: one.started)
    assert [one.seed for one in fitted] == [seed for seed in range(N_FOLDS) for _ in range(4)]
    assert fitted[0].classifier == "Dummy"


def test_records_of_other_data_or_settings_and_damaged_ones_are_not_done(done, tmp_path):
    source, _ = done
    workspace = Workspace(shutil.copytree(source.folder, tmp_path / "out"))
    watch = RunProgress(workspace)
    assert watch.done() == set(watch.runs)
    damaged, other, *_ = watch.runs
    (workspace.results / damaged.record).write_text("{")
    path = workspace.results / other.record
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run_key": "other"}))
    assert watch.done() == {*watch.runs} - {damaged, other}
    workspace_of(tmp_path, seed=1)
    assert not watch.done()


@pytest.mark.parametrize("n_missing", [0, 1])
def test_import_stays_in_the_folder_and_keeps_the_headline(done, tmp_path, monkeypatch, n_missing):
    source, watch = done
    workspace = Workspace(shutil.copytree(source.folder, tmp_path / "out"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'elsewhere.db'}")
    suite = read_yaml(workspace.suite)
    suite["experiments"]["methods"]["headline"] = "test_balanced_error"
    workspace.suite.write_text(write_yaml(suite))
    for run in watch.runs[:n_missing]:
        (workspace.results / run.record).unlink()
    with report_beside(workspace):
        pass
    client = MlflowClient(f"sqlite:///{workspace.folder / 'mlflow.db'}")
    experiments = [one.experiment_id for one in client.search_experiments()]
    summaries = client.search_runs(experiments, filter_string="tags.metric != ''")
    assert {run.data.tags["metric"] for run in summaries} == {"test balanced error (%)"}
    assert not (tmp_path / "elsewhere.db").exists()


def test_curves_leave_the_runs_of_the_answer_as_they_are(done, tmp_path):
    source, watch = done
    workspace = Workspace(shutil.copytree(source.folder, tmp_path / "out"))
    (workspace.results / watch.runs[0].record).unlink()
    add_curve(workspace, {"lda": ("lda", "LogisticRegression")}, [50, 100])
    fit_in_order(workspace, 1)
    assert not (workspace.results / watch.runs[0].record).exists()
    assert len(RunProgress(workspace, CURVE).done()) == N_FOLDS
    limits = {name: one.time_limit for name, one in load_suite(workspace.suite).experiments.items()}
    assert limits.pop(EXPERIMENT) is None
    assert set(limits.values()) == {120.0}
