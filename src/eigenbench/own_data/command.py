"""The command ``eigenbench compare``."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Container
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eigenbench.own_data.column_values import Kind
    from eigenbench.own_data.comparison_run import ComparisonResult
    from eigenbench.own_data.problem import Problem

_of_table = partial(typer.Option, rich_help_panel="The comparison")
_of_file = partial(typer.Option, rich_help_panel="The file")
_of_methods = partial(typer.Option, rich_help_panel="The methods")


def compare(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV or other text, Parquet, Feather, Excel, JSON lines, ARFF, npz, svmlight, or a folder "
            "of images by class."
        ),
    ],
    target: Annotated[
        list[str] | None, typer.Option(help="Column to predict; repeat for several labels a row.")
    ] = None,
    test: Annotated[Path | None, _of_table(help="File of test rows, instead of folds.")] = None,
    cv: Annotated[int | None, _of_table(help="Number of stratified folds.", show_default="5")] = None,
    regression: Annotated[
        bool, _of_table("--regression", help="Treat the target as numbers, even if it has few values.")
    ] = False,
    time_column: Annotated[
        str | None, _of_table("--time", help="Column of times; the last fifth of the rows is tested.")
    ] = None,
    group: Annotated[str | None, _of_table(help="Column of groups; each group stays in one fold.")] = None,
    metric: Annotated[
        str | None, _of_table(help="Metric that ranks the methods.", show_default="error")
    ] = None,
    methods: Annotated[
        list[str] | None,
        _of_methods(
            help="Methods to compare, separated by commas, or all.", show_default="a quick selection"
        ),
    ] = None,
    exclude: Annotated[list[str] | None, _of_methods(help="Methods to leave out.")] = None,
    search: Annotated[
        bool,
        _of_methods("--search", help="Choose the settings of each method on a quarter of its training rows."),
    ] = False,
    curve: Annotated[
        bool,
        _of_methods("--curve", help="Also fit the best three to fewer rows, to see whether more would help."),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit in seconds.", show_default="300, with --search 3600")
    ] = None,
    drop: Annotated[list[str] | None, _of_file(help="Columns to leave out.")] = None,
    types: Annotated[
        list[str] | None, _of_file(help="Kind of a column: COLUMN=number, =date or =category.")
    ] = None,
    decimal: Annotated[
        str | None, _of_file(help="Decimal sign: . or ,", show_default="found in the file")
    ] = None,
    header: Annotated[
        bool, _of_file("--header/--no-header", help="Whether the first row has the names of the columns.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Number of cores.", show_default="all")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of all output.", show_default="eigenbench-FILE")
    ] = None,
    suite: Annotated[
        Path | None, typer.Option(help="Also write the comparison as a suite: path of its file.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done.")] = False,
) -> None:
    """Find out which embedding helps on your own data: from a file to a leaderboard and a saved model.

    The command writes only into its folder. After an interruption the same command continues.
    """
    started = time.monotonic()
    from eigenbench.own_data.comparison_run import Options, choose, run_comparison
    from eigenbench.own_data.files import read_user_file
    from eigenbench.own_data.problem import make_problem
    from eigenbench.own_data.progress import FitsEnd
    from eigenbench.own_data.terminal import Progress
    from eigenbench.own_data.workspace import checked_workspace

    options = Options(_names(methods), _names(exclude), metric, time_limit, search, curve, seed, jobs, suite)
    columns, left_out = target or (), drop or ()
    table = read_user_file(file, columns, group, drop=left_out, header=header)
    tested = None if test is None else read_user_file(test, columns, drop=left_out, header=header, like=table)
    kinds = _kinds(types, getattr(table.features, "columns", ()))
    problem = make_problem(
        table, tested, cv, time=time_column, decimal=decimal, kinds=kinds, regression=regression
    )
    chosen, ranked_by = choose(problem, options)
    for line in [*problem.describe(), *([chosen.note] if chosen.note else [])]:
        typer.echo(line)
    folder = out or Path(f"eigenbench-{file.resolve().stem}")
    checked_workspace(folder)
    if dry_run:
        folds = f" on {problem.n_folds} folds" if problem.n_folds else ""
        tried = f", each with up to {chosen.settings} settings" if chosen.search else ""
        names = ", ".join(chosen.names)
        typer.echo(f"{len(chosen.names)} methods{tried}{folds}, ranked by {ranked_by}: {names}")
        return
    # Asked to end, as by a batch system, it ends all that it started too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with Progress() as progress:
        outcome = run_comparison(
            problem, folder, options, started=started, seen=progress.seen, ranked=progress.ranked
        )
    _say_end(outcome, problem, header, started)
    if outcome.end is FitsEnd.INTERRUPTED:
        raise typer.Exit(130)
    if outcome.winner is None:
        raise typer.Exit(1)


def _names(given: list[str] | None) -> list[str]:
    """Return the names of an option that is given several times, or once with commas."""
    return [name for names in given or () for part in names.split(",") if (name := part.strip())]


def _kinds(given: list[str] | None, columns: Container[str]) -> dict[str, Kind]:
    """Return the kinds of columns that ``--types`` names; names of ``columns`` may hold commas."""
    from eigenbench.own_data.column_values import KINDS
    from eigenbench.own_data.table import OwnDataError, unknown

    kinds: dict[str, Kind] = {}
    parts: list[str] = []
    for text in given or ():
        parts += [text] if text.rpartition("=")[0] in columns else _names([text])
    for part in parts:
        column, sign, named = part.rpartition("=")
        if not sign:
            raise OwnDataError(f"--types {part}: write COLUMN=KIND, with KIND of {', '.join(KINDS)}")
        found = [kind for kind in KINDS if kind == named]
        if not found:
            raise OwnDataError(f"--types {part}: {unknown('kind', named, KINDS)}")
        kinds[column] = found[0]
    return kinds


def _say_end(outcome: ComparisonResult, problem: Problem, header: bool, started: float) -> None:
    from eigenbench.own_data.compared_methods import label
    from eigenbench.own_data.progress import FitsEnd
    from eigenbench.own_data.winner import how_to_use, rows_of
    from eigenbench.own_data.workspace import EXPERIMENT

    workspace = outcome.workspace
    if outcome.end is not FitsEnd.DONE:
        done, n_runs = len(outcome.watch.done()), len(outcome.watch.runs)
        kept = f"{done} of {n_runs} runs are done and kept" if done < n_runs else "the curve is not complete"
        typer.echo(f"{outcome.end.value}: {kept}; the same command continues")
    for line in outcome.curve:
        typer.echo(line)
    if outcome.saved:
        assert outcome.winner is not None
        plans = outcome.watch.plan.of(EXPERIMENT)
        own = next(one.spec.own_modules for one in plans if one.spec.method == outcome.winner["method"])
        trusted = sorted(module for module, _ in own)
        typer.echo(f"\n{label(outcome.winner)}, fitted on {rows_of(problem)}, is saved. To use it:\n")
        typer.echo(indent(how_to_use(workspace, problem, header=header, trusted=trusted), "    "))
    typer.echo(f"\nTable:      {workspace.leaderboard}")
    typer.echo(f"Report:     {workspace.folder / 'reports' / 'index.html'}")
    typer.echo(f"Dashboard:  cd {shlex.quote(str(workspace.folder))} && eigenbench ui")
    typer.echo(f"Time:       {time.monotonic() - started:.0f} s")
