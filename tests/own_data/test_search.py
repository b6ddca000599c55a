"""Settings of methods chosen on held-out training rows of the user's own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from generated_tables import regular_table

from eigenbench.bench.components import Component
from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.methods.model_file import load_model
from eigenbench.own_data.compared_methods import DUMMY, HELD_OUT, PREDICTORS, chosen_methods
from eigenbench.own_data.comparison_run import Options, choose, rank
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.fold_fits import fit_in_order
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.progress import RunProgress
from eigenbench.own_data.table import OwnDataError, UserTable
from eigenbench.own_data.winner import save_winner, settings
from eigenbench.own_data.workspace import write_workspace

COMPARISON = Path(__file__).resolve().parents[2] / "config" / "suites" / "comparison.yaml"


def test_a_search_holds_out_as_much_and_for_the_same_classifiers_as_the_suite_comparison():
    experiments = yaml.safe_load(COMPARISON.read_text())["experiments"]
    table = experiments["vowel"]
    assert table["validation"]["fraction"] == HELD_OUT
    dense = {name for name, one in PREDICTORS["multiclass"].items() if one.rows != "sparse"}
    assert set(table["classifiers"]) - {"DummyClassifier"} == dense - {DUMMY}


def test_a_search_tries_the_whole_grid_and_else_one_setting():
    searched, plain = (
        chosen_methods("multiclass", False, ["gem", "SVC"], search=search) for search in (True, False)
    )
    assert searched.methods["gem"]["grid"] == load_recipes()["gem"].grid
    assert (searched.settings, plain.settings) == (24, 1)
    assert chosen_methods("multilabel", False, ["raw"], search=True).settings > 1, "also without rivals"
    assert "n_components" not in searched.methods["gem"]["steps"][1]["GEM"]
    assert "grid" not in plain.methods["gem"]
    assert plain.methods["gem"]["steps"][1]["GEM"] == {"n_components": 100, "gamma": 0.5}
    nystroem = chosen_methods("multiclass", False, ["nystroem"]).methods["nystroem"]
    assert nystroem["steps"][1]["Nystroem"]["gamma"] is None


def test_svc_is_left_out_of_large_tables_unless_it_is_asked_for():
    large = chosen_methods("multiclass", False, n_rows=30_000)
    assert "SVC" not in large.classifiers
    assert "30,000 rows" in large.note
    assert "SVC" in chosen_methods("multiclass", False, n_rows=20_000, n_features=5).classifiers
    assert "SVC" not in chosen_methods("multiclass", False, n_rows=10_000, n_features=50).classifiers
    assert not chosen_methods("multiclass", False, ["pca"], n_rows=30_000).note
    asked = chosen_methods("multiclass", False, ["SVC"], n_rows=30_000)
    assert "SVC" in asked.classifiers
    assert not asked.note


@pytest.mark.parametrize(("n_features", "more"), [(700, {"learning_rate": 0.2, "max_iter": 50}), (50, {})])
def test_gradient_boosting_takes_fewer_steps_on_large_tables(n_features, more):
    found = chosen_methods("multiclass", False, n_rows=10_000, n_features=n_features, n_classes=10)
    assert found.classifiers["HistGradientBoostingClassifier"]["params"] == {"max_bins": 63} | more


def test_discriminants_of_few_rows_solve_no_problem_of_all_columns():
    few, searched, narrow = (
        chosen_methods("multiclass", False, ["lda"], n_rows=80, n_features=d, search=search)
        for d, search in [(5000, False), (5000, True), (50, False)]
    )
    assert {"LinearDiscriminantAnalysis": {"solver": "svd"}} in few.methods["lda"]["steps"]
    assert searched.methods["lda"]["grid"] == {}
    assert "eigen" in str(narrow.methods["lda"])


def test_components_of_installed_packages_are_methods(monkeypatch):
    offered = {
        "Mine": Component("Mine", "sklearn.decomposition", attribute="FastICA", own=True),
        "Theirs": Component("Theirs", "sklearn.naive_bayes", attribute="GaussianNB", own=True),
    }
    monkeypatch.setattr("eigenbench.own_data.compared_methods.offered_components", lambda: offered)
    methods = chosen_methods("multiclass", False, ["Mine", "Theirs"])
    assert methods.methods["Mine"] == {"steps": [{"Mine": {}}, {"StandardScaler": {}}]}
    assert methods.classifiers["Theirs"] == {"methods": ["raw"], "params": {}}
    assert (
        chosen_methods("multiclass", False, ["Theirs"], balanced=True).classifiers["Theirs"]["params"] == {}
    )


@pytest.mark.parametrize(
    ("y", "groups", "n_folds", "reason"),
    [
        (np.arange(20) % 2, np.arange(20) // 10, 2, "of one group"),
        (np.repeat([0, 1, 0], [8, 4, 8]), np.repeat([0, 1, 2], [8, 4, 8]), 3, "of one class"),
        (np.repeat([0, 1, 2], 2), None, 2, "no class has two training rows"),
    ],
)
def test_a_search_that_can_hold_no_rows_out_is_refused_before_work(y, groups, n_folds, reason):
    features = pd.DataFrame({"x": np.arange(len(y), dtype=float)})
    table = UserTable(
        "t.csv", features, pd.DataFrame({"y": y}), None if groups is None else pd.Series(groups)
    )
    problem = make_problem(table, n_folds=n_folds)
    choose(problem, Options())
    with pytest.raises(OwnDataError, match=f"{reason}.*; leave --search .*out$"):
        choose(problem, Options(search=True))


def test_sparse_rows_go_to_those_that_take_them():
    methods = chosen_methods("multiclass", True, n_features=50, balanced=True)
    assert "HistGradientBoostingClassifier" not in methods.classifiers
    assert methods.classifiers["RandomForestClassifier"]["params"] == {"class_weight": "balanced"}
    assert methods.methods["svd"]["steps"][0] == {"TruncatedSVD": {"n_components": 49}}
    assert methods.methods["nystroem"]["steps"] == [
        {"Normalizer": {}},
        {"Nystroem": {"n_components": 300, "gamma": 1.0}},
    ]
    assert {"LinearSVC", "RidgeClassifier"} <= set(methods.classifiers)
    assert not {"LinearSVC", "RidgeClassifier"} & set(chosen_methods("multiclass", False).classifiers)


def test_the_winner_has_the_settings_that_are_best_over_all_folds(tmp_path):
    regular_table(0, n=120).to_parquet(tmp_path / "data.parquet")
    problem = make_problem(read_user_file(tmp_path / "data.parquet", ["kind"], "site"), n_folds=2)
    methods, metric = choose(problem, Options(["lda"], search=True))
    workspace = write_workspace(tmp_path / "out", problem, methods, metric=metric, seed=0, time_limit=60)
    watch = RunProgress(workspace)
    fit_in_order(workspace, 1)
    assert rank(workspace)["rank"].notna().all()
    (lda,) = (method for method in watch.plan.methods if method.spec.method == "lda")
    searches = [read_record(workspace.results / run.record).search for run in lda.runs]
    for search in searches:
        assert len(search.candidates) == 16
        assert search.selected == int(np.argmin([one.score for one in search.candidates]))
    candidates = [search.candidates for search in searches]
    means = np.mean([[one.score for one in fold] for fold in candidates], axis=0)
    chosen = settings(workspace, lda, "LogisticRegression")
    assert chosen == candidates[0][int(np.argmin(means))].params
    save_winner(workspace, problem, "lda", "LogisticRegression")
    model = load_model(workspace.model)
    assert chosen["classifier__C"] == model[-1][-1].C
