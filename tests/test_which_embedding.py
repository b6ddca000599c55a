"""The page on which embedding to take says what the reference results say."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "which_embedding.py"


@pytest.fixture
def page(monkeypatch):
    spec = importlib.util.spec_from_file_location("which_embedding", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_those_of_the_reference(page):
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.block() in text, "run python docs/which_embedding.py"
    assert page.mnist_table() in text, "run python docs/which_embedding.py"


def test_the_best_of_each_table_is_the_smallest_error_of_its_runs(page):
    board = page.read_board(page.PROBLEMS[0])
    errors = pd.concat(
        pd.read_csv(path) for path in sorted((page.REFERENCE / "comparison").glob("results*.csv"))
    )
    errors = errors[(errors["metric"] == "test_error") & (errors["status"] == "ok")]
    runs = errors.groupby(["dataset", "method", "classifier"])["value"].agg(["mean", "count"])
    for dataset, lines in board.groupby("dataset"):
        best = lines.loc[lines["mean"].idxmin()]
        complete = runs.loc[dataset].query("count == 5")
        assert best["mean"] == pytest.approx(complete["mean"].min())


@pytest.mark.parametrize(
    ("first", "second", "conclusion"),
    [
        ("gem", "raw", "first better"),
        ("gem", "lda", "first better"),
        ("gem", "pca", "first better"),
        ("gem", "pca_rotated", "first better"),
        ("gem", "random", "equivalent"),
        ("deep_gem", "gem", "second better"),
        ("gem_subclasses", "gem", "first better"),
        ("gem_neighborhoods", "gem", "equivalent"),
    ],
)
def test_what_the_page_says_of_pairs_follows_from_their_ratios(page, first, second, conclusion):
    lines = [line.split(" | ") for line in page.pairs_table(page.PROBLEMS[0]).splitlines()]
    (line,) = [one for one in lines if one[:2] == [f"| `{first}`", f"`{second}`"]]
    assert line[-1].removesuffix(" |") == conclusion
