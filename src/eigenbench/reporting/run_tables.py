"""Tables of the page about runs, suites, machines and data, each described once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.display_names import dataset_name
from eigenbench.reporting.formatting import count, metric_style, seconds, sentence
from eigenbench.reporting.parameters import search_summary
from eigenbench.reporting.replicates import RunGroup, reason, total_seconds
from eigenbench.reporting.shown_table import NONE, Cell, Row, ShownTable, columns_of

Link = Callable[[Record], str]


def problems_table(name: str, groups: Iterable[RunGroup], log_link: Link) -> ShownTable | None:
    """Describe the runs without a result, and those whose result is doubtful; None without any."""
    columns = columns_of("Method and classifier", "Seed", "Status", "Reason", "Log")
    rows = []
    for group in groups:
        for record in group.records:
            for status, why in _problems(record):
                log = record.failure.log if record.failure and record.failure.log else ""
                cells = (
                    Cell(group.title),
                    Cell(str(record.seed)),
                    Cell(status, style="failed-text"),
                    Cell(why),
                    Cell(log or NONE, href=log_link(record) if log else ""),
                )
                rows.append(Row(cells, group.filter_name))
        if lacking := group.n_planned - len(group.records):
            why = f"{lacking} of {group.n_planned} seeds have no record: run the same snakemake command again"
            cells = (Cell(group.title), Cell(), Cell("no record", style="failed-text"), Cell(why), Cell())
            rows.append(Row(cells, group.filter_name))
    return ShownTable(name, "Runs without a result, and results to doubt.", columns, rows) if rows else None


def _problems(record: Record) -> Iterator[tuple[str, str]]:
    if record.status != "ok":
        yield record.status.replace("_", " "), reason(record, 1000)
    for warning in record.warnings:
        yield "doubtful", warning


def searches_table(name: str, groups: Iterable[RunGroup]) -> ShownTable | None:
    """Describe the hyperparameter searches; None without any."""
    numbers = ("Candidates", "Validation score", "Scores of all")
    headings = ("Method and classifier", "Candidates", "Selected, by seed", *numbers[1:])
    rows = [
        Row((Cell(group.title), *map(Cell, search_summary(searches))), group.filter_name)
        for group in groups
        if (searches := {record.seed: record.search for record in group.records if record.search})
    ]
    caption = (
        "Hyperparameter searches on held-out training rows; the selected candidate was refitted on all "
        "training rows. Every candidate is in searches.csv."
    )
    return ShownTable(name, caption, columns_of(*headings, numeric=numbers), rows) if rows else None


def runs_table(
    name: str, headline: str, groups: Sequence[RunGroup], target: Link, record_link: Link, log_link: Link
) -> ShownTable:
    """Describe every run, with the command that makes it."""
    style = metric_style(headline)
    numbers = ("Seed", sentence(style.heading), "Time (s)")
    headings = ("Method and classifier", "Seed", "Status", *numbers[1:], "Command")
    rows = []
    for place, group in enumerate(groups):
        for number, record in enumerate(group.records):
            cells = (
                Cell(group.title),
                Cell(str(record.seed), href=record_link(record)),
                Cell(record.status.replace("_", " "), href=log_link(record)),
                Cell(style.measured(record.metrics.get(headline))),
                Cell(seconds(total_seconds(record))),
                Cell(f"snakemake {target(record)}", style="command"),
            )
            rows.append(Row(cells, group.filter_name, f"{name}-{place}" if number == 0 else ""))
    caption = (
        "Every run, with the command that makes it. Seeds link to records, states to logs. All metrics and "
        "keys are in results.csv."
    )
    return ShownTable(name, caption, columns_of(*headings, numeric=numbers), rows)


def experiments_table(views: Iterable[Any], *, several: bool) -> ShownTable:
    """Describe the best of each experiment, and whether that is significant."""
    headings = ("Dataset", "Best method", "Result", "Significant", "Reproduced")
    columns = columns_of(*(["Suite"] if several else []), *headings)
    rows = []
    for view in views:
        found = view.headline_results
        result = Cell("no result")
        if found["best"]:
            style, mean = view.headline, view.board_lines[0]["mean"]
            result = Cell(f"{style.measured(mean)} {style.unit}".strip(), style.label)
        cells = [
            Cell(view.short_title, href=f"#{view.anchor}"),
            Cell(found["best"] or NONE),
            result,
            Cell(found["significant"] or NONE),
            Cell(
                found["reproduced"] or NONE, href=f"#{view.anchor}-published" if found["reproduced"] else ""
            ),
        ]
        rows.append(Row((*([Cell(view.suite.title)] if several else []), *cells)))
    caption = "Best method of each experiment. Significant: whether it beats every other method (5 % level)."
    if all(row.cells[-1].text == NONE for row in rows):
        columns, rows = columns[:-1], [Row(row.cells[:-1]) for row in rows]
    return ShownTable("experiments", caption, columns, rows, header=int(several))


def suites_table(views: Iterable[Any]) -> ShownTable:
    """Describe the suites of a page: published numbers by verdict, and runs by status."""
    headings = ("Better", "Reproduced", "Off", "Not run", "Runs ok", "Failed", "Runs not made")
    rows = [
        Row(
            (
                Cell(view.suite.title, href=f"#suite-{view.suite.name}"),
                *(Cell(count(number)) for number in (*view.verdicts.values(), *view.runs.values())),
            )
        )
        for view in views
    ]
    columns = columns_of("Suite", *headings, numeric=headings)
    return ShownTable("suites", "Suites: published numbers by verdict, and runs by status.", columns, rows)


def deviations_table(suite: Suite) -> ShownTable:
    """Describe what deviates from the paper, and why."""
    rows = [Row((Cell(row.paper), Cell(row.here), Cell(row.why))) for row in suite.deviations]
    columns = columns_of("Paper", "Here", "Why")
    return ShownTable(f"{suite.name}-deviations", "Deviations from the paper.", columns, rows)


def environments_table(environments: Iterable[tuple[dict[str, Any], int]]) -> ShownTable:
    """Describe the machines and versions of the runs."""
    headings = ("Python", "Platform", "Processor", "Threads", "Git commit", "Code hash", "Packages")
    rows = []
    for found, number in environments:
        dirty = " with uncommitted changes" if found["git_dirty"] else ""
        cells = (
            Cell(count(number)),
            Cell(found["python"]),
            Cell(found["platform"]),
            Cell(found["cpu"], found["blas"] or ""),
            Cell(str(found["threads"])),
            Cell((found["git_commit"] or "unknown") + dirty, style="mono"),
            Cell(found["code_hash"], style="mono"),
            Cell(", ".join(f"{name} {version}" for name, version in sorted(found["packages"].items()))),
        )
        rows.append(Row(cells))
    columns = columns_of("Runs", *headings, numeric=("Runs",))
    return ShownTable("environments", "Environments of the runs.", columns, rows)


def datasets_table(infos: Iterable[dict[str, Any]]) -> ShownTable:
    """Describe the data as used."""
    counts = {
        "Training rows": "n_train",
        "Test rows": "n_test",
        "Columns": "n_features",
        "Classes": "n_classes",
    }
    rows = [
        Row(
            (
                Cell(dataset_name(info["name"])),
                *(Cell(count(info[key])) for key in counts.values()),
                *(Cell(info[key]) for key in ("split", "source", "licence")),
                Cell(info["sha256"], style="mono"),
            )
        )
        for info in infos
    ]
    texts = ("Split", "Source", "Licence", "SHA-256 of the prepared form")
    columns = columns_of("Dataset", *counts, *texts, numeric=counts)
    return ShownTable("datasets", "Data as used.", columns, rows)
