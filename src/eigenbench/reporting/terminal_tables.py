"""The report in the terminal: published numbers, protocols and leaderboards, readable at 80 columns."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.display_names import classifier_name, experiment_name, method_name
from eigenbench.reporting.formatting import MetricStyle, metric_style, seconds, sentence
from eigenbench.reporting.leaderboard import TIED, leaderboard_notes, leaderboards
from eigenbench.reporting.measurements import measure_tables
from eigenbench.reporting.published import PublishedComparison, compare_all_published, verdict_counts
from eigenbench.reporting.replicates import Groups, status_counts
from eigenbench.reporting.shown_table import ShownTable

#: Lines of each leaderboard in the summary.
_N_BEST = 3

_COLOURS = {"reproduced": "green", "better": "cyan", "off": "red", "not run": "dim"}


def print_suites(suites: Sequence[Suite], groups: Groups, console: Console | None = None) -> None:
    """Print everything measured: beside published numbers, by protocols, and the leaderboards."""
    console = console or _standard_output()
    print_comparison(suites, groups, console)
    print_measurements(suites, groups, console)
    print_leaderboards(list(leaderboards(suites, groups).values()), console)


def print_comparison(suites: Sequence[Suite], groups: Groups, console: Console | None = None) -> None:
    """Print every published number beside the measured one: a table per experiment and source."""
    console = console or _standard_output()
    for suite in suites:
        rows = compare_all_published([suite], groups)
        console.print(Text(f"{suite.name}: {suite.title}", style="bold"))
        for experiment, source in dict.fromkeys((row.experiment, row.number.source) for row in rows):
            _print_source(
                [row for row in rows if (row.experiment, row.number.source) == (experiment, source)], console
            )


def print_measurements(suites: Sequence[Suite], groups: Groups, console: Console | None = None) -> None:
    """Print what protocols measured: for each of their experiments, the table with the headline metric."""
    console = console or _standard_output()
    for suite in suites:
        for name, experiment in suite.experiments.items():
            if experiment.protocol is not None:
                measures = measure_tables(experiment, groups[suite.name, name])[0]
                console.print(Text(f"{experiment_name(name, experiment.dataset)}. {measures.title}"))
                console.print(_measured(measures))
                console.print()


def print_summary(
    suites: Sequence[Suite], groups: Groups, *, report: Path, console: Console | None = None
) -> None:
    """Print the comparison, the best lines of the leaderboards, the counts, and where everything is."""
    console = console or _standard_output()
    rows = compare_all_published(suites, groups)
    if rows:
        print_comparison(suites, groups, console)
    print_leaderboards(list(leaderboards(suites, groups).values()), console, limit=_N_BEST)
    own = [record for found in groups.values() for group in found for record in group.records]
    runs = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in status_counts(own).items())
    verdicts = ", ".join(f"{count} {name}" for name, count in verdict_counts(rows).items())
    for line in (
        f"Runs:       {runs}",
        *([f"Published:  {verdicts}"] if rows else []),
        f"Report:     {report}",
        "Dashboard:  eigenbench ui",
    ):
        console.print(Text(line), soft_wrap=True)


def _standard_output() -> Console:
    """Return a console that replaces what the terminal's encoding lacks, so that no name stops a report."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console()


def _print_source(rows: Sequence[PublishedComparison], console: Console) -> None:
    """Print the numbers of one source, then why some were not run."""
    first = rows[0]
    table = text_table(
        f"{experiment_name(first.experiment, first.dataset)}. Published: {first.number.source}"
    )
    columns = list(first.cells)
    for name in columns:
        text = name in ("Method", "Metric", "Verdict")
        table.add_column(
            name.lower(), justify="left" if text else "right", no_wrap=name not in ("Method", "Metric")
        )
    for row in rows:
        outcome = row.outcome or ("bound" if row.number.bound else "see below" if row.repeats else "not run")
        shown = row.cells | {"Verdict": outcome}
        table.add_row(
            *(
                Text(shown[name], style=_COLOURS.get(outcome, "dim") if name == "Verdict" else "")
                for name in columns
            )
        )
    console.print(table)
    for row in rows:
        if row.outcome is None or row.seeds_note:
            console.print(Text(f"{row.cells['Method']}: {row.verdict}"))
    console.print()


