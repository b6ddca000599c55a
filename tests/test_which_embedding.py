"""The page on which embedding to take says what the reference results say."""

import re

import pandas as pd
import pytest
import which_embedding as page
from page_parts import PART


def test_the_tables_of_the_page_are_those_of_the_reference():
    text = page.PAGE.read_text(encoding="utf-8")
    for block in (page.block(), page.mnist_table(), page.claims_block()):
        assert block in text, "run python docs/which_embedding.py"


def test_the_best_of_each_table_is_the_smallest_error_of_its_runs():
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


def test_prose_of_the_page_makes_no_claim_beside_the_generated_ones():
    prose = PART.sub("", page.PAGE.read_text(encoding="utf-8"))
    found = re.findall(
        r"[^.\n|]*\b(?:fewer errors|outperform\w*|best|last of|equivalent to)\b[^.\n|]*", prose
    )
    assert [one for one in found if "to the" not in one] == []
