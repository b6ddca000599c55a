"""Sentences of a comparison about its leaderboard, and the suite that it writes."""

import io
import lzma
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from rich.console import Console
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from eigenbench.own_data.compared_methods import chosen_methods
from eigenbench.own_data.files import read_user_file
from eigenbench.own_data.problem import make_problem
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.terminal import answer, comparison_table
from eigenbench.own_data.winner import how_to_use
from eigenbench.own_data.workspace import Workspace, copy_suite, write_workspace
from eigenbench.reporting.leaderboard import COLUMNS, leaderboard_notes


def board(*lines, metric="test_error"):
    """Return a leaderboard of lines (method or rival, mean, rank or None, tied)."""
    found = [
        {
            **dict.fromkeys(COLUMNS),
            "method": "raw" if method[0].isupper() else method,
            "classifier": method if method[0].isupper() else "LogisticRegression",
            "seconds": float(len(method)),
            "ci_low": mean and mean - 0.01,
            "ci_high": mean and mean + 0.01,
            "metric": metric,
            "mean": mean,
            "rank": rank,
            "tied": tied,
            "n_seeds": 5 if rank else 3,
            "n_planned": 5,
            "compared_over": "re-drawn splits",
        }
        for method, mean, rank, tied in lines
    ]
    frame = pd.DataFrame(found, columns=list(COLUMNS))
    return frame.astype(
        {"rank": "Int64", "tied": "boolean", "mean": "float64", "ci_low": "float64", "ci_high": "float64"}
    )


#: Lines of a leaderboard: method or rival, mean, rank, and whether it ties with the best (? is unknown).
ANSWERS = {
    "raw .1 1 =, gem .2 2 /": "No embedding is better than Log.* on the raw inputs. Take raw: no other",
    "raw .1 1 =, lda .1 2 =, gem .05 - /": (
        r"No embedding with a result on all folds is better than Log.* gem \(.* on 3 of 5 folds"
    ),
    "raw .1 1 =, gem - - /": (
        r"LogisticRegression is best on the raw inputs; no embedding has a result on all folds\."
    ),
    "gem .1 1 =, raw .11 2 =": "gem is best, but LogisticRegression on the raw inputs ties with it",
    "gem .1 1 =, raw .11 2 ?": (
        "gem is best, but LogisticRegression on the raw inputs may tie with it. "
        "Take gem: it is first, but whether others tie is unknown"
    ),
    "gem .1 1 =, lda .11 2 ?, raw .3 3 /": "gem helps: .* Take gem: it is first, but whether others tie",
    "gem .1 1 =, raw .3 2 /": "gem helps: nothing on the raw inputs ties with it",
    "gem .1 1 =, raw .05 - /": r"gem helps: nothing on .* with a result on all folds.* raw \(5\.0",
    "gem .1 1 =, raw .11 2 =, SVC .12 3 =": (
        r".*Take raw: it is the simplest of those that tie with the best \(gem, SVC\)\.$"
    ),
    "LinearSVC .1 1 =, raw .11 2 =": r".*Take LinearSVC: it is the simplest of those .* \(raw\)\.$",
    "gem_and_fourier .1 1 =, gem .11 2 =, raw .2 3 /": r".*Take gem: .* \(gem_and_fourier\)\.$",
    "gem .1 1 ?, raw .11 2 ?, Dummy .9 3 ?": r".*Take gem: it is first, but whether others tie is unknown\.$",
    "raw .5 1 =, Dummy .51 2 =": r"No method is better than guessing: Dummy predicts the most .*\.$",
}


def lines_of(text):
    marks = {"=": True, "/": False, "?": None}
    for method, mean, rank, tied in map(str.split, text.split(",")):
        yield method, None if mean == "-" else float(mean), None if rank == "-" else int(rank), marks[tied]


@pytest.mark.parametrize(("text", "told"), ANSWERS.items())
def test_the_answer_says_what_helps_and_advises_the_simplest_of_the_tied(text, told):
    assert re.match(told, " ".join(answer(board(*lines_of(text)))))


def test_a_score_without_a_rank_is_named_only_if_it_is_larger():
    lines = board(*lines_of("raw .1 1 =, lda .1 2 =, gem .05 - /"), metric="test_micro_f1")
    assert "gem (" not in " ".join(answer(lines))


