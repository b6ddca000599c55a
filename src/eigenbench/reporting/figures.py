"""Figures of methods: forest plots, a metric against its costs, and ranks, ratios and time over datasets."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from eigenbench.bench.records.record import Record
from eigenbench.comparison.pareto import pareto_front
from eigenbench.reporting.display_names import classifier_name, dataset_name, label_name, method_name
from eigenbench.reporting.drawing import (
    COLOURS,
    GREY,
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
from eigenbench.reporting.leaderboard import in_order, line_titles
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import RunGroup, is_crowded
from eigenbench.reporting.suite_ranks import SuiteRanks

_WIDTH, _FOREST_WIDTH, _LINE = 5.5, 7.0, 0.25
_ENDS = ("ci_low", "ci_high")
#: On a logarithmic axis, intervals end at the latest so many times below the smallest mean.
_BELOW = 3
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

    Colours are those of the methods, markers those of the classifiers. Of more methods than colours, those on
    the Pareto front are named. ``x`` takes a record and returns a positive number, drawn as a mean over
    seeds. ``front`` joins the points of the Pareto front,
    which are of all planned seeds. None where the points have fewer than two places.
    """
    points = _points(groups, metric, x, x_label)
    if len({point.x for point in points}) < 2:
        return None
    losses = np.array([(point.x, point.y if lower else -point.y) for point in points])
    whole = [not point.group.seeds_note(metric) for point in points]
    fronts = iter(pareto_front(losses[whole]))
    best = [point for point, complete in zip(points, whole, strict=True) if complete and next(fronts)]
    crowded = is_crowded(groups)
    markers = dict(zip(dict.fromkeys(group.classifier for group in groups), MARKERS * 9, strict=False))
    classifiers = {classifier_name(key): {"marker": marker, "color": INK} for key, marker in markers.items()}
    methods = {group.filter_name: {"marker": MARKERS[0], "color": COLOURS[group.colour]} for group in groups}
    above, below = (names if len(names) > 1 else {} for names in (classifiers, {} if crowded else methods))

    def draw(axes: Axes) -> None:
        if front:
            line = ([point.x for point in best], [point.y for point in best])
            axes.plot(*line, color=INK, linewidth=1, alpha=0.5, drawstyle="steps-post")
        log_if_wide(axes, "x", [point.x for point in points], least=4)
        means = [point.y for point in points]
        lowest = min(means) / _BELOW if log_if_wide(axes, "y", means, least=8) else -math.inf
        for point in points:
            gid = hover_id(point.group.filter_name, point.text)
            places = (3 * [point.x], [max(point.low, lowest), point.y, point.high])
            style: MarkerStyle = {"marker": markers[point.group.classifier], "markersize": 5.5}
            style["color"] = GREY if crowded else COLOURS[point.group.colour]
            axes.plot(*places, linewidth=1.0, markevery=[1], clip_on=False, gid=gid, **style)
        for point in best if crowded else ():
            axes.plot(point.x, point.y, "o", color=INK, markersize=6)
            _name_point(axes, point.x, point.y, point.group.title)
        axes.set_xlabel(x_label)
        axes.set_ylabel(metric_style(metric).heading)
        draw_names(axes, above, "outside upper center")
        draw_names(axes, below, methods={name: name for name in below})

    height = 3.3 + names_height(list(above), _WIDTH) + names_height(list(below), _WIDTH)
    return Drawing(draw, (_WIDTH, height))


class _CostPoint(NamedTuple):
    """A mean and its interval, in shown units, and what it is of."""

    x: float
    y: float
    low: float
    high: float
    group: RunGroup
    text: str


def _points(
    groups: Sequence[RunGroup], metric: str, x: Callable[[Record], float | None], x_label: str
) -> list[_CostPoint]:
    """Return the points of the groups that have both numbers, from left to right."""
    style = metric_style(metric)
    points = []
    for group in groups:
        found, at = group.estimate(metric), group.mean(x)
        if found is not None and math.isfinite(found.mean) and at:
            text = f"{group.title}: {style.measured(found.mean)} {style.interval(found.low, found.high)}"
            text = f"{text.strip()} {style.unit}, {x_label} {tick_text(float(f'{at:.4g}'))}"
            y, low, high = (style.scale * value for value in (found.mean, *found.ends))
            points.append(_CostPoint(at, y, low, high, group, text))
    return sorted(points, key=attrgetter("x", "y"))


def _name_point(axes: Axes, x: float, y: float, name: str) -> None:
    axes.annotate(name, (x, y), textcoords="offset points", xytext=(5, -9), fontsize=7.5)


class _Bar(NamedTuple):
    """A line of a forest plot: a mean with the ends of its interval."""

    title: str
    mean: float
    low: float
    high: float
    colour: str
    gid: str


