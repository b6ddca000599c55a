"""Input that would be misread or ignored is refused in one sentence."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from generated_tables import regular_table
from scipy.sparse import csr_array
from typer.testing import CliRunner

from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.cli import app
from eigenbench.own_data.compared_methods import chosen_methods
from eigenbench.own_data.comparison_run import Options, run_comparison
from eigenbench.own_data.files import read_table, read_user_file
from eigenbench.own_data.problem import make_problem, split_by_time
from eigenbench.own_data.progress import RunProgress
from eigenbench.own_data.table import OwnDataError, table_of
from eigenbench.own_data.table_encoder import TableEncoder
from eigenbench.own_data.workspace import (
    CURVE,
    add_curve,
    checked_workspace,
    copy_suite,
    locked_workspace,
    write_workspace,
)

X, Y = np.random.default_rng(0).normal(size=(20, 4)), [0, 1] * 10


def test_arrays_of_another_width_are_refused():
    with pytest.raises(OwnDataError, match="X_test: there are 9 columns, not 4"):
        make_problem(table_of("X", X, Y), table_of("X_test", np.zeros((6, 9)), [0, 1] * 3))
    with pytest.raises(ValueError, match="9 columns, not 4"):
        TableEncoder().fit(X).transform(np.zeros((6, 9)))


def test_folds_beside_test_rows_and_the_exclusion_of_all_are_refused():
    with pytest.raises(OwnDataError, match="--cv makes folds, and --test needs none"):
        make_problem(table_of("X", X, Y), table_of("X_test", X, Y), 3)
    with pytest.raises(OwnDataError, match="--exclude all"):
        chosen_methods("multiclass", False, exclude=["all"])


def test_decimal_sign_and_kind_reach_the_column_of_time():
    table = table_of("X", pd.DataFrame({"t": [f"1,{100 + i}" for i in range(20)], "x": X[:, 0]}), Y)
    make_problem(table, time="t", kinds={"t": "number"}, decimal=",")
    with pytest.raises(OwnDataError, match="--time t: every row needs"):
        split_by_time(table, "t", kinds={"t": "category"})


def test_a_path_that_an_address_cuts_and_options_that_sparse_rows_ignore_are_refused(tmp_path):
    with pytest.raises(OwnDataError, match="question mark"):
        checked_workspace(tmp_path / "what?")
    with pytest.raises(OwnDataError, match="leave --types and --decimal out"):
        make_problem(table_of("X", csr_array(X), Y), kinds={"a": "date"})


def test_a_column_whose_name_has_a_comma_is_dropped(tmp_path):
    path = tmp_path / "a.csv"
    pd.DataFrame({"Height, cm": X[:, 0], "x": X[:, 1], "kind": Y}).to_csv(path, index=False)
    ask = ["compare", str(path), "--target", "kind", "--drop", "Height, cm", "--dry-run"]
    assert ", 1 columns, " in CliRunner().invoke(app, ask, catch_exceptions=False).output


def test_workbooks_that_are_protected_or_have_no_header_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1"))
    with pytest.raises(OwnDataError, match=r"save it as an unprotected \.xlsx"):
        read_table(tmp_path / "a.xlsx")
    with pytest.raises(OwnDataError, match="--no-header"):
        read_table(tmp_path / "a.xlsx", header=False)


def test_a_second_comparison_in_one_folder_leaves_the_first_alone(tmp_path):
    problem = make_problem(table_of("X", X, Y))
    with locked_workspace(tmp_path / "o"):
        with pytest.raises(OwnDataError, match=r"another run \(process \d+\) is working on"):
            run_comparison(problem, tmp_path / "o", Options(["lda"]))
        assert not (tmp_path / "o" / "suites").exists()
    with locked_workspace(tmp_path / "o"):
        pass


@pytest.mark.parametrize(
    "asked",
    [{"time_limit": seconds} for seconds in (0, np.nan, np.inf)]
    + [{"seed": seed} for seed in (-1, 2**32)]
    + [{"suite": Path(name)} for name in ("mine.csv", "datasets.yaml")],
    ids=str,
)
def test_impossible_options_are_refused_before_work(tmp_path, asked):
    option = f"--{next(iter(asked)).replace('_', '-')}"
    with pytest.raises(OwnDataError, match=option):
        run_comparison(make_problem(table_of("X", X, Y)), tmp_path / "o", Options(**asked))
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--target", "y", "--decimal", ";"], "--decimal ;: write . or ,"),
        (["--target", "y", "--no-header"], "--no-header is for text"),
        (["--target", "y", "--types", "a,b=category", "--dry-run"], "columns: 1 category"),
        (["--target", "y", "--drop", "note", "--test", "test.jsonl", "--dry-run"], "20 + 2 rows, 1 columns"),
    ],
    ids=str,
)
def test_options_of_files(tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"a,b": [str(one + 7) for one in Y], "note": "n", "y": Y})
    rows.to_json("in.jsonl", orient="records", lines=True)
    rows.drop(columns="note").head(2).to_json("test.jsonl", orient="records", lines=True)
    found = CliRunner().invoke(app, ["compare", "in.jsonl", *options])
    assert told in f"{found.output} {found.exception}"


def test_the_target_of_test_rows_may_have_another_name():
    problem = make_problem(table_of("X", X, pd.Series(Y, name="s")), table_of("X_test", X, Y))
    assert problem.n_train == 20
    two = pd.DataFrame({"p": Y, "q": Y[::-1]})
    with pytest.raises(OwnDataError, match="X_test has other targets than X: first q, p, and p, q"):
        make_problem(table_of("X", X, two), table_of("X_test", X, two[["q", "p"]]))


def test_whole_numbers_beyond_float64_are_refused():
    with pytest.raises(OwnDataError, match="too large"):
        make_problem(table_of("X", pd.DataFrame({"a": [10**400, *range(19)]}), Y))


def test_groups_of_an_npz_file_are_kept_apart(tmp_path):
    np.savez(tmp_path / "a.npz", X=X, y=Y, groups=np.arange(20) // 2)
    assert make_problem(read_user_file(tmp_path / "a.npz")).groups.tolist() == (np.arange(20) // 2).tolist()


def test_answers_on_other_data_do_not_outlive_them(tmp_path):
    def write(y):
        problem, methods = make_problem(table_of("X", X, y)), chosen_methods("multiclass", False, ["lda"])
        return write_workspace(tmp_path, problem, methods, metric="error", seed=0, time_limit=9.0)

    answers = [tmp_path / name for name in ("leaderboard.csv", "curve.csv", "model.skops")]
    write(Y)
    for path in answers:
        path.touch()
    write(Y)
    assert all(path.exists() for path in answers)
    write(Y[::-1])
    assert not any(path.exists() for path in answers)


def test_the_curve_of_each_fold_has_its_test_rows(tmp_path):
    problem, methods = make_problem(table_of("X", X, Y)), chosen_methods("multiclass", False, ["lda"])
    space = write_workspace(tmp_path, problem, methods, metric="error", seed=1, time_limit=9.0)
    add_curve(space, {"raw": ("raw", "LogisticRegression")}, [8, 16])
    runs = RunProgress(space, CURVE).runs
    assert [run.seed for run in runs] == RunProgress(space).folds == [5, 6, 7, 8, 9]
    experiments = load_suite(space.suite).experiments
    assert [experiments[run.experiment].protocol_settings.first_seed for run in runs] == [5, 6, 7, 8, 9]


def test_a_file_is_no_folder_of_a_comparison(tmp_path):
    (tmp_path / "o").touch()
    with pytest.raises(OwnDataError, match="name another with --out"):
        run_comparison(make_problem(table_of("X", X, Y)), tmp_path / "o", Options(["lda"]))
    regular_table(0, n=60).to_csv(tmp_path / "data.csv", index=False)
    ask = ["compare", str(tmp_path / "data.csv"), "--target", "kind", "--out", str(tmp_path), "--dry-run"]
    assert CliRunner().invoke(app, ask).exit_code


def test_an_interrupted_start_is_continued(tmp_path):
    regular_table(0, n=60).to_csv(tmp_path / "data.csv", index=False)
    problem = make_problem(read_user_file(tmp_path / "data.csv", ["kind"]))
    methods = chosen_methods("multiclass", False, ["lda"])
    for _ in range(2):
        space = write_workspace(tmp_path / "o", problem, methods, metric="error", seed=0, time_limit=9.0)
        with pytest.raises(OwnDataError, match="not the name of a suite"):
            copy_suite(space, tmp_path / "all.yaml")
        space.suite.unlink()
    (space.folder / "thesis.txt").touch()
    with pytest.raises(OwnDataError, match="not empty"):
        write_workspace(tmp_path / "o", problem, methods, metric="error", seed=0, time_limit=9.0)
