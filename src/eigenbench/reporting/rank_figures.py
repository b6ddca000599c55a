"""Figures over datasets: the heat map of ratios, the ranking with intervals, and rank against time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from eigenbench.reporting.display_names import dataset_name, label_name, method_name
from eigenbench.reporting.drawing import COLOURS, INK, Drawing, hover_id, log_if_wide
from eigenbench.reporting.formatting import seconds
from eigenbench.reporting.suite_ranks import SuiteRanks

_WIDTH = 8.0
_LINE = 0.22
#: Ratios from this on have the strongest shade.
LARGEST_RATIO = 3.0


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

    Returns
    -------
    Drawing or None
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
