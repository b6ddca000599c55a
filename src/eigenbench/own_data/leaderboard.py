"""The answer of a comparison as a table."""

from __future__ import annotations

import pandas as pd

from eigenbench.own_data.workspace import EXPERIMENT, Workspace
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboard

#: What is the same on all lines of a single experiment, or says how the rest was found.
OMITTED = (
    "suite",
    "experiment",
    "dataset",
    "interval",
    "tie_p_value",
    "p_value",
    "compared_over",
    "gemm_equivalents",
    "on_front",
    "model_bytes",
    "grid_edge",
)


def rank(workspace: Workspace) -> pd.DataFrame:
    """Rank all methods by the records that are there, as `eigenbench.reporting.leaderboard` does."""
    inputs = read_inputs([workspace.suite], workspace.results)
    return leaderboard(inputs.suites[0], EXPERIMENT, inputs.records, workspace.results)


def columns_of(board: pd.DataFrame) -> pd.DataFrame:
    """Return the columns but those of `OMITTED`, the metric that it is ranked by only once."""
    metric = str(board["metric"].iloc[0]).removeprefix("test_")
    return board.drop(columns=[name for name in (*OMITTED, metric) if name in board])
