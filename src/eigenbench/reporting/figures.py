"""Figures of methods: forest plots, a metric against its costs, and ranks, ratios and time over datasets."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.comparison.pareto import pareto_front
from eigenbench.reporting.display_names import classifier_name, dataset_name, label_name, method_name
from eigenbench.reporting.drawing import (
    COLOURS,
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
from eigenbench.reporting.formatting import metric_style, seconds
from eigenbench.reporting.leaderboard import line_titles
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import RunGroup
from eigenbench.reporting.suite_ranks import SuiteRanks

#: The look of all methods of a figure with more of them than colours.
_OTHERS = {"color": COLOURS[7], "alpha": 0.7}
_FOREST_WIDTH = 7.0
_LINE = 0.22
#: Ratios from this on have the strongest shade.
LARGEST_RATIO = 3.0


def error_against(
    groups: Sequence[RunGroup],
    metric: str,
    x: Callable[[Record], float | None],
    x_label: str,
    *,
    lower: bool = True,
    front: bool = False,
) -> Drawing | None:
    """Plot the mean of a metric, with its interval, against another number: one point per group.

    Colours are methods, markers are classifiers. Groups of one family (method names that differ only in a
    number at the end) and one classifier share a colour and are joined by a line. Of more methods than
    colours only the Pareto front has a colour, and its names stand beside it. ``x`` takes a record and
    returns a positive number, drawn as a mean over seeds; groups without it or without the metric are left
    out. ``front`` joins the points that no other beats in both numbers. None where the points have fewer than
    two places to the right.
    """
    looks = _Looks.of(groups)
    curves = _curves(groups, metric, x, x_label, looks)
    points = sorted(point for curve in curves.values() for point in curve)
    if len({point.x for point in points}) < 2:
        return None
    losses = np.array([(point.x, point.y if lower else -point.y) for point in points])
    best = [point for point, on_front in zip(points, pareto_front(losses), strict=True) if on_front]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        if front:
            line = ([point.x for point in best], [point.y for point in best])
            axes.plot(*line, color=INK, linewidth=1, alpha=0.5, drawstyle="steps-post")
        for (family, classifier), curve in curves.items():
            _error_curve(axes, sorted(curve), looks.marker_style(family, classifier))
        if looks.many:
            _name_points(axes, best)
        log_if_wide(axes, "x", [point.x for point in points], least=4)
        log_if_wide(axes, "y", [point.y for point in points], least=8)
        axes.set_xlabel(x_label)
        axes.set_ylabel(metric_style(metric).heading)
        looks.draw_names(figure)

    return Drawing(draw, (5.5, 3.2 + looks.height(5.5)))


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
    title: str
    text: str


@dataclass(frozen=True)
class _Looks:
    """Colours for families of methods and markers for classifiers."""

    family_of: dict[str, str]
    families: list[str]
    classifiers: list[str]

    @classmethod
    def of(cls, groups: Sequence[RunGroup]) -> _Looks:
        family_of = _families(group.method for group in groups)
        classifiers = dict.fromkeys(group.classifier for group in groups)
        return cls(family_of, list(dict.fromkeys(family_of.values())), list(classifiers))

    @property
    def many(self) -> bool:
        """True for more families than colours."""
        return len(self.families) > len(COLOURS)

    def marker_style(self, family: str, classifier: str | None = None) -> MarkerStyle:
        """Return colour and marker."""
        marker = MARKERS[self.classifiers.index(classifier) % len(MARKERS) if classifier else 0]
        colour = _OTHERS if self.many else {"color": COLOURS[self.families.index(family)]}
        return {"marker": marker, **colour}

    def height(self, width: float) -> float:
        """Return the inches that the names take in a figure of some width."""
        return 0.1 + sum(names_height(list(names), width) for names in self._names())

    def _names(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the families and classifiers that are named, by display name."""
        classifiers = {classifier_name(key): key for key in self.classifiers if len(self.classifiers) > 1}
        families = {} if self.many else {method_name(key): key for key in self.families}
        return families if len(families) > 1 else {}, classifiers

    def draw_names(self, figure: Figure) -> None:
        """Name the markers (when there are several) above the axes and the families below."""
        families, markers = self._names()
        if markers:
            styles = {
                name: {**self.marker_style(self.families[0], key), "color": INK}
                for name, key in markers.items()
            }
            draw_names(figure, styles, "outside upper center")
        if families:
            members = {
                name: ",".join(method_name(method) for method, own in self.family_of.items() if own == key)
                for name, key in families.items()
            }
            styles = {name: self.marker_style(key) for name, key in families.items()}
            draw_names(figure, styles, methods=members)


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
    looks: _Looks,
) -> dict[tuple[str, str], list[_Point]]:
    """Return the points of each family and classifier."""
    style = metric_style(metric)
    scale = style.scale
    curves: dict[tuple[str, str], list[_Point]] = {}
    for group in groups:
        found, at = group.estimate(metric), group.mean(x)
        if found is not None and math.isfinite(found.mean) and at:
            low, high = (found.mean if end is None else end for end in (found.low, found.high))
            interval = style.interval(found.low, found.high)
            text = f"{group.title}: {style.measured(found.mean)} {interval}".strip()
            text += f" {style.unit}, {x_label} {tick_text(float(f'{at:.4g}'))}"
            ends = (scale * low, scale * high, group.filter_name, group.title, text)
            curves.setdefault((looks.family_of[group.method], group.classifier), []).append(
                _Point(at, scale * found.mean, *ends)
            )
    return curves


