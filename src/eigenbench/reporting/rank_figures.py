"""Figures over datasets: the critical-difference diagram, and cost against rank."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenbench.comparison.diagram import CriticalDifferenceDiagram
from eigenbench.reporting.drawing import COLOURS, INK, Drawing, hover_id, log_if_wide
from eigenbench.reporting.formatting import seconds
from eigenbench.reporting.suite_ranks import SuiteRanks

_WIDTH = 8.0
_LINE = 0.19
_BAR = 0.11


def critical_differences(ranks: SuiteRanks) -> Drawing:
    """Draw mean ranks on an axis, best at the left, with bars over competitors that do not differ.

    Parameters
    ----------
    ranks : SuiteRanks
        Not refused.
    """
    diagram, distance = ranks.diagram, ranks.critical_difference
    n_methods = len(diagram.positions)
    top = 0.6 + _BAR * len(diagram.groups)
    height = top + _LINE * ((n_methods + 1) // 2) + 0.3

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_xlim(1, max(n_methods, 2))
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        _draw_axis(axes, n_methods, distance)
        _draw_bars(axes, diagram)
        _draw_names(axes, diagram, top)

    return Drawing(draw, (_WIDTH, height))


def _draw_axis(axes: Axes, n_methods: int, distance: float) -> None:
    line = 0.45
    axes.plot([1, n_methods], [line, line], color=INK, linewidth=1, clip_on=False)
    step = max(1, round((n_methods - 1) / 10))
    for rank in range(1, n_methods + 1, step):
        axes.plot([rank, rank], [line - 0.06, line], color=INK, linewidth=1, clip_on=False)
        axes.text(rank, line - 0.09, str(rank), ha="center", va="bottom", fontsize=8)
    end = min(float(n_methods), 1 + distance)
    axes.plot([1, end], [0.02, 0.02], color=INK, linewidth=1.5, clip_on=False, solid_capstyle="butt")
    axes.text(end, 0.02, f"  critical difference {distance:.2f}", va="center", fontsize=8)


def _draw_bars(axes: Axes, diagram: CriticalDifferenceDiagram) -> None:
    for place, group in enumerate(diagram.groups):
        ranks = diagram.positions[list(group)]
        height = 0.58 + _BAR * place
        axes.plot(
            [ranks.min() - 0.02, ranks.max() + 0.02],
            [height, height],
            color=COLOURS[place % len(COLOURS)],
            linewidth=3.5,
            solid_capstyle="butt",
            clip_on=False,
        )


def _draw_names(axes: Axes, diagram: CriticalDifferenceDiagram, top: float) -> None:
    """Name the better half at the left, the others at the right, each at the end of a line."""
    n_methods = len(diagram.positions)
    half = (n_methods + 1) // 2
    for place, (name, rank) in enumerate(diagram.positions.items()):
        left = place < half
        level = top + _LINE * (place if left else n_methods - 1 - place) + 0.1
        side = 1.0 if left else float(max(n_methods, 2))
        axes.plot(
            [rank, rank, side], [0.45, level, level], color=INK, linewidth=0.6, alpha=0.6, clip_on=False
        )
        text = f"{name}  {rank:.2f} " if left else f" {rank:.2f}  {name}"
        axes.text(side, level, text, ha="right" if left else "left", va="center", fontsize=8)


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
            text = f"{name}: mean rank {line['mean_rank']:.2f}, {seconds(line['seconds'])} s"
            place = (line["seconds"], line["mean_rank"])
            axes.plot(*place, "o", color=colour, markersize=size, gid=hover_id(str(name), text))
        for name, line in front.iterrows():
            axes.annotate(
                str(name),
                (line["seconds"], line["mean_rank"]),
                textcoords="offset points",
                xytext=(5, -9),
                fontsize=7.5,
            )
        log_if_wide(axes, "x", list(points["seconds"]), least=4)
        axes.set_xlabel("time to fit (s), geometric mean over datasets")
        axes.set_ylabel("mean rank")

    return Drawing(draw, (6.5, 4.2))
