"""The answer of a comparison as a table."""

from __future__ import annotations

import pandas as pd

from eigenbench.own_data.workspace import EXPERIMENT, Workspace
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.leaderboard import leaderboard

#: Of the leaderboard of a suite, those that say something of a single experiment.
COLUMNS = [
    "rank",
    "method",
    "classifier",
    "metric",
    "mean",
    "ci_low",
    "ci_high",
    "tied",
    "difference",
    "difference_low",
    "difference_high",
    "p_holm",
    "balanced_error",
    "log_loss",
    "seconds",
    "predictions_per_second",
    "peak_rss_mb",
    "n_seeds",
    "n_planned",
    "without_result",
]


def rank(workspace: Workspace) -> pd.DataFrame:
    """Rank all methods by the records that are there, as `eigenbench.reporting.leaderboard` does."""
    inputs = read_inputs([workspace.suite], workspace.results)
    return leaderboard(inputs.suites[0], EXPERIMENT, inputs.records, workspace.results)


def columns_of(board: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of `COLUMNS`, those of the metric that it is ranked by only once."""
    metric = str(board["metric"].iloc[0]).removeprefix("test_")
    return board[[name for name in COLUMNS if name != metric]]
