"""The command ``eigenbench join``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer


def join(
    method: Annotated[
        str,
        typer.Argument(
            help="my_method.py:MyEmbedding, a method of `list methods`, or a YAML file with steps and grid."
        ),
    ],
    datasets: Annotated[
        list[str] | None, typer.Option(help="Datasets, separated by commas.", show_default="all 26")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(help="Number of splits of each dataset.", show_default="all 5")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(help="Time limit of a run in seconds.", show_default="as in the suite")
    ] = None,
    data_dir: Annotated[Path, typer.Option(help="Folder of the data.")] = Path("data"),
) -> None:
    """Rank one method among the reference results of the suite comparison, without running its rivals.

    It runs on the same splits. A run that fails counts as the worst of its dataset. Afterwards reports/joined
    has a file to send as a contribution.
    """
    from eigenbench.bench.jobs.supervision import run_stoppable
    from eigenbench.bench.records.sealed_json import write_sealed
    from eigenbench.datasets.project_files import snakemake_command
    from eigenbench.own_data.reference_ranking import (
        check_data,
        joined_result,
        read_method,
        read_reference,
        write_suite,
    )
    from eigenbench.reporting.inputs import read_inputs

    names = [name.strip() for option in datasets or () for name in option.split(",")]
    reference = read_reference(names, splits)
    taken = {name for run in reference.plan.runs for name in (run.method, run.classifier)}
    joined = read_method(method, taken)
    suite = write_suite(joined, reference.plan.suite, Path("joined") / joined.name, time_limit)
    settings = [
        "--config",
        f"suites_dir={json.dumps(str(suite.parent))}",
        f"suites=[{suite.stem}]",
        f"data_dir={json.dumps(str(data_dir))}",
    ]
    check_data(reference, data_dir)
    # A module of the same name in this folder must not hide the one beside the suite.
    os.environ["PYTHONSAFEPATH"] = "1"
    if code := run_stoppable([*snakemake_command(), suite.stem, *settings]):
        raise typer.Exit(code)
    inputs = read_inputs([suite], Path("results"))
    result = joined_result(reference, inputs.plans[0], inputs.records)
    path = Path("reports") / "joined" / f"{joined.name}.json"
    write_sealed(path, result)
    _say(result, len(inputs.plans[0].runs))
    typer.echo(f"Report:  reports/{suite.stem}/index.html\nFile:    {path}")


def _say(result: dict[str, Any], n_runs: int) -> None:
    from rich.console import Console

    from eigenbench.reporting.display_names import label_name
    from eigenbench.reporting.terminal_tables import text_table

    typer.echo(
        f"\n{result['competitor']}: place {result['place']} of {result['n_competitors']} "
        f"(95 %: {result['place_low']} to {result['place_high']}), mean rank {result['mean_rank']:.1f}, "
        f"on {len(result['datasets'])} datasets"
    )
    table = text_table()
    for name in ("against", "won", "tied", "lost", "ratio", "95 %", "by interval"):
        table.add_column(name, justify="left" if name in ("against", "by interval") else "right")
    conclusions = {"first better": "better", "second better": "worse"}
    for one in result["nearest"]:
        ratio, interval = "–", "–"
        if one["ratio"] is not None and one["low"] is not None and one["high"] is not None:
            ratio, interval = f"{one['ratio']:.3f}", f"{one['low']:.3f} – {one['high']:.3f}"
        counts = (str(one[key]) for key in ("wins", "ties", "losses"))
        conclusion = conclusions.get(one["conclusion"], one["conclusion"])
        table.add_row(label_name(one["competitor"]), *counts, ratio, interval, conclusion)
    Console().print(table)
    if failures := [f"{one['dataset']}, {text}" for one in result["datasets"] for text in one["failures"]]:
        typer.echo(f"Failed:  {len(failures)} of {n_runs} runs, which rank last: {failures[0]}")
    if result["seconds"] is not None:
        front = f"{'no competitor is both' if result['on_front'] else 'some are'} faster and better"
        typer.echo(f"Cost:    {result['seconds']:.2g} s to fit, geometric mean over datasets; {front}")
