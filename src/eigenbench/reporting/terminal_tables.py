"""The report in the terminal: published numbers, protocols and leaderboards, readable at 80 columns."""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.table import Table
from rich.text import Text

from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.display_names import experiment_name
from eigenbench.reporting.leaderboard import TIED, leaderboard_notes, leaderboards
from eigenbench.reporting.page_tables import leaderboard_table, measure_tables, published_table
from eigenbench.reporting.published import compare_all_published, verdict_counts
from eigenbench.reporting.replicates import Groups, RunGroup, status_counts
from eigenbench.reporting.shown_table import ShownTable

#: Lines of each leaderboard in the summary.
_N_BEST = 3

_STYLES = {"reproduced": "green", "better": "cyan", "off": "red", "best": "bold", "failed-text": "red"}


def print_suites(suites: Sequence[Suite], groups: Groups) -> None:
    """Print everything measured: beside published numbers, by protocols, and the leaderboards."""
    console = standard_output()
    print_comparison(suites, groups, console)
    print_measurements(suites, groups, console)
    _print_leaderboards(suites, groups, console)


def print_comparison(suites: Sequence[Suite], groups: Groups, console: Console) -> None:
    """Print every published number beside the measured one: a table per experiment and source."""
    for suite in suites:
        console.print(Text(f"{suite.name}: {suite.title}", style="bold"))
        rows = compare_all_published([suite], groups)
        for (_, source), found in groupby(rows, key=lambda row: (row.experiment, row.number.source)):
            those = list(found)
            place = experiment_name(those[0].experiment, those[0].dataset)
            console.print(Text(f"{place}. Published: {source}"))
            console.print(_in_columns(published_table("", those), 6, {2, 3}))
            for row in those:
                if not row.outcome or row.seeds_note:
                    console.print(Text(f"{row.label}: {row.verdict}"))
            console.print()


def print_measurements(suites: Sequence[Suite], groups: Groups, console: Console) -> None:
    """Print what protocols measured: for each of their experiments, the table with the headline metric."""
    for suite in suites:
        for name, experiment in suite.experiments.items():
            if experiment.protocol is not None:
                measures = measure_tables(experiment, groups[suite.name, name])[0]
                console.print(Text(f"{experiment_name(name, experiment.dataset)}. {measures.title}"))
                console.print(_in_columns(measures, len(measures.columns)))
                console.print()


def print_summary(
    suites: Sequence[Suite], groups: Groups, *, report: Path, console: Console | None = None
) -> None:
    """Print the comparison, the best lines of the leaderboards, the counts, and where everything is."""
    console = console or standard_output()
    rows = compare_all_published(suites, groups)
    if rows:
        print_comparison(suites, groups, console)
    _print_leaderboards(suites, groups, console, limit=_N_BEST)
    counts = status_counts(group for found in groups.values() for group in found)
    runs = ", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "ok")
    verdicts = ", ".join(f"{count} {name}" for name, count in verdict_counts(rows).items())
    for line in (
        f"Runs:       {runs}",
        *([f"Published:  {verdicts}"] if rows else []),
        f"Report:     {report}",
        "Dashboard:  eigenbench ui",
    ):
        console.print(Text(line), soft_wrap=True)


def standard_output() -> Console:
    """Return a console that replaces what the terminal's encoding lacks, so that no name stops a report."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return Console()


def _print_leaderboards(
    suites: Sequence[Suite], groups: Groups, console: Console, *, limit: int | None = None
) -> None:
    """Print the leaderboards with a blank line after each; of each so many lines, by default all."""
    for place, board in leaderboards(suites, groups).items():
        console.print(leaderboard_text(board, groups[place], limit=limit))
        console.print()


def leaderboard_text(
    board: pd.DataFrame, groups: Sequence[RunGroup], *, limit: int | None = None
) -> RenderableType:
    """Lay out a leaderboard: so many lines, or all with notes on what is missing and on edges of grids."""
    name = experiment_name(board["experiment"].iloc[0], board["dataset"].iloc[0])
    shown = leaderboard_table("", name, board, groups)
    if board[["mean", "tied"]].isna().all(axis=None):
        return Group(Text(shown.title), Text("No run has a record yet.", style="dim"))
    notes = list(map(Text, leaderboard_notes(board)))
    if limit is not None and limit < len(board):
        notes = [Text(f"and {len(board) - limit} more", style="dim")]
    return Group(Text(shown.title), _in_columns(shown, 5, {2}, limit), *notes)


def _in_columns(
    shown: ShownTable, n_columns: int, intervals: Collection[int] = (), limit: int | None = None
) -> Table:
    """Lay out the first columns of a table; intervals of some of them only, as 80 columns are few."""
    table, columns = text_table(), shown.columns[:n_columns]
    for place, column in enumerate(columns):
        side: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(Text(column.heading), justify=side, overflow="fold", no_wrap=place in intervals)
    for row in shown.rows[:limit]:
        texts = []
        for place, column in enumerate(columns):
            cell = row.cells[column.heading]
            text = cell.line if place in intervals else cell.text
            text = text.replace(" (", "\n").replace(")", "") if column.numeric else text
            style = " ".join(_STYLES[word] for word in cell.style.split() if word in _STYLES)
            texts.append(Text(text, style=style))
        table.add_row(*texts)
    return table


def rank_texts(board: pd.DataFrame) -> list[Text]:
    """Return the ranks, with a mark where several methods tie with the best; a dash where there is none."""
    tied = board["tied"].fillna(False)
    mark = TIED if tied.sum() > 1 else " "
    return [
        Text("– ", style="dim") if pd.isna(rank) else Text(f"{rank}{mark if own else ' '}")
        for rank, own in zip(board["rank"], tied, strict=True)
    ]


def text_table() -> Table:
    """Return an empty table of the terminal's look."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
