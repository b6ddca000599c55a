"""Forest plot of a leaderboard: the methods sorted, each with its mean, interval and published number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.drawing import COLOURS, Drawing, hover_id, log_if_wide
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.leaderboard import line_titles
from eigenbench.reporting.published import PublishedComparison

_WIDTH = 7.0
_LINE = 0.22


def forest_plot(board: pd.DataFrame, published: Iterable[PublishedComparison]) -> Drawing | None:
    """Draw the ranked methods of a leaderboard, best first, with the band of those tied with the best.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.
    published : iterable of PublishedComparison
        Those on the metric of the leaderboard are marked beside their method.

    Returns
    -------
    Drawing or None
        None with fewer than two ranked methods.
    """
    ranked = board[board["rank"].notna()]
    lines, titles = ranked.to_dict("records"), line_titles(ranked) if len(ranked) else []
    if len(lines) < 2:
        return None
    metric = str(lines[0]["metric"])
    numbers = {
        (
            row.group.method,
            "" if row.group.classifier == NO_CLASSIFIER else row.group.classifier,
        ): row.number.value
        for row in published
        if row.group is not None and row.number.metric == metric
    }
    style = metric_style(metric)
    means = [style.scale * line["mean"] for line in lines]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        several = sum(line["tied"] is True for line in lines) > 1
        for place, line in enumerate(lines):
            _draw_line(
                axes,
                place,
                line,
                titles[place],
                style.scale,
                numbers.get((line["method"], line["classifier"])),
            )
            if several and line["tied"] is True:
                axes.axhspan(place - 0.5, place + 0.5, color=COLOURS[0], alpha=0.12, linewidth=0)
        axes.set_yticks(range(len(lines)), titles, fontsize=8)
        axes.set_ylim(len(lines) - 0.4, -0.6)
        spread = max(means) - min(means) or abs(max(means)) or 1.0
        if not log_if_wide(axes, "x", means, least=8):
            axes.set_xlim(min(means) - 0.2 * spread, max(means) + 0.2 * spread)
        axes.set_xlabel(style.heading)
        axes.grid(False, axis="y")

    return Drawing(draw, (_WIDTH, 0.6 + _LINE * len(lines)))


def _draw_line(
    axes: Any, place: int, line: dict[str, Any], title: str, scale: float, number: float | None
) -> None:
    style = metric_style(str(line["metric"]))
    method = method_name(str(line["method"]))
    ends = [None if pd.isna(line[end]) else line[end] for end in ("ci_low", "ci_high")]
    interval = [scale * end for end in ends if end is not None]
    if number is not None:
        axes.plot(scale * number, place, "D", color=COLOURS[1], fillstyle="none", gid=hover_id(method))
    text = f"{title}: {style.measured(line['mean'])} {style.interval(*ends)}".strip()
    text += f", published {style.exact(number)}" if number is not None else ""
    colour = COLOURS[0 if line["rank"] == 1 or line["tied"] is True else 7]
    mean = scale * line["mean"]
    low, high = interval if len(interval) == 2 else (mean, mean)
    axes.plot(
        [low, mean, high],
        3 * [place],
        "o-",
        color=colour,
        linewidth=1.2,
        markevery=[1],
        clip_on=False,
        gid=hover_id(method, text),
    )
