"""Leaderboards in the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from eigenbench.reporting.formatting import MetricStyle, metric_style, seconds, sentence
from eigenbench.reporting.leaderboard import OVER_VALUES

#: Beside the rank of a method that is not distinguishable from the best.
TIED = "="


def leaderboard_table(board: pd.DataFrame, *, limit: int | None = None) -> RenderableType:
    """Lay out a leaderboard for the terminal.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.
    limit : int, optional
        Show so many lines; by default all, and after them what is missing and which parameters were chosen
        at the edge of their grid.

    Returns
    -------
    rich renderable
        To be printed by a `rich.console.Console`.
    """
    style = metric_style(str(board["metric"].iloc[0]))
    common = _common_classifier(board)
    heading = Text(f"{board['experiment'].iloc[0]}, on {board['dataset'].iloc[0]}. {sentence(style.heading)}")
    if common:
        heading.append(f" of {common}" + ("" if (board["classifier"] == common).all() else ", or as named"))
    if board[["mean", "tied"]].isna().all(axis=None):
        return Group(heading, Text("No run has a record yet.", style="dim"))
    table = text_table()
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("method", overflow="fold")
    for name in ("mean", "95 % interval", "to best", "time (s)"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = board if limit is None else board.head(limit)
    for rank, line in zip(rank_texts(shown), shown.to_dict("records"), strict=True):
        other = "" if line["classifier"] == common else line["classifier"]
        label = ", ".join(filter(None, (line["method"], other)))
        table.add_row(rank, Text(label), *_numbers(line, style))
    if len(shown) < len(board):
        return Group(heading, table, Text(f"and {len(board) - len(shown)} more", style="dim"))
    return Group(heading, table, *(Text(note) for note in leaderboard_notes(board)))


def _common_classifier(board: pd.DataFrame) -> str:
    """Return the classifier of more than half of the lines; empty if there is none."""
    counts = board["classifier"].value_counts()
    return str(counts.index[0]) if 2 * counts.iloc[0] > len(board) else ""


def print_leaderboards(boards: Sequence[pd.DataFrame], console: Console) -> None:
    """Print leaderboards with a blank line after each."""
    for board in boards:
        console.print(leaderboard_table(board))
        console.print()


def leaderboard_notes(board: pd.DataFrame, *, failures: bool = True) -> list[str]:
    """Say what ties mean here, which choices lie at the edge of a grid, and which seeds have no result.

    What holds for several methods is said once.
    """
    notes = []
    lacking: dict[str, list[str]] = {}
    if board["tied"].fillna(False).sum() > 1:
        basis = str(board["compared_over"].dropna().iloc[0])
        notes.append(f"{TIED} not distinguishable from the best, over {basis}")
    elif (board["compared_over"] == OVER_VALUES).any() and board.loc[board["rank"] > 1, "tied"].isna().any():
        notes.append("One value for each method: whether they tie is unknown.")
    for line in board.to_dict("records"):
        label = " + ".join(filter(None, (line["method"], line["classifier"])))
        notes += [f"{label}: {line['grid_edge']}"] if line["grid_edge"] else []
        if failures and line["without_result"]:
            lacking.setdefault(line["without_result"], []).append(label)
    return notes + [f"{', '.join(labels)}: {text}" for text, labels in lacking.items()]


def rank_texts(board: pd.DataFrame) -> list[Text]:
    """Return the ranks, with a mark where several methods tie with the best; a dash where there is none."""
    tied = board["tied"].fillna(False)
    mark = TIED if tied.sum() > 1 else " "
    return [
        Text("– ", style="dim") if pd.isna(rank) else Text(f"{rank}{mark if own else ' '}")
        for rank, own in zip(board["rank"], tied, strict=True)
    ]


def _numbers(line: dict[str, Any], style: MetricStyle) -> list[Text]:
    if pd.isna(line["mean"]):
        return [Text("none", style="red"), Text(""), Text(""), Text(_seconds(line), style="dim")]
    ends = [None if pd.isna(line[name]) else float(line[name]) for name in ("ci_low", "ci_high")]
    difference = "" if pd.isna(line["p_value"]) else _signed(line["difference"], style)
    return [
        Text(style.measured(line["mean"]), style="bold" if line["tied"] is True else ""),
        Text(style.interval(*ends)),
        Text(difference),
        Text(_seconds(line)),
    ]


def _signed(value: float, style: MetricStyle) -> str:
    return f"{'+' if value >= 0 else '−'}{style.measured(abs(value))}"


def _seconds(line: dict[str, Any]) -> str:
    return seconds(None if pd.isna(line["seconds"]) else line["seconds"])


def text_table(title: str = "") -> Table:
    """Return an empty table of the terminal's look."""
    return Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
