"""Figures of methods and classifiers: a metric against what it costs, and learning curves."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from eigenbench.experiments.record import Record
from eigenbench.reporting.drawing import (
    COLOURS,
    INK,
    MARKERS,
    Drawing,
    draw_names,
    log_if_wide,
    names_height,
    tick_text,
    tip,
)
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.run_groups import RunGroup


def error_against(
    groups: Sequence[RunGroup],
    metric: str,
    x: Callable[[Record], float | None],
    x_label: str,
    *,
    dodge: bool = False,
) -> Drawing | None:
    """Plot the mean of a metric, with its interval, against another number: one point per group.

    Colours are methods and markers are classifiers. Groups of one family (method names that differ only
    in a number at the end) and one classifier share a colour and are joined by a line.

    Parameters
    ----------
    groups : sequence of RunGroup
        Those without the metric or without ``x`` are left out.
    metric : str
        Drawn upwards.
    x : callable
        Takes a record and returns a positive number, drawn to the right as a mean over seeds.
    x_label : str
        What it is, with its unit.
    dodge : bool
        Whether to shift classifiers slightly, for an ``x`` that they have in common.

    Returns
    -------
    Drawing or None
        None with fewer than two points.
    """
    legend = _Legend.of(groups)
    curves = _curves(groups, metric, x, x_label, legend, dodge)
    points = [point for curve in curves.values() for point in curve]
    if len(points) < 2:
        return None

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for (family, classifier), curve in curves.items():
            _error_curve(axes, sorted(curve), legend.look(family, classifier))
        log_if_wide(axes, "x", [point.x for point in points], least=4)
        log_if_wide(axes, "y", [point.y for point in points], least=8)
        axes.set_xlabel(x_label)
        axes.set_ylabel(metric_style(metric).heading)
        legend.draw(figure)

    return Drawing(draw, (5.5, 3.2 + legend.height(5.5)))


def learning_curves(groups: Sequence[RunGroup]) -> Drawing | None:
    """Plot the learning curves of the first seed of each group: one small panel per classifier and curve.

    Returns
    -------
    Drawing or None
        None when no run has a curve.
    """
    shown = [group for group in groups if group.finished and any(group.finished[0].curves.values())]
    if not shown:
        return None
    legend = _Legend.of(groups).without_markers([group.method for group in shown])
    panels: dict[str, list[_Curve]] = {}
    for group in shown:
        for name, curve in group.finished[0].curves.items():
            title = f"{group.classifier}\n{name.replace('_', ' ')}"
            colour = legend.look(legend.family_of[group.method])["color"]
            panels.setdefault(title, []).append(_Curve(group.method, colour, curve))
    columns = min(4, len(panels))
    rows = math.ceil(len(panels) / columns)
    width = 2.75 * max(columns, 2)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (title, curves) in zip(grid, panels.items(), strict=False):
            _learning_panel(axes, title, [curve for curve in curves if curve.values])
        for axes in grid[len(panels) :]:
            axes.remove()
        legend.draw(figure)

    return Drawing(draw, (width, 2.3 * rows + legend.height(width)))


def has_families(groups: Sequence[RunGroup]) -> bool:
    """Return whether `error_against` joins any points."""
    methods = {group.method for group in groups}
    return len(set(_families(methods).values())) < len(methods)


class _Point(NamedTuple):
    """A mean and its interval, in shown units, and what it is of."""

    x: float
    y: float
    low: float
    high: float
    method: str
    text: str


class _Curve(NamedTuple):
    """A learning curve of one method."""

    method: str
    colour: str
    values: list[tuple[int, float]]


@dataclass(frozen=True)
class _Legend:
    """Colours for families of methods, markers for classifiers; the same in all figures of an experiment.

    ``drawn`` are the families that the figure has; the others keep their colours for themselves.
    """

    family_of: dict[str, str]
    families: list[str]
    classifiers: list[str]
    drawn: list[str]

    @classmethod
    def of(cls, groups: Sequence[RunGroup]) -> _Legend:
        family_of = _families(group.method for group in groups)
        families = list(dict.fromkeys(family_of.values()))
        return cls(family_of, families, list(dict.fromkeys(group.classifier for group in groups)), families)

    def without_markers(self, methods: Iterable[str]) -> _Legend:
        drawn = list(dict.fromkeys(self.family_of[method] for method in methods))
        return replace(self, classifiers=[], drawn=drawn)

    def look(self, family: str, classifier: str | None = None) -> dict[str, Any]:
        """Return colour and marker; families beyond the palette come again with hollow markers."""
        turn, index = divmod(self.families.index(family), len(COLOURS))
        marker = MARKERS[self.classifiers.index(classifier) % len(MARKERS) if classifier else 0]
        face = "none" if turn % 2 else COLOURS[index]
        return {"color": COLOURS[index], "marker": marker, "markerfacecolor": face}

    def height(self, width: float) -> float:
        """Return the inches that the legend takes in a figure of some width."""
        legends = [self.drawn, self.classifiers if len(self.classifiers) > 1 else []]
        return 0.1 + sum(names_height(names, width) for names in legends)

    def draw(self, figure: Figure) -> None:
        """Name the markers (when there are several) above the axes and the colours below."""
        if len(self.classifiers) > 1:
            ink = {"color": INK, "markerfacecolor": INK}
            looks = {name: {**self.look(self.families[0], name), **ink} for name in self.classifiers}
            draw_names(figure, looks, "outside upper center")
        draw_names(figure, {family: self.look(family) for family in self.drawn})


def _families(methods: Iterable[str]) -> dict[str, str]:
    """Map each method to its family: the name without its final number, where several methods share that."""
    stems = {method: re.sub(r"[_.-]?k?\d+$", "", method) or method for method in methods}
    shared = Counter(stems.values())
    return {method: stem if shared[stem] > 1 else method for method, stem in stems.items()}


def _curves(
    groups: Sequence[RunGroup],
    metric: str,
    x: Callable[[Record], float | None],
    x_label: str,
    legend: _Legend,
    dodge: bool,
) -> dict[tuple[str, str], list[_Point]]:
    """Return the points of each family and classifier."""
    style = metric_style(metric)
    scale = style.scale
    middle = (len(legend.classifiers) - 1) / 2
    curves: dict[tuple[str, str], list[_Point]] = {}
    for group in groups:
        found, at = group.estimate(metric), group.mean(x)
        if found is not None and math.isfinite(found.mean) and at:
            shift = 1.035 ** (legend.classifiers.index(group.classifier) - middle) if dodge else 1.0
            low, high = (found.mean if end is None else end for end in (found.low, found.high))
            text = (
                f"{group.label}: {style.measured(found.mean)} {style.interval(found.low, found.high)}".strip()
            )
            text += f" {style.unit}, {x_label} {tick_text(float(f'{at:.4g}'))}"
            point = _Point(shift * at, scale * found.mean, scale * low, scale * high, group.method, text)
            curves.setdefault((legend.family_of[group.method], group.classifier), []).append(point)
    return curves


def _error_curve(axes: Axes, curve: Sequence[_Point], look: dict[str, Any]) -> None:
    colour = look["color"]
    if len(curve) > 1:
        axes.plot([point.x for point in curve], [point.y for point in curve], linewidth=1.0, color=colour)
    for point in curve:
        gid = tip(point.method, point.text)
        ends: dict[str, Any] = {"marker": "_", "markersize": 4.0, "linewidth": 1.0}
        axes.plot([point.x, point.x], [point.low, point.high], color=colour, gid=gid, **ends)
        axes.plot(point.x, point.y, linestyle="none", markersize=5.5, gid=gid, **look)


def _learning_panel(axes: Axes, title: str, curves: Sequence[_Curve]) -> None:
    for curve in curves:
        steps, values = zip(*curve.values, strict=True)
        gid = tip(curve.method, f"{curve.method}: {values[-1]:.4g} at step {steps[-1]}")
        axes.plot(steps, values, color=curve.colour, linewidth=1.2, marker=".", markersize=3, gid=gid)
    axes.set_title(title, fontsize=8.5)
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    log_if_wide(axes, "y", [value for curve in curves for _, value in curve.values], least=10)