def _measured(shown: ShownTable) -> Table:
    """Tabulate means; intervals would not fit beside each other, and are in the report."""
    table = text_table("")
    for column in shown.columns:
        heading = Text(column.heading if column.numeric else column.heading.lower())
        table.add_column(heading, justify="right" if column.numeric else "left", overflow="fold")
    for row in shown.rows:
        texts = [cell.text.replace(" (", "\n").replace(")", "") for cell in row.cells[1:]]
        styles = ["bold" if "best" in cell.style else "" for cell in row.cells[1:]]
        table.add_row(Text(row.cells[0].text), *map(Text, texts, styles))
    return table


def leaderboard_table(board: pd.DataFrame, *, limit: int | None = None) -> RenderableType:
    """Lay out a leaderboard for the terminal.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.
    limit : int, optional
        Show so many lines; by default all, and after them what is missing and which parameters were chosen
        at the edge of their grid.

    Returns
    -------
    rich renderable
        To be printed by a `rich.console.Console`.
    """
    style = metric_style(str(board["metric"].iloc[0]))
    common = _common_classifier(board)
    name = experiment_name(board["experiment"].iloc[0], board["dataset"].iloc[0])
    heading = Text(f"{name}. {sentence(style.heading)}")
    if common:
        heading.append(
            f" of {classifier_name(common)}"
            + ("" if (board["classifier"] == common).all() else ", or as named")
        )
    if board[["mean", "tied"]].isna().all(axis=None):
        return Group(heading, Text("No run has a record yet.", style="dim"))
    table = text_table()
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("method", overflow="fold")
    for name in ("mean", "95 % interval", "gap to best", "time (s)"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = board if limit is None else board.head(limit)
    for rank, line in zip(rank_texts(shown), shown.to_dict("records"), strict=True):
        other = "" if line["classifier"] == common else line["classifier"]
        label = ", ".join(filter(None, (method_name(line["method"]), classifier_name(other))))
        table.add_row(rank, Text(label), *_numbers(line, style))
    if len(shown) < len(board):
        return Group(heading, table, Text(f"and {len(board) - len(shown)} more", style="dim"))
    return Group(heading, table, *(Text(note) for note in leaderboard_notes(board)))


def _common_classifier(board: pd.DataFrame) -> str:
    """Return the classifier of more than half of the lines; empty if there is none."""
    counts = board["classifier"].value_counts()
    return str(counts.index[0]) if 2 * counts.iloc[0] > len(board) else ""


def print_leaderboards(boards: Sequence[pd.DataFrame], console: Console, *, limit: int | None = None) -> None:
    """Print leaderboards with a blank line after each; of each so many lines, by default all."""
    for board in boards:
        console.print(leaderboard_table(board, limit=limit))
        console.print()


def rank_texts(board: pd.DataFrame) -> list[Text]:
    """Return the ranks, with a mark where several methods tie with the best; a dash where there is none."""
    tied = board["tied"].fillna(False)
    mark = TIED if tied.sum() > 1 else " "
    return [
        Text("– ", style="dim") if pd.isna(rank) else Text(f"{rank}{mark if own else ' '}")
        for rank, own in zip(board["rank"], tied, strict=True)
    ]


def _numbers(line: dict[str, Any], style: MetricStyle) -> list[Text]:
    if pd.isna(line["mean"]):
        return [Text("none", style="red"), Text(""), Text(""), Text(_seconds(line), style="dim")]
    ends = [None if pd.isna(line[name]) else float(line[name]) for name in ("ci_low", "ci_high")]
    difference = "" if pd.isna(line["p_value"]) else _signed(line["difference"], style)
    return [
        Text(style.measured(line["mean"]), style="bold" if line["tied"] is True else ""),
        Text(style.interval(*ends)),
        Text(difference),
        Text(_seconds(line)),
    ]


def _signed(value: float, style: MetricStyle) -> str:
    return f"{'+' if value >= 0 else '−'}{style.measured(abs(value))}"


def _seconds(line: dict[str, Any]) -> str:
    return seconds(None if pd.isna(line["seconds"]) else line["seconds"])


def text_table(title: str = "") -> Table:
    """Return an empty table of the terminal's look."""
    return Table(
        title=Text(title) if title else None,
        title_justify="left",
        title_style="",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