def _draw_bars(axes: Axes, bars: Sequence[_Bar]) -> None:
    for place, bar in enumerate(bars):
        style: MarkerStyle = {"color": bar.colour, "linewidth": 1.2, "markevery": [1], "clip_on": False}
        axes.plot([bar.low, bar.mean, bar.high], 3 * [place], "o-", gid=bar.gid, **style)
    axes.set_yticks(range(len(bars)), [bar.title for bar in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.grid(False, axis="y")


def published_by_group(published: Iterable[PublishedComparison], metric: str) -> dict[tuple[str, str], float]:
    """Return the first published number on a metric, without bounds, by method and classifier."""
    found: dict[tuple[str, str], float] = {}
    for row in published:
        if row.group is not None and row.number.metric == metric and not row.number.bound:
            found.setdefault(row.group.key, row.number.value)
    return found


def forest_plot(
    board: pd.DataFrame, numbers: Mapping[tuple[str, str], float], groups: Sequence[RunGroup]
) -> Drawing | None:
    """Draw the ranked methods, best first, with ties and published ``numbers`` marked; None below two."""
    ranked = board[board["rank"].notna()]
    if len(ranked) < 2:
        return None
    metric = str(ranked["metric"].iloc[0])
    style = metric_style(metric)
    shown = in_order(ranked, groups)
    published_here = [numbers.get(group.key) for group in shown]
    lines = list(zip(ranked.to_dict("records"), shown, published_here, strict=True))
    means = [style.scale * line["mean"] for line, *_ in lines]
    ends = [style.scale * line[end] for line, *_ in lines for end in _ENDS if pd.notna(line[end])]
    is_best = (ranked["tied"].fillna(False) | (ranked["rank"] == 1)).tolist()
    colours = [COLOURS[group.colour] for group in shown]
    if is_crowded(groups):
        colours = [INK if best else GREY for best in is_best]

    def draw(axes: Axes) -> None:
        is_log = log_if_wide(axes, "x", means, least=8)
        others = [style.scale * number for number in published_here if number is not None]
        limits = (min(means) / _BELOW, np.inf) if is_log else _forest_limits(means, ends, others)
        titled = zip(lines, line_titles(ranked), colours, strict=True)
        _draw_bars(axes, [_bar(*line, title, colour, limits) for line, title, colour in titled])
        tied = np.flatnonzero(ranked["tied"].fillna(False)).tolist()
        for place in tied if len(tied) > 1 else ():
            axes.axhspan(place - 0.5, place + 0.5, color=GREY, alpha=0.2, linewidth=0)
        mark: MarkerStyle = {"color": INK, "fillstyle": "none", "clip_on": False}
        for place, (_, group, number) in enumerate(lines):
            if number is not None:
                axes.plot(style.scale * number, place, "D", gid=hover_id(group.filter_name), **mark)
        if not is_log:
            axes.set_xlim(*limits)
        axes.set_xlabel(style.heading)

    return Drawing(draw, (_FOREST_WIDTH, 0.6 + _LINE * len(lines)))


def _bar(
    line: dict[Hashable, Any],
    group: RunGroup,
    number: float | None,
    title: str,
    colour: str,
    limits: tuple[float, float],
) -> _Bar:
    """Return the line of a method, with its interval cut at the limits of the axis."""
    style = metric_style(line["metric"])
    ends = [None if pd.isna(line[end]) else line[end] for end in _ENDS]
    text = f"{title}: {style.measured(line['mean'])} {style.interval(*ends)}".strip()
    text += f", published {style.exact(number)}" if number is not None else ""
    low, high = (line["mean"] if end is None else end for end in ends)
    low, high = np.clip([style.scale * low, style.scale * high], *limits)
    return _Bar(title, style.scale * line["mean"], low, high, colour, hover_id(group.filter_name, text))


def _forest_limits(
    means: Sequence[float], ends: Sequence[float], published: Sequence[float]
) -> tuple[float, float]:
    """Return limits that hold means and published numbers, and ends up to the span of the means away."""
    spread = max(means) - min(means) or abs(max(means)) or 1.0
    near = np.clip(ends, min(means) - spread, max(means) + spread)
    inside = [*means, *published, *near]
    return min(inside) - 0.05 * spread, max(inside) + 0.05 * spread


def heat_map(ranks: SuiteRanks) -> Drawing:
    """Draw the ratio of errors to the best of each dataset, competitors x datasets, ties outlined."""
    ratios, tied = ranks.ratios, ranks.tied[ranks.ranks.index].T

    def draw(axes: Axes) -> None:
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
    bars = [
        _Bar(label_name(str(name)), line["mean_rank"], line["rank_low"], line["rank_high"], GREY, "")
        for name, line in ranks.ranks.iterrows()
    ]

    def draw(axes: Axes) -> None:
        _draw_bars(axes, bars)
        axes.set_xlabel("mean rank, 1 is best")

    return Drawing(draw, (_FOREST_WIDTH, 0.6 + _LINE * len(bars)))


def rank_against_seconds(ranks: SuiteRanks) -> Drawing | None:
    """Plot mean ranks against the time to fit, with the Pareto front; None with fewer than two times."""
    points = ranks.ranks.dropna(subset="seconds")
    if len(points) < 2:
        return None
    front = points[points["on_front"]].sort_values("seconds")

    def draw(axes: Axes) -> None:
        axes.plot(front["seconds"], front["mean_rank"], color=INK, linewidth=1, drawstyle="steps-post")
        for name, line in points.iterrows():
            colour, size = (INK, 6) if line["on_front"] else (GREY, 4)
            text = f"{label_name(str(name))}: mean rank {line['mean_rank']:.2f}, {seconds(line['seconds'])} s"
            gid = hover_id(method_name(str(name).partition(" + ")[0]), text)
            axes.plot(line["seconds"], line["mean_rank"], "o", color=colour, markersize=size, gid=gid)
        for name, line in front.iterrows():
            _name_point(axes, line["seconds"], line["mean_rank"], label_name(str(name)))
        log_if_wide(axes, "x", list(points["seconds"]), least=4)
        axes.set_xlabel("time to fit (s), geometric mean over datasets")
        axes.set_ylabel("mean rank")

    return Drawing(draw, (6.5, 4.2))
