"""Numbers as targets, through splits, scores, intervals, leaderboard, report and saved model."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from eigenbench.methods.model_file import load_model
from eigenbench.own_data.comparison_run import Options, choose, rank
from eigenbench.own_data.fold_fits import fit_in_order
from eigenbench.own_data.problem import make_problem, split_by_time
from eigenbench.own_data.progress import RunProgress
from eigenbench.own_data.table import OwnDataError, table_of
from eigenbench.own_data.terminal import answer
from eigenbench.own_data.winner import advised, save_winner
from eigenbench.own_data.workspace import write_workspace
from eigenbench.reporting.__main__ import main as report

METHODS = ["pca", "contracted_gem", "HistGradientBoostingRegressor"]


def friedman():
    X, y = make_friedman1(300, 6, noise=1.0, random_state=0)
    days = pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d")
    return pd.DataFrame(X).assign(day=days), pd.Series(y)


def square():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return pd.DataFrame(X).assign(shop=rng.choice(["a", "b"], 300)), pd.Series(X[:, 0] ** 2 - X[:, 1])


def compared(folder, problem, methods=METHODS, **options):
    """Compare methods on a problem; return the folder and the leaderboard."""
    chosen, metric = choose(problem, Options(methods, **options))
    workspace = write_workspace(folder / "out", problem, chosen, metric=metric, seed=0, time_limit=60)
    fit_in_order(workspace, 1)
    return workspace, rank(workspace)


@pytest.mark.parametrize(("table", "best"), [(friedman, None), (square, "contracted_gem")])
def test_a_table_with_a_number_to_predict_gets_an_answer(tmp_path, monkeypatch, table, best):
    X, y = table()
    problem = make_problem(table_of("X", X, y), n_folds=3)
    assert problem.kind == "regression"
    workspace, board = compared(tmp_path, problem)
    assert set(board["metric"]) == {"test_rmse"}
    assert board.iloc[-1]["classifier"] == "Dummy"
    assert set(board["compared_over"]) == {"re-drawn splits"}
    assert (board["ci_low"] < board["mean"]).all()
    assert (board["mean"] < board["ci_high"]).all()
    assert board["r2"].is_monotonic_decreasing
    assert best in (None, board.iloc[0]["method"])
    assert answer(board)[-1].startswith("Take ")
    for run in RunProgress(workspace).runs:
        metrics = json.loads((workspace.results / run.record).read_bytes())["metrics"]
        arrays = np.load(workspace.results / run.folder / "predictions.npz")
        truth, found = arrays["target"], arrays["estimate"]
        np.testing.assert_allclose(truth, y[arrays["rows"]])
        assert metrics["test_rmse"] == pytest.approx(root_mean_squared_error(truth, found))
        assert metrics["test_mae"] == pytest.approx(mean_absolute_error(truth, found))
        assert metrics["test_r2"] == pytest.approx(r2_score(truth, found))
    line, _ = advised(board)
    save_winner(workspace, problem, line["method"], line["classifier"])
    model = load_model(workspace.model)
    assert model.fitted_on_ == f"all {len(y)} rows of X"
    assert root_mean_squared_error(y, model.predict(X)) < line["ci_high"]
    monkeypatch.chdir(workspace.folder)
    assert report(["--suite", "suites/compare.yaml"]) == 0
    told = pd.read_csv("reports/leaderboard.csv")
    assert told["mean"].to_numpy() == pytest.approx(board["mean"].to_numpy())


@pytest.mark.parametrize("metric", ["mae", "r2"])
def test_other_metrics_and_a_split_by_time(tmp_path, metric):
    X, y = friedman()
    problem = make_problem(*split_by_time(table_of("X", X, y), "day"))
    assert (problem.n_train, len(problem.matrix)) == (240, 300)
    _, board = compared(tmp_path, problem, ["pca"], metric=metric)
    assert board["classifier"].tolist()[-1] == "Dummy"
    assert set(board["compared_over"]) == {"test rows, one run each"}
    with pytest.raises(OwnDataError, match="no metric 'error'"):
        choose(problem, Options(metric="error"))
