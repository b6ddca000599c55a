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

from eigenbench.bench.records.record import Record
from eigenbench.reporting.drawing import (
    COLOURS,
    DASHES,
    FILLS,
    INK,
    MARKERS,
    Drawing,
    MarkerStyle,
    draw_names,
    hover_id,
    log_if_wide,
    names_height,
    tick_text,
)
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.replicates import RunGroup


def error_against(
    groups: Sequence[RunGroup],
    metric: str,
    x: Callable[[Record], float | None],
    x_label: str,
    *,
    dodge: bool = False,
) -> Drawing | None:
    """Plot the mean of a metric, with its interval, against another number: one point per group.

    Colours and fillings are methods, markers are classifiers. Groups of one family (method names that
    differ only in a number at the end) and one classifier share a colour and are joined by a line.

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
            _error_curve(axes, sorted(curve), legend.marker_style(family, classifier))
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
    legend = _Legend.of(groups).of_lines([group.method for group in shown])
    panels: dict[str, list[_Curve]] = {}
    for group in shown:
        for name, curve in group.finished[0].curves.items():
            title = f"{group.classifier}\n{name.replace('_', ' ')}"
            look = legend.line(legend.family_of[group.method])
            panels.setdefault(title, []).append(_Curve(group.method, look, curve))
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
    look: MarkerStyle
    values: list[tuple[int, float]]


@dataclass(frozen=True)
class _Legend:
    """Colours and fillings, or dashes, for families of methods, markers for classifiers.

    They are the same in all figures of an experiment. ``drawn`` are the families that the figure has; the
    others keep theirs for themselves.
    """

    family_of: dict[str, str]
    families: list[str]
    classifiers: list[str]
    drawn: list[str]
    lines: bool = False

    @classmethod
    def of(cls, groups: Sequence[RunGroup]) -> _Legend:
        family_of = _families(group.method for group in groups)
        families = list(dict.fromkeys(family_of.values()))
        return cls(family_of, families, list(dict.fromkeys(group.classifier for group in groups)), families)

    def of_lines(self, methods: Iterable[str]) -> _Legend:
        """Return the legend of a figure that has only lines, of some methods."""
        drawn = list(dict.fromkeys(self.family_of[method] for method in methods))
        return replace(self, classifiers=[], drawn=drawn, lines=True)

    def marker_style(self, family: str, classifier: str | None = None) -> MarkerStyle:
        """Return colour and marker; families beyond the palette have the colours again, filled otherwise."""
        turn, index = divmod(self.families.index(family), len(COLOURS))
        marker = MARKERS[self.classifiers.index(classifier) % len(MARKERS) if classifier else 0]
        filling = {"fillstyle": FILLS[turn % len(FILLS)], "markerfacecoloralt": "none"}
        return {"color": COLOURS[index], "marker": marker, **filling}

    def line(self, family: str) -> MarkerStyle:
        """Return colour and dashes; families beyond the palette have the colours again, dashed otherwise."""
        turn, index = divmod(self.families.index(family), len(COLOURS))
        return {"color": COLOURS[index], "linestyle": DASHES[turn % len(DASHES)]}

    def height(self, width: float) -> float:
        """Return the inches that the legend takes in a figure of some width."""
        legends = [self.drawn, self.classifiers if len(self.classifiers) > 1 else []]
        return 0.1 + sum(names_height(names, width) for names in legends)

    def draw(self, figure: Figure) -> None:
        """Name the markers (when there are several) above the axes and the families below."""
        if len(self.classifiers) > 1:
            looks = {
                name: self.marker_style(self.families[0], name) | {"color": INK} for name in self.classifiers
            }
            draw_names(figure, looks, "outside upper center")
        methods: dict[str, str] = {}
        for method, family in self.family_of.items():
            methods[family] = f"{methods[family]},{method}" if family in methods else method
        looks = {
            family: self.line(family) if self.lines else self.marker_style(family) for family in self.drawn
        }
        draw_names(figure, looks, methods=methods)


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


def _error_curve(axes: Axes, curve: Sequence[_Point], look: MarkerStyle) -> None:
    colour = look["color"]
    if len(curve) > 1:
        axes.plot([point.x for point in curve], [point.y for point in curve], linewidth=1.0, color=colour)
    for point in curve:
        gid = hover_id(point.method, point.text)
        ends: dict[str, Any] = {"marker": "_", "markersize": 4.0, "linewidth": 1.0}
        axes.plot(2 * [point.x], [point.low, point.high], color=colour, gid=hover_id(point.method), **ends)
        axes.plot(point.x, point.y, linestyle="none", markersize=5.5, gid=gid, **look)


def _learning_panel(axes: Axes, title: str, curves: Sequence[_Curve]) -> None:
    for curve in curves:
        steps, values = zip(*curve.values, strict=True)
        gid = hover_id(curve.method, f"{curve.method}: {values[-1]:.4g} at step {steps[-1]}")
        axes.plot(steps, values, **curve.look, linewidth=1.2, marker=".", markersize=3, gid=gid)
    axes.set_title(title, fontsize=8.5)
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    log_if_wide(axes, "y", [value for curve in curves for _, value in curve.values], least=10)
