"""Tables of an experiment with a protocol: methods against sizes, or methods against metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.estimates import KINDS
from eigenbench.reporting.formatting import (
    MetricStyle,
    by_size,
    lower_is_better,
    metric_style,
    sentence,
    split_size,
)
from eigenbench.reporting.leaderboard import tie_group_of
from eigenbench.reporting.replicates import RunGroup, headline_direction


@dataclass(frozen=True)
class MeasureColumn:
    """One metric of a table, and the groups where it is best; none for a metric that is not compared."""

    metric: str
    heading: str
    style: MetricStyle
    best: list[RunGroup]


@dataclass(frozen=True)
class MeasureTable:
    """Means over seeds of several metrics, with one row per method."""

    title: str
    caption: str
    columns: list[MeasureColumn]


def measure_tables(spec: ExperimentSpec, groups: Sequence[RunGroup]) -> list[MeasureTable]:
    """Tabulate everything that a protocol measured; the table with the headline metric comes first.

    Metrics named ``<metric>_at_<size>`` make a table each, with one column per size; all others share one.
    """
    by_stem: dict[str | None, list[str]] = {}
    for metric in _metrics(spec, groups):
        stem, size = split_size(metric)
        by_stem.setdefault(None if size is None else stem, []).append(metric)
    return [
        _plain_table(spec, groups, metrics) if stem is None else _size_table(spec, groups, stem, metrics)
        for stem, metrics in by_stem.items()
    ]


def _metrics(spec: ExperimentSpec, groups: Iterable[RunGroup]) -> list[str]:
    """Return the headline metric, then the others in the order of their names."""
    measured = {metric for group in groups for record in group.finished for metric in record.metrics}
    return [spec.headline, *sorted(measured - {spec.headline}, key=by_size)]


def _size_table(
    spec: ExperimentSpec, groups: Sequence[RunGroup], stem: str, metrics: list[str]
) -> MeasureTable:
    style = metric_style(stem)
    lower = headline_direction(spec) if stem == split_size(spec.headline)[0] else lower_is_better(stem)
    columns = [
        MeasureColumn(metric, f"{by_size(metric)[1]:,}", style, tie_group_of(groups, metric, lower=lower))
        for metric in sorted(metrics, key=by_size)
    ]
    better = "Lower" if lower else "Higher"
    return MeasureTable(
        f"{sentence(style.label)} by size",
        f"{sentence(style.heading)} by size, mean over seeds{_interval_note(groups, metrics)}. "
        f"{better} is better; the best of each size, and what cannot be distinguished from it, is bold, "
        "if all its seeds have a result.",
        columns,
    )


def _plain_table(spec: ExperimentSpec, groups: Sequence[RunGroup], metrics: list[str]) -> MeasureTable:
    columns = []
    for metric in metrics:
        style = metric_style(metric)
        best = []
        if metric == spec.headline:
            best = tie_group_of(groups, metric, lower=headline_direction(spec))
        columns.append(MeasureColumn(metric, sentence(style.heading), style, best))
    caption = f"Means over seeds{_interval_note(groups, metrics)}."
    if metrics[0] == spec.headline:
        better = "Lower" if headline_direction(spec) else "Higher"
        label = metric_style(spec.headline).label
        caption += f" {better} {label} is better; the best, and what cannot be "
        caption += "distinguished from it, is bold, if all its seeds have a result."
    title = "All metrics" if metrics[0] == spec.headline else "Other metrics"
    return MeasureTable(title, caption, columns)


def _interval_note(groups: Iterable[RunGroup], metrics: Iterable[str]) -> str:
    """Say how the intervals of a table were made, where it has any."""
    estimates = [group.estimate(metric) for group in groups for metric in metrics]
    kinds = {found.interval for found in estimates if found}
    named = " or ".join(kind for kind in KINDS if kind in kinds)
    return f"; 95 % interval: {named}" if named else ""