def _error_curve(axes: Axes, curve: Sequence[_Point], look: MarkerStyle) -> None:
    colour = look["color"]
    if len(curve) > 1 and "alpha" not in look:
        axes.plot([point.x for point in curve], [point.y for point in curve], linewidth=1.0, color=colour)
    for point in curve:
        gid = hover_id(point.method, point.text)
        places = (3 * [point.x], [point.low, point.y, point.high])
        axes.plot(*places, linewidth=1.0, markersize=5.5, markevery=[1], clip_on=False, gid=gid, **look)


def _name_points(axes: Axes, points: Sequence[_Point]) -> None:
    for point in points:
        axes.plot(point.x, point.y, "o", color=COLOURS[1], markersize=6)
        axes.annotate(
            point.title, (point.x, point.y), textcoords="offset points", xytext=(5, -9), fontsize=7.5
        )


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
    ends = [style.scale * line[end] for line in lines for end in ("ci_low", "ci_high") if pd.notna(line[end])]
    shown = [
        style.scale * numbers[key]
        for line in lines
        if (key := (line["method"], line["classifier"])) in numbers
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        several = sum(line["tied"] is True for line in lines) > 1
        is_log = log_if_wide(axes, "x", means, least=8)
        limits = (-np.inf, np.inf) if is_log else _forest_limits(means, ends, shown)
        for place, line in enumerate(lines):
            _forest_line(
                axes,
                place,
                line,
                titles[place],
                style.scale,
                numbers.get((line["method"], line["classifier"])),
                limits,
            )
            if several and line["tied"] is True:
                axes.axhspan(place - 0.5, place + 0.5, color=COLOURS[0], alpha=0.12, linewidth=0)
        axes.set_yticks(range(len(lines)), titles, fontsize=8)
        axes.set_ylim(len(lines) - 0.4, -0.6)
        if not is_log:
            axes.set_xlim(*limits)
        axes.set_xlabel(style.heading)
        axes.grid(False, axis="y")

    return Drawing(draw, (_FOREST_WIDTH, 0.6 + _LINE * len(lines)))


def _forest_limits(
    means: Sequence[float], ends: Sequence[float], published: Sequence[float]
) -> tuple[float, float]:
    """Return limits that hold means and published numbers, and ends up to the span of the means away."""
    spread = max(means) - min(means) or abs(max(means)) or 1.0
    low, high = np.clip([min(ends, default=means[0]), max(ends, default=means[0])], *_widened(means, spread))
    inside = [*means, *published, low, high]
    return _widened(inside, 0.05 * spread)


def _widened(values: Sequence[float], margin: float) -> tuple[float, float]:
    return min(values) - margin, max(values) + margin


def _forest_line(
    axes: Any,
    place: int,
    line: dict[str, Any],
    title: str,
    scale: float,
    number: float | None,
    limits: tuple[float, float],
) -> None:
    style = metric_style(str(line["metric"]))
    method = method_name(str(line["method"]))
    ends = [None if pd.isna(line[end]) else line[end] for end in ("ci_low", "ci_high")]
    interval = [scale * end for end in ends if end is not None]
    if number is not None:
        axes.plot(
            scale * number,
            place,
            "D",
            color=COLOURS[1],
            fillstyle="none",
            clip_on=False,
            gid=hover_id(method),
        )
    text = f"{title}: {style.measured(line['mean'])} {style.interval(*ends)}".strip()
    text += f", published {style.exact(number)}" if number is not None else ""
    colour = COLOURS[0 if line["rank"] == 1 or line["tied"] is True else 7]
    mean = scale * line["mean"]
    low, high = np.clip(interval, *limits) if len(interval) == 2 else (mean, mean)
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

    return Drawing(draw, (_FOREST_WIDTH, 1.8 + 0.19 * len(ratios)))


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

    return Drawing(draw, (_FOREST_WIDTH, 0.6 + _LINE * len(lines)))


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