@pytest.mark.parametrize("width", [50, 80, 120])
def test_names_are_never_broken(width):
    lines = board(*lines_of("HistGradientBoostingClassifier .1 1 =, raw .11 2 ="))
    lines[["balanced_error", "log_loss", "peak_rss_mb"]] = [0.11, 1.2, 200.0]
    console = Console(width=width)
    with console.capture() as printed:
        console.print(comparison_table(lines, width))
    text = printed.get()
    assert re.search("HistGradientBoostingClassifier +10.00", text)
    assert max(map(len, text.splitlines())) <= width
    assert ("log loss" in text) == (width == 120)


def test_columns_are_left_out_before_they_are_cut():
    lines = board(*lines_of("HistGradientBoostingClassifier .1 1 =, raw .11 2 ="))
    lines[["balanced_error", "log_loss", "peak_rss_mb"]] = [0.11, 1.2, 200.0]
    for width in range(50, 120):
        console = Console(width=width)
        with console.capture() as printed:
            console.print(comparison_table(lines, width))
        assert "…" not in printed.get(), width
        assert "1=" in printed.get(), width


def test_one_reason_of_several_methods_is_said_once():
    lines = board(*lines_of("raw .1 1 =, gem - - /, lda - - /"))
    lines["without_result"] = ["", *["1 of 1 seeds without a record"] * 2]
    assert leaderboard_notes(lines) == [
        "GEM + logistic regression, LDA + logistic regression: 1 of 1 seeds without a record"
    ]


def own_file(folder, kind):
    """Write a file of a kind and return its path and its targets."""
    path = folder / re.sub(r"(sparse|labels|counted)\.|\.$", "", f"new.{kind}")
    table = pd.DataFrame({"a": np.arange(12.0), "b": list("pqr") * 4, "kind": list("xy") * 6})
    pixels = np.arange(12 * 6, dtype=np.uint8).reshape(12, 2, 3)
    match kind:
        case "csv" | "csv.gz":
            table.to_csv(path, index=False)
        case "npz":
            np.savez(path, X=pixels, y=np.arange(12) % 2)
        case "sparse.npz":
            X = csr_array(np.eye(12, 5))
            parts = {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
            np.savez(path, y=np.arange(12) % 2, **parts)
        case "labels.svm":
            path.write_text("1,2 1:1 3:2\n2 2:1\n1 1:3\n" * 4)
        case "counted.svm":
            path.write_text("12 4 3\n" + "1,2 1:1 3:2\n2 2:1\n1 1:3\n" * 4)
        case "svm" | "svm.xz":
            content = io.BytesIO()
            dump_svmlight_file(np.eye(12, 5), np.arange(12) % 2, content, zero_based=False)
            packed = lzma.compress if kind.endswith(".xz") else bytes
            path.write_bytes(packed(content.getvalue()))
        case _:
            for row, image in enumerate(pixels):
                (path / "xy"[row % 2]).mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).save(path / "xy"[row % 2] / f"{row}.png")
    return path, ["kind"] if kind.startswith("csv") else []


@pytest.mark.parametrize(
    "kind", ["csv", "csv.gz", "npz", "svm", "", "v2", "sparse.npz", "labels.svm", "counted.svm", "svm.xz"]
)
def test_the_lines_read_a_new_file_of_the_same_kind(tmp_path, monkeypatch, kind):
    path, target = own_file(tmp_path, kind)
    problem = make_problem(read_user_file(path, target), n_folds=2)
    monkeypatch.chdir(tmp_path)
    *imports, use = how_to_use(Workspace(tmp_path), problem).splitlines()
    names = {}
    exec("\n".join(line for line in imports if "load_model(" not in line), names)
    rows = eval(re.search(r"model\.predict(?:_proba)?\((.*?)\)(?: >= .*|\))$", use)[1], names)
    found = rows.toarray() if problem.sparse else problem.encoder.transform(rows)
    np.testing.assert_array_equal(found, problem.matrix.toarray() if problem.sparse else problem.matrix)


def test_nothing_beside_a_copied_suite_is_replaced(tmp_path):
    problem = make_problem(read_user_file(*own_file(tmp_path, "csv")), n_folds=3)
    methods = chosen_methods("multiclass", False, ["lda"])
    workspace = write_workspace(tmp_path / "out", problem, methods, metric="error", seed=0, time_limit=10.0)
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "datasets.yaml").write_text("datasets: {}\n")
    with pytest.raises(OwnDataError, match="holds something else"):
        copy_suite(workspace, folder / "mine.yaml")
    assert [path.name for path in folder.iterdir()] == ["datasets.yaml"]
    with pytest.raises(OwnDataError, match="name of a suite's file"):
        copy_suite(workspace, folder / "datasets.yaml")
