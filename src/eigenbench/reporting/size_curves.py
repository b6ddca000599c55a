"""The figure of an experiment with a protocol: what was measured, against the size it was measured at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from eigenbench.reporting.drawing import (
    COLOURS,
    Drawing,
    MarkerStyle,
    draw_names,
    hover_id,
    log_if_wide,
    marker_style,
    names_height,
    tick_text,
)
from eigenbench.reporting.estimates import Estimate, estimate
from eigenbench.reporting.formatting import metric_style, sentence
from eigenbench.reporting.replicates import RunGroup, failed_sizes, is_crowded

_WIDTH = 5.5
_MAX_STEP_TICKS = 8
#: Curves over steps of training, whose number differs between seeds.
LEARNING = ("loss_curve", "validation_curve")
#: Of longer lines the end alone has a marker.
_MAX_MARKERS = 10
#: Curves of errors with a panel of their ratios.
_WITH_RATIOS = ("test_error_by_training_rows", "test_error_by_classes")


class _Line(NamedTuple):
    """The mean curve of one method over its seeds, in shown units, and the sizes at which a seed failed."""

    steps: list[int]
    estimates: list[Estimate]
    failed: list[int]

    @property
    def means(self) -> pd.Series:
        """The means by step."""
        return pd.Series([found.mean for found in self.estimates], self.steps)


def mean_curves(groups: Sequence[RunGroup], name: str) -> Drawing | None:
    """Plot a curve's mean over seeds, with its 95 % band: one line per method that has it.

    A line has a gap where no seed has a result, and × below sizes at which a seed failed. Learning curves
    have a second panel: the ratio of each method's error to the lowest of its rivals' at that size. A name
    ``<metric>_by_<axis>`` says what steps are. None when no method has two steps.
    """
    having = [group for group in groups if any(name in record.curves for record in group.finished)]
    alone = len({group.method for group in having}) == len(having)
    titles = [group.filter_name if alone else group.title for group in having]
    shown = {
        title if titles.count(title) == 1 else group.label: group
        for title, group in zip(titles, having, strict=True)
    }
    lines = {title: line for title, group in shown.items() if (line := _line(group, name))}
    if all(len(line.steps) < 2 for line in lines.values()):
        return None
    styles: dict[str, MarkerStyle] = {}
    for place, title in enumerate(lines):
        styles[title] = {**marker_style(place), "linestyle": "-"}
        if not is_crowded(groups):
            styles[title]["color"] = COLOURS[shown[title].colour]
    methods = {title: shown[title].filter_name for title in lines}

    steps = sorted({step for line in lines.values() for step in (*line.steps, *line.failed)})
    n_panels = 2 if name in _WITH_RATIOS and len(lines) > 1 else 1

    def draw(axes: Axes, *below: Axes) -> None:
        for label, line in lines.items():
            _draw_line(axes, line, styles[label], hover_id(methods[label], f"{label}: {_values(line)}"))
        for panel in below:
            _draw_ratios(panel, lines, styles, methods)
            _scale_steps(panel, steps)
        curve, _, axis = name.partition("_by_")
        axes.set_ylabel(sentence(metric_style(curve).heading))
        axes.set_xlabel(axis.replace("_", " ") or "step")
        _scale_steps(axes, steps)
        _scale_means(axes, [mean for line in lines.values() for mean in line.means])
        draw_names(axes, styles, methods=methods)

    return Drawing(draw, (_WIDTH, 3.2 * n_panels + names_height(list(styles), _WIDTH)), n_panels)


def _line(group: RunGroup, name: str) -> _Line | None:
    """Return the line of one method, without steps that have no finite value; of training, the first seed."""
    scale = metric_style(name.partition("_by_")[0]).scale
    values: dict[int, list[float]] = {}
    for record in group.finished[:1] if name in LEARNING else group.finished:
        for step, value in record.curves.get(name, ()):
            if math.isfinite(value):
                values.setdefault(step, []).append(scale * value)
    if not values:
        return None
    deterministic = all(record.deterministic for record in group.finished)
    of_step = partial(estimate, name, deterministic=deterministic, n_test=None, overlap=group.overlap)
    failed = {size for record in group.finished for size in failed_sizes(record)}
    steps = sorted(values)
    return _Line(steps, [of_step(values[step]) for step in steps], sorted(failed))


def _draw_line(axes: Axes, line: _Line, style: MarkerStyle, gid: str) -> None:
    marked = [len(line.steps) - 1] if len(line.steps) > _MAX_MARKERS else 1
    means = line.means.reindex(sorted({*line.steps, *line.failed}))  # a gap where every seed failed
    axes.plot(means.index, means, linewidth=1.4, markersize=4.5, markevery=marked, gid=gid, **style)
    if line.failed:
        crosses = axes.plot(line.failed, [0.02] * len(line.failed), "x", color=style["color"], gid=gid)
        crosses[0].set(transform=axes.get_xaxis_transform(), markersize=6, clip_on=False)
    if any(found.low is not None for found in line.estimates):
        low, high = zip(*(found.ends for found in line.estimates), strict=True)
        axes.fill_between(line.steps, low, high, color=style["color"], alpha=0.18, linewidth=0, gid=gid)


def _draw_ratios(
    axes: Axes, lines: dict[str, _Line], styles: dict[str, MarkerStyle], methods: dict[str, str]
) -> None:
    """Draw the ratio of each mean to the lowest of the others at the same step, with a line at 1.

    A mean of zero counts as half of the smallest positive one.
    """
    means = pd.DataFrame({label: line.means for label, line in lines.items()})
    means = means.mask(means == 0, means.where(means > 0).min(axis=1) / 2, axis=0)
    ratios = {label: (means[label] / means.drop(columns=label).min(axis=1)).dropna() for label in lines}
    for label, ratio in ratios.items():
        text = ", ".join(f"{value:.2f} at {step:,}" for step, value in ratio.items())
        gid = hover_id(methods[label], f"{label}, ratio to its best rival: {text}")
        axes.plot(ratio.index, ratio, linewidth=1.4, markersize=4.5, gid=gid, **styles[label])
    axes.axhline(1.0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_ylabel("Ratio to the best rival")
    log_if_wide(axes, "y", [value for ratio in ratios.values() for value in ratio], least=3)


def _values(line: _Line) -> str:
    """Name the values of a line, of some steps where there are many, and the sizes without a result."""
    every = max(1, math.ceil(len(line.steps) / _MAX_STEP_TICKS))
    texts = [f"{mean:.4g} at {step:,}" for step, mean in line.means[::every].items()]
    return ", ".join([*texts, *(f"failed at {size:,} (×)" for size in line.failed)])


def _scale_steps(axes: Axes, steps: list[int]) -> None:
    """Put the ticks at the steps themselves where they are few, as the powers of two of a feature count."""
    logarithmic = log_if_wide(axes, "x", steps, least=8)
    few = len(steps) <= _MAX_STEP_TICKS
    if few or not logarithmic:
        axes.xaxis.set_major_locator(FixedLocator(steps) if few else MaxNLocator(5, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def _scale_means(axes: Axes, means: list[float]) -> None:
    """Let the means set the limits: a band over few seeds may reach far, and below zero."""
    if log_if_wide(axes, "y", means, least=8):
        margin = (max(means) / min(means)) ** 0.07
        axes.set_ylim(min(means) / margin, max(means) * margin)
        return
    margin = 0.15 * (max(means) - min(means) or abs(max(means)) or 1.0)
    bottom = min(means) - margin
    axes.set_ylim(max(bottom, 0.0) if min(means) >= 0 else bottom, max(means) + margin)
