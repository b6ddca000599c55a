"""The leaderboard of a comparison in the terminal."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from eigenbench.reporting.formatting import metric_style, seconds, sentence
from eigenbench.reporting.leaderboard_text import TIED, leaderboard_notes, rank_texts, text_table

#: Shown after the interval and the difference to the best.
_FURTHER = {"balanced_error": "balanced", "log_loss": "log loss"}


def comparison_table(board: pd.DataFrame) -> RenderableType:
    """Lay a leaderboard out with all that a choice of a method rests on.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.own_data.leaderboard.rank`.

    Returns
    -------
    rich renderable
        The table, then what the marks mean and which methods failed, and why.
    """
    metric = str(board["metric"].iloc[0])
    style = metric_style(metric)
    further = [name for name in _FURTHER if f"test_{name}" != metric and board[name].notna().any()]
    table = text_table()
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("method", overflow="fold", min_width=12)
    for heading in ("mean", "95 % interval", "to best", *(_FURTHER[name] for name in further), "s", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, line in zip(rank_texts(board), board.to_dict("records"), strict=True):
        found = not pd.isna(line["mean"])
        cells = [
            style.measured(line["mean"]) if found else "none",
            style.interval(_number(line["ci_low"]), _number(line["ci_high"])) if found else "",
            _difference(line, style) if found else "",
            *(metric_style(f"test_{name}").measured(_number(line[name])) for name in further),
            seconds(_number(line["seconds"])),
            "" if pd.isna(line["peak_rss_mb"]) else f"{line['peak_rss_mb']:.0f}",
        ]
        bold = "bold" if line["tied"] is True else ""
        table.add_row(rank, Text(label(line), style=bold), *map(Text, cells))
    return Group(
        Text(sentence(style.heading)),
        table,
        *(Text(note) for note in leaderboard_notes(board)),
        Text(_answer(board)),
    )


def label(line: Any) -> str:
    """Name a line: the classifier alone where it gets the raw inputs and is no linear one."""
    if line["classifier"] in ("LogisticRegression", "OneVsRestLogistic"):
        return str(line["method"])
    return str(line["classifier"])


def _answer(board: pd.DataFrame) -> str:
    """Say in a sentence whether an embedding helps."""
    ranked = board[board["rank"].notna()]
    if ranked.empty:
        return "No method has a result on all folds."
    best = ranked.iloc[0]
    inputs = ranked[(ranked["method"] == "raw") & ranked["tied"].fillna(False)]
    if best["method"] == "raw":
        return f"No embedding is better than {best['classifier']} on the raw inputs."
    if len(inputs):
        rival = inputs.iloc[0]["classifier"]
        return f"{label(best)} is best, but {rival} on the raw inputs can't be told from it."
    return f"{label(best)} helps: nothing on the raw inputs comes near ({TIED} marks what ties with it)."


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _difference(line: dict[str, Any], style: Any) -> str:
    if pd.isna(line["difference"]) or pd.isna(line["p_value"]):
        return ""
    return f"{'+' if line['difference'] >= 0 else '−'}{style.measured(abs(line['difference']))}"
