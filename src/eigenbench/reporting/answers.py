"""In one line for each experiment: what is best, whether that is significant, and what was reproduced."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from eigenbench.reporting.comparison import Comparison, verdict_counts
from eigenbench.reporting.leaderboard import ranked_label


def best_of(board: pd.DataFrame) -> str:
    """Return method and classifier of the first line of a leaderboard; empty where nothing has a rank."""
    ranked = board[board["rank"].notna()]
    return "" if ranked.empty else ranked_label(ranked.iloc[0])


def significance(board: pd.DataFrame) -> str:
    """Say whether the first line of a leaderboard is better than the others, by its tie group.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.

    Returns
    -------
    str
        Begins with ``yes``, ``no`` or ``unknown``; empty with fewer than two ranks.
    """
    ranked = board[board["rank"].notna()]
    if len(ranked) < 2:
        return ""
    others = ranked.iloc[1:]
    if pd.isna(ranked["tied"].iloc[0]):
        return "unknown: one value each"
    n_tied = int(others["tied"].fillna(False).sum())
    if n_tied:
        return f"no: ties with {n_tied} other{'s' if n_tied > 1 else ''}"
    return "yes: better than the other" if len(others) == 1 else f"yes: better than all {len(others)} others"


def reproduced(rows: Sequence[Comparison]) -> str:
    """Say how many of the published numbers that were measured came out."""
    counts = verdict_counts(rows)
    came_out = counts["better"] + counts["reproduced"]
    measured = came_out + counts["off"]
    return f"{came_out} of {measured}" if measured else "none to compare"
