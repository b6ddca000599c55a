"""The report in the terminal: the comparison table and a short summary, readable at 80 columns."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eigenbench.experiments.record import Record
from eigenbench.experiments.suite import NO_CLASSIFIER, ExperimentSpec, Suite
from eigenbench.reporting.comparison import Comparison, compare_all, verdict_counts
from eigenbench.reporting.formatting import metric_style, seconds
from eigenbench.reporting.measurements import MeasureTable, measure_tables
from eigenbench.reporting.run_groups import RunGroup, best_groups, group_runs, status_counts, total_seconds

_COLOURS = {"reproduced": "green", "better": "cyan", "off": "red", "not run": "dim"}


def print_comparison(
    suites: Sequence[Suite], records: Iterable[Record], console: Console | None = None
) -> None:
    """Print every published number beside the measured one: a table per experiment and source."""
    console = console or _standard_output()
    for suite in suites:
        rows = compare_all([suite], records)
        console.print(Text(f"{suite.name}: {suite.title}", style="bold"))
        if not rows:
            console.print("It compares with no published number.")
        for experiment, source in dict.fromkeys((row.experiment, row.number.source) for row in rows):
            _print_source(
                [row for row in rows if (row.experiment, row.number.source) == (experiment, source)], console
            )


def print_measurements(
    suites: Sequence[Suite], records: Iterable[Record], console: Console | None = None
) -> None:
    """Print what protocols measured: for each of their experiments, the table with the headline metric."""
    console = console or _standard_output()
    by_experiment = group_runs(suites, records)
    for suite in suites:
        for name, experiment in suite.experiments.items():
            if experiment.protocol is not None:
                groups = by_experiment[suite.name, name]
                measures = measure_tables(experiment, groups)[0]
                console.print(Text(f"{name}, on {experiment.dataset}. {measures.title}"))
                console.print(_measured(measures, groups))
                console.print()


def print_summary(
    suites: Sequence[Suite], records: Sequence[Record], *, report: Path, console: Console | None = None
) -> None:
    """Print the comparison, the best runs, the counts, and where the report and the dashboard are."""
    console = console or _standard_output()
    rows = compare_all(suites, records)
    if rows:
        print_comparison(suites, records, console)
    console.print(_best_table(suites, records))
    console.print()
    own = [record for record in records if record.suite in {suite.name for suite in suites}]
    runs = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in status_counts(own).items())
    verdicts = ", ".join(f"{count} {name}" for name, count in verdict_counts(rows).items())
    for line in (
        f"Runs:       {runs}",
        f"Published:  {verdicts}",
        f"Report:     {report}",
        "Dashboard:  eigenbench ui",
    ):
        console.print(Text(line), soft_wrap=True)


def _standard_output() -> Console:
    """Return a console that replaces what the terminal's encoding lacks, so that no name stops a report."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console()


def _print_source(rows: Sequence[Comparison], console: Console) -> None:
    """Print the numbers of one source, then why some were not run."""
    first = rows[0]
    table = _table(f"{first.experiment}, on {first.dataset}. Published: {first.number.source}")
    table.add_column("method", overflow="fold")
    table.add_column("metric")
    for heading in ("published", "measured", "95 % interval", "seeds"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        style, found = metric_style(row.number.metric), row.estimate
        outcome = row.outcome or "not run"
        table.add_row(
            Text(row.number.label or row.method),
            Text(style.heading),
            style.exact(row.number.value),
            style.measured(found.mean if found else None),
            Text(style.interval(found.low, found.high) if found else ""),
            row.seeds_note.removesuffix(" seeds") or str(found.n_seeds) if found else "",
            Text(outcome, style=_COLOURS[outcome]),
        )
    console.print(table)
    for row in rows:
        if row.estimate is None or row.seeds_note:
            console.print(Text(f"{row.number.label or row.method}: {row.verdict}"))
    console.print()


def _measured(measures: MeasureTable, groups: Sequence[RunGroup]) -> Table:
    """Tabulate means; intervals would not fit beside each other, and are in the report."""
    table = _table("")
    table.add_column("method", overflow="fold")
    for column in measures.columns:
        table.add_column(Text(column.heading), justify="right", overflow="fold")
    for group in groups:
        row = [Text(group.method)]
        for column in measures.columns:
            found = group.estimate(column.metric)
            text = column.style.measured(found.mean) if found else group.state
            text = "\n".join(filter(None, [text, group.seeds_note(column.metric)]))
            row.append(Text(text, style="bold" if group in column.best else ""))
        table.add_row(*row)
    return table


def _best_table(suites: Sequence[Suite], records: Iterable[Record]) -> Table:
    table = _table("Best run of each experiment")
    table.add_column("experiment", overflow="fold", min_width=10)
    table.add_column("method", no_wrap=True)
    table.add_column("metric")
    for heading in ("mean", "95 % interval", "time (s)"):
        table.add_column(heading, justify="right", no_wrap=True)
    for (suite, name), groups in group_runs(suites, records).items():
        experiment = next(found for found in suites if found.name == suite).experiments[name]
        table.add_row(Text(name), *_best_row(experiment, groups))
    return table


def _best_row(experiment: ExperimentSpec, groups: Sequence[RunGroup]) -> list[Text]:
    style = metric_style(experiment.headline)
    best = best_groups(experiment, groups)
    found = best[0].estimate(experiment.headline) if best else None
    if found is None:
        if any(group.estimate(experiment.headline) for group in groups):
            outcome = "none with all seeds"
        else:
            outcome = "no value" if any(group.finished for group in groups) else "none finished"
        return [Text(outcome), Text(style.heading), Text("–"), Text(""), Text("–")]
    classifier = best[0].classifier
    return [
        Text(best[0].method if classifier == NO_CLASSIFIER else f"{best[0].method}\n{classifier}"),
        Text(style.heading),
        Text(style.measured(found.mean)),
        Text(style.interval(found.low, found.high)),
        Text(seconds(best[0].mean(total_seconds))),
    ]


def _table(title: str) -> Table:
    return Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
