"""Tables of an experiment with a protocol: methods against sizes, or methods against metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eigenbench.experiments.suite import ExperimentSpec
from eigenbench.reporting.cells import Cell, best_cells, best_of, headline_direction
from eigenbench.reporting.formatting import (
    MetricStyle,
    by_size,
    lower_is_better,
    metric_style,
    sentence,
    split_size,
)
from eigenbench.reporting.intervals import OVER_ROWS, OVER_SEEDS


@dataclass(frozen=True)
class MeasureColumn:
    """One metric of a table, and the cells where it is best; none for a metric that is not compared."""

    metric: str
    heading: str
    style: MetricStyle
    best: list[Cell]


@dataclass(frozen=True)
class MeasureTable:
    """Means over seeds of several metrics, with one row per method."""

    title: str
    caption: str
    columns: list[MeasureColumn]


def measure_tables(spec: ExperimentSpec, cells: Sequence[Cell]) -> list[MeasureTable]:
    """Tabulate everything that a protocol measured; the table with the headline metric comes first.

    Metrics named ``<metric>_at_<size>`` make a table each, with one column per size; all others share one.
    """
    groups: dict[str | None, list[str]] = {}
    for metric in _metrics(spec, cells):
        stem, size = split_size(metric)
        groups.setdefault(None if size is None else stem, []).append(metric)
    return [
        _plain_table(spec, cells, metrics) if stem is None else _size_table(spec, cells, stem, metrics)
        for stem, metrics in groups.items()
    ]


def _metrics(spec: ExperimentSpec, cells: Iterable[Cell]) -> list[str]:
    """Return the headline metric, then the others in the order of their names."""
    measured = {metric for cell in cells for record in cell.finished for metric in record.metrics}
    return [spec.headline, *sorted(measured - {spec.headline}, key=by_size)]


def _size_table(spec: ExperimentSpec, cells: Sequence[Cell], stem: str, metrics: list[str]) -> MeasureTable:
    style = metric_style(stem)
    lower = headline_direction(spec) if stem == split_size(spec.headline)[0] else lower_is_better(stem)
    columns = [
        MeasureColumn(metric, f"{by_size(metric)[1]:,}", style, best_of(cells, metric, lower=lower))
        for metric in sorted(metrics, key=by_size)
    ]
    better = "Lower" if lower else "Higher"
    return MeasureTable(
        f"{sentence(style.label)} by size",
        f"{sentence(style.heading)} by size, mean over seeds{_interval_note(cells, metrics)}. "
        f"{better} is better; the best of each size is bold.",
        columns,
    )


def _plain_table(spec: ExperimentSpec, cells: Sequence[Cell], metrics: list[str]) -> MeasureTable:
    columns = []
    for metric in metrics:
        style = metric_style(metric)
        best = best_cells(spec, cells) if metric == spec.headline else []
        columns.append(MeasureColumn(metric, sentence(style.heading), style, best))
    caption = f"Means over seeds{_interval_note(cells, metrics)}."
    if metrics[0] == spec.headline:
        better = "Lower" if headline_direction(spec) else "Higher"
        caption += f" {better} {metric_style(spec.headline).label} is better; the best is bold."
    title = "All metrics" if metrics[0] == spec.headline else "Other metrics"
    return MeasureTable(title, caption, columns)


def _interval_note(cells: Iterable[Cell], metrics: Iterable[str]) -> str:
    """Say how the intervals of a table were made, where it has any."""
    estimates = [cell.estimate(metric) for cell in cells for metric in metrics]
    kinds = {found.interval for found in estimates if found}
    named = " or ".join(kind for kind in (OVER_SEEDS, OVER_ROWS) if kind in kinds)
    return f"; 95 % interval: {named}" if named else ""
