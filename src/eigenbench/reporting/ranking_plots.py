"""Figures of rankings: forest plots of leaderboards, and ranks, ratios and time over datasets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.reporting.display_names import dataset_name, label_name, method_name
from eigenbench.reporting.drawing import COLOURS, INK, Drawing, hover_id, log_if_wide
from eigenbench.reporting.formatting import metric_style, seconds
from eigenbench.reporting.leaderboard import line_titles
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.suite_ranks import SuiteRanks

_WIDTH = 7.0
_LINE = 0.22
#: Ratios from this on have the strongest shade.
LARGEST_RATIO = 3.0


def forest_plot(board: pd.DataFrame, published: Iterable[PublishedComparison]) -> Drawing | None:
    """Draw the ranked methods of a leaderboard, best first, with the band of those tied with the best.

    Published numbers on the metric of the leaderboard are marked beside their method. None with fewer than
    two ranked methods.
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


def heat_map(ranks: SuiteRanks) -> Drawing:
    """Draw the ratio of errors to the best of each dataset, competitors x datasets, ties outlined."""
    ratios, tied = ranks.ratios, ranks.tied[ranks.ranks.index].T

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        shades = np.log(np.clip(ratios.to_numpy(), 1.0, LARGEST_RATIO))
        axes.imshow(shades, cmap="Blues", aspect="auto", vmin=0, vmax=np.log(LARGEST_RATIO))
        for row, column in np.argwhere(tied.to_numpy()):
            axes.plot(column, row, "s", color=INK, fillstyle="none", markersize=5)
        axes.set_yticks(range(len(ratios)), [label_name(str(name)) for name in ratios.index], fontsize=8)
        names = [dataset_name(str(name)) for name in ratios.columns]
        axes.set_xticks(range(len(names)), names, fontsize=8, rotation=90)
        axes.grid(False)

    return Drawing(draw, (_WIDTH, 1.8 + 0.19 * len(ratios)))


def ranking(ranks: SuiteRanks) -> Drawing:
    """Draw mean ranks with their 95 % intervals over datasets, best first."""
    lines = ranks.ranks

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (_, line) in enumerate(lines.iterrows()):
            axes.plot(
                [line["rank_low"], line["rank_high"]], [place, place], color=INK, linewidth=1.0, alpha=0.6
            )
            axes.plot(line["mean_rank"], place, "o", color=COLOURS[0])
        axes.set_yticks(range(len(lines)), [label_name(str(name)) for name in lines.index], fontsize=8)
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_xlabel("mean rank, 1 is best")
        axes.grid(False, axis="y")

    return Drawing(draw, (_WIDTH, 0.6 + _LINE * len(lines)))


def rank_against_seconds(ranks: SuiteRanks) -> Drawing | None:
    """Plot mean ranks against the geometric mean of the time to fit, with the Pareto front.

    None where fewer than two competitors have a time.
    """
    points = ranks.ranks.dropna(subset="seconds")
    if len(points) < 2:
        return None
    front = points[points["on_front"]].sort_values("seconds")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(front["seconds"], front["mean_rank"], color=COLOURS[1], linewidth=1, drawstyle="steps-post")
        for name, line in points.iterrows():
            colour, size = (COLOURS[1], 6) if line["on_front"] else (COLOURS[0], 4)
            text = f"{label_name(str(name))}: mean rank {line['mean_rank']:.2f}, {seconds(line['seconds'])} s"
            gid = hover_id(method_name(str(name).partition(" + ")[0]), text)
            axes.plot(line["seconds"], line["mean_rank"], "o", color=colour, markersize=size, gid=gid)
        for name, line in front.iterrows():
            axes.annotate(
                label_name(str(name)),
                (line["seconds"], line["mean_rank"]),
                textcoords="offset points",
                xytext=(5, -9),
                fontsize=7.5,
            )
        log_if_wide(axes, "x", list(points["seconds"]), least=4)
        axes.set_xlabel("time to fit (s), geometric mean over datasets")
        axes.set_ylabel("mean rank")

    return Drawing(draw, (6.5, 4.2))
