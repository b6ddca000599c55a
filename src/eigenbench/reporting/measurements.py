"""Tables of an experiment with a protocol: methods against sizes, or methods against metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.estimates import KINDS
from eigenbench.reporting.formatting import by_size, lower_is_better, metric_style, sentence, split_size
from eigenbench.reporting.leaderboard import tie_group_of
from eigenbench.reporting.replicates import RunGroup, headline_direction
from eigenbench.reporting.shown_table import Cell, Column, Row, ShownTable

_BOLD = "the best, and ties with it, are bold"


def measure_tables(spec: ExperimentSpec, groups: Sequence[RunGroup], name: str = "") -> list[ShownTable]:
    """Tabulate everything that a protocol measured; the table with the headline metric comes first.

    Metrics named ``<metric>_at_<size>`` make a table each, with one column per size; all others share one.
    ``name`` begins the names of the tables.
    """
    measured = {metric for group in groups for record in group.finished for metric in record.metrics}
    by_stem: dict[str | None, list[str]] = {}
    for metric in [spec.headline, *sorted(measured - {spec.headline}, key=by_size)]:
        stem, size = split_size(metric)
        by_stem.setdefault(None if size is None else stem, []).append(metric)
    return [
        _table(spec, groups, stem, metrics, f"{name}-measures-{place}")
        for place, (stem, metrics) in enumerate(by_stem.items())
    ]


def _table(
    spec: ExperimentSpec, groups: Sequence[RunGroup], stem: str | None, metrics: list[str], name: str
) -> ShownTable:
    """Tabulate metrics of one stem by size, or, without a stem, metrics of which the headline is compared."""
    metrics = sorted(metrics, key=by_size) if stem else metrics
    headline = spec.headline in metrics
    lower = headline_direction(spec) if headline else lower_is_better(metrics[0])
    better = "lower" if lower else "higher"
    interval = _interval_note(groups, metrics)
    if stem:
        style, compared = metric_style(stem), metrics
        title = f"{sentence(style.label)} by size"
        headings = [f"{by_size(metric)[1]:,}" for metric in metrics]
        caption = (
            f"{sentence(style.heading)} by size, means over seeds{interval}; {better} is better, {_BOLD}."
        )
    else:
        title = "All metrics" if headline else "Other metrics"
        headings = [sentence(metric_style(metric).heading) for metric in metrics]
        compared = [spec.headline] if headline else []
        label = metric_style(spec.headline).label
        caption = f"Means over seeds{interval}" + f"; {better} {label} is better, {_BOLD}" * headline + "."
    best = {metric: tie_group_of(groups, metric, lower=lower) for metric in compared}
    rows = [
        Row(
            (
                Cell(group.filter_name),
                *(_cell(group, metric, group in best.get(metric, ())) for metric in metrics),
            ),
            group.filter_name,
        )
        for group in groups
    ]
    columns = [Column("Method"), *(Column(heading, True) for heading in headings)]
    return ShownTable(name, caption, columns, rows, title=title)


def _cell(group: RunGroup, metric: str, best: bool) -> Cell:
    found, style = group.estimate(metric), metric_style(metric)
    if found is None:
        return Cell(group.state)
    note = f" ({partial})" if (partial := group.seeds_note(metric)) else ""
    interval = style.interval(found.low, found.high)
    return Cell(style.measured(found.mean) + note, interval, style="best" if best else "")


def _interval_note(groups: Iterable[RunGroup], metrics: Iterable[str]) -> str:
    """Name the kinds of the intervals of a table, where it has any."""
    estimates = [group.estimate(metric) for group in groups for metric in metrics]
    kinds = {found.interval for found in estimates if found}
    named = " or ".join(kind for kind in KINDS if kind in kinds)
    return f"; 95 % interval: {named}" if named else ""
