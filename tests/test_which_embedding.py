"""The page on which embedding to take says what the reference results say."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "which_embedding.py"


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("which_embedding", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_those_of_the_reference(page):
    assert page.block() in page.PAGE.read_text(encoding="utf-8"), "run python docs/which_embedding.py"


def test_the_best_of_each_table_is_the_smallest_error_of_its_runs(page):
    boards = page.read_boards()
    errors = pd.concat(pd.read_csv(path) for path in sorted(page.REFERENCE.glob("results*.csv")))
    errors = errors[(errors["metric"] == "test_error") & (errors["status"] == "ok")]
    runs = errors.groupby(["dataset", "method", "classifier"])["value"].agg(["mean", "count"])
    for dataset, board in boards.groupby("dataset"):
        best = board.loc[board["mean"].idxmin()]
        complete = runs.loc[dataset].query("count == 5")
        assert best["mean"] == pytest.approx(complete["mean"].min())
