"""The command ``eigenbench``: list what there is, compare with papers and reference, fetch data, and more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError as error:
    raise SystemExit(
        f"eigenbench: the command line needs pip install 'eigenbench[suite]' ({error})"
    ) from None

import eigenbench
from eigenbench.atomic_files import remove_unfinished
from eigenbench.bench.jobs.supervision import run_stoppable
from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.registry import COMPONENTS, near_match, offered_components
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.bench.suites.suite_file import RULE_NAMES, load_suite, suite_files
from eigenbench.datasets.catalogue import Catalogue, load_with_own
from eigenbench.datasets.errors import DatasetError
from eigenbench.datasets.project_files import project_folder, snakemake_command
from eigenbench.own_data.command import compare
from eigenbench.own_data.join import join
from eigenbench.own_data.skeletons import new

app = typer.Typer(
    help="Benchmarks of spectral and randomized embeddings. To run them: eigenbench run SUITE.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(eigenbench.__version__)
        raise typer.Exit


SuitesDir = Annotated[Path | None, typer.Option(help="Folder of suite files.", show_default="config/suites")]
ResultsDir = Annotated[Path, typer.Option(help="Folder of results.")]
ReportsDir = Annotated[Path, typer.Option(help="Folder of the rendered report.")]
LICENCE = "https://spdx.org/licenses/CC-BY-4.0"


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    options_metavar="[SUITE]... [SNAKEMAKE'S OPTIONS]",
)
def run(context: typer.Context) -> None:
    """Run suites in the current folder: Snakemake with eigenbench's workflow.

    Give a suite by its name or by the path of its file. In a checkout, ``snakemake`` does the same.
    """
    raise typer.Exit(run_stoppable([*snakemake_command(), *_snakemake_arguments(context.args)]))


def _snakemake_arguments(arguments: list[str]) -> list[str]:
    """Replace paths of suite files by names, with folder and names as settings; refuse what is no target.

    Targets stand before all options: suites, rules, and paths of files.
    """
    n_targets = next((n for n, item in enumerate(arguments) if item.startswith("-")), len(arguments))
    targets, options = arguments[:n_targets], _detached(arguments[n_targets:])
    paths = [Path(target) for target in targets if target.endswith((".yaml", ".yml"))]
    for path in paths:
        if path.suffix == ".yml" or not path.is_file():
            raise SuiteError(f"{path}: {'name it .yaml' if path.is_file() else 'there is no such file'}")
    given = [str(Path(item.partition("=")[2])) for item in options if item.startswith("suites_dir=")]
    folders = {str(path.parent) for path in paths} | set(given)
    if len(folders) > 1:
        raise SuiteError(f"suites of one folder can run together, not of {', '.join(sorted(folders))}")
    folder = next(iter(folders), None)
    named = [Path(target).stem if Path(target) in paths else target for target in targets]
    suites = [target for target in named if "/" not in target and target not in RULE_NAMES]
    for suite in suites if not any(item.startswith("--configfile") for item in options) else ():
        _suite_path(suite, Path(folder).expanduser() if folder else None)
    if folder is None or not suites:
        return arguments
    settings = [] if given else [f"suites_dir={json.dumps(folder, ensure_ascii=False)}"]
    if not any(item.startswith("suites=") for item in options):
        settings.append(f"suites=[{','.join(suites)}]")
    options = options if "--config" in options else [*options, "--config"]
    place = len(options) - options[::-1].index("--config")
    return [*named, *options[:place], *settings, *options[place:]]


def _detached(options: list[str]) -> list[str]:
    """Write ``-C`` and ``--config=KEY=VALUE`` as ``--config`` and a setting."""
    words: list[str] = []
    for option in options:
        found = re.fullmatch(r"(?:--config=|-C=?)(.*)", option)
        words += ["--config", *filter(None, found.groups())] if found else [option]
    return words


@app.command("list", no_args_is_help=True)
def list_(what: Literal["datasets", "methods", "protocols", "suites"], suites_dir: SuitesDir = None) -> None:
    """List the datasets, methods, protocols or suites that exist."""
    match what:
        case "datasets":
            _print_table(*_dataset_rows(load_with_own(_suites_folder(suites_dir))))
        case "methods":
            _print_table(*_method_rows())
        case "protocols":
            _print_table(*_protocol_rows())
        case "suites":
            suites = [load_suite(path) for path in suite_files(_suites_folder(suites_dir))]
            rows: Rows = [(one.name, str(one.minutes or "–"), one.title) for one in suites]
            _print_table(("suite", "minutes on 2 cores", "title"), rows)


@app.command()
def show(suite: str, results_dir: ResultsDir = Path("results"), suites_dir: SuitesDir = None) -> None:
    """Print a suite's measured and published numbers, and its leaderboards."""
    from eigenbench.reporting.inputs import read_inputs
    from eigenbench.reporting.terminal_tables import print_suites

    inputs = read_inputs([_suite_path(suite, suites_dir)], results_dir, warn=True)
    print_suites(inputs.suites, inputs.groups)


@app.command()
def cite(suite: str, suites_dir: SuitesDir = None) -> None:
    """Print the sources of a suite as BibTeX."""
    from eigenbench.bench.suites.suite_file import cited_sources

    typer.echo(cited_sources(load_suite(_suite_path(suite, suites_dir))), nl=False)


@app.command()
def verify(
    suite: Annotated[str, typer.Argument(help="The suite.")] = "quick",
    results_dir: ResultsDir = Path("results"),
    receipts_dir: Annotated[Path, typer.Option(help="Folder of the receipt.")] = Path("reports/receipts"),
    reference_dir: Annotated[
        Path | None, typer.Option(help="Folder of reference results.", show_default="as shipped")
    ] = None,
    suites_dir: SuitesDir = None,
) -> None:
    """Compare a suite's runs with the reference results: identical, within noise, or different.

    Writes a receipt. In reports/reference/receipts it counts as one more machine type in reports.

    Ends with 3 if a run is different or missing, with 1 if there is no record or no reference, else with 0.
    """
    from eigenbench.bench.jobs.plan import load_plan
    from eigenbench.reproduction.receipt import read_receipts, write_receipt
    from eigenbench.reproduction.receipt_text import print_receipt
    from eigenbench.reproduction.reference import load_reference
    from eigenbench.reproduction.verification import compare_with_reference

    plan = load_plan(_suite_path(suite, suites_dir))
    reference = load_reference(suite, reference_dir)
    receipts, problems = read_receipts(reference_dir)
    for problem in problems:
        typer.echo(f"left out: {problem}", err=True)
    receipt = compare_with_reference(plan, results_dir, reference, receipts)
    remove_unfinished(receipts_dir)
    print_receipt(receipt, write_receipt(receipt, receipts_dir))
    if not receipt.holds:
        raise typer.Exit(3)


@app.command()
def summary(
    results_dir: ResultsDir = Path("results"),
    reports_dir: ReportsDir = Path("reports"),
    suites_dir: SuitesDir = None,
) -> None:
    """Print the headline results of every finished suite, and the paths of report and dashboard."""
    from eigenbench.reporting.inputs import read_inputs
    from eigenbench.reporting.terminal_tables import print_summary

    inputs = read_inputs([], results_dir, all_suites_in=_suites_folder(suites_dir))
    print_summary(inputs.suites, inputs.groups, report=reports_dir / "index.html")


@app.command()
def fetch(
    dataset: str,
    data_dir: Annotated[Path | None, typer.Option(help="Data folder.", show_default="user's cache")] = None,
    prepare: Annotated[bool, typer.Option(help="Also convert the data to memory-mapped arrays.")] = True,
) -> None:
    """Download a dataset, check it, and prepare it."""
    from eigenbench import datasets

    manifest = datasets.fetch(dataset, data_dir=data_dir)
    for file in manifest.files:
        typer.echo(f"{file.name}  {file.bytes:,} bytes  {file.sha256[:16]}…  {file.source}")
    if prepare:
        card = datasets.prepare(dataset, data_dir=data_dir)
        typer.echo(
            f"{card.title}: {card.n_train:,} + {card.n_test:,} rows, {card.n_features:,} features, "
            f"{card.n_classes:,} classes"
        )


@app.command()
def sync(
    suites: Annotated[list[str] | None, typer.Argument(help="Only these suites.", show_default="all")] = None,
    results_dir: ResultsDir = Path("results"),
    tracking_uri: Annotated[
        str | None,
        typer.Option(help="MLflow store.", show_default="MLFLOW_TRACKING_URI or sqlite:///mlflow.db"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done.")] = False,
    all_models: Annotated[bool, typer.Option("--all-models", help="Store the model of each run.")] = False,
    reports_dir: ReportsDir = Path("reports"),
    suites_dir: SuitesDir = None,
) -> None:
    """Import finished runs into MLflow, after work offline or into another store.

    Runs in the store already are kept. An interrupted import continues.
    """
    from eigenbench.bench.jobs.plan import load_plan
    from eigenbench.tracking.addresses import TrackingError
    from eigenbench.tracking.importer import compare_records, import_records

    records: dict[str, list[Path]] = {}
    for path in sorted(results_dir.glob("*/*/*/seed-*/**/record.json")):
        records.setdefault(path.relative_to(results_dir).parts[0], []).append(path)
    if absent := sorted(set(suites or []) - set(records)):
        there = f"{results_dir}; there are: {', '.join(records) or 'none'}"
        raise TrackingError(f"no records of {', '.join(absent)} in {there}")
    paths = [path for suite in suites or records for path in records[suite]]
    if not paths:
        raise TrackingError(f"no records in {results_dir}: run snakemake first, or name its --results-dir")
    if dry_run:
        done = compare_records(paths, results_dir=results_dir, tracking_uri=tracking_uri)
    else:
        files = {path.stem: path for path in suite_files(_suites_folder(suites_dir))}
        done = import_records(
            paths,
            results_dir=results_dir,
            reports_dir=reports_dir,
            tracking_uri=tracking_uri,
            plans=[load_plan(files[name]) for name in suites or records if name in files],
            all_models=all_models,
        )
    would = "would be " if dry_run else ""
    typer.echo(
        f"{done.tracking_uri}: {done.imported} {would}imported, {done.replaced} {would}replaced, "
        f"{done.unchanged} there already, {len(done.failed)} failed"
    )
    if done.failed:
        raise typer.Exit(1)


app.command()(compare)
app.command(no_args_is_help=True)(join)
app.command()(new)


@app.command()
def crate(
    suite: str,
    out: Annotated[Path | None, typer.Option(help="New folder.", show_default="crate-SUITE")] = None,
    results_dir: ResultsDir = Path("results"),
    reports_dir: ReportsDir = Path("reports"),
    suites_dir: SuitesDir = None,
    licence: Annotated[str, typer.Option(help="Licence of the results.")] = LICENCE,
    models: Annotated[bool, typer.Option("--models", help="Include the fitted models.")] = False,
) -> None:
    """Write a finished suite as an RO-Crate, a folder for an archive that gives it a DOI."""
    from eigenbench.reporting.crate import write_crate

    folder = out or Path(f"crate-{suite}")
    n_runs = write_crate(
        _suite_path(suite, suites_dir),
        folder,
        results_dir=results_dir,
        reports_dir=reports_dir,
        licence=licence,
        models=models,
    )
    typer.echo(f"{folder}: {n_runs} runs")


@app.command()
def export(
    suite: str,
    format: Annotated[str, typer.Option(help="Files of each table.")] = "tex,md,csv",
    figures: Annotated[str, typer.Option(help="Files of each figure; '' for none.")] = "svg,png,pdf",
    out: Annotated[Path | None, typer.Option(help="Folder.", show_default="export-SUITE")] = None,
    results_dir: ResultsDir = Path("results"),
    suites_dir: SuitesDir = None,
) -> None:
    """Write a suite's tables and figures as files for papers, from its records."""
    from eigenbench.reporting.export import export_suite

    folder = out or Path(f"export-{suite}")
    files = export_suite(
        _suite_path(suite, suites_dir),
        folder,
        results_dir=results_dir,
        tables=[ending for ending in format.split(",") if ending],
        figures=[ending for ending in figures.split(",") if ending],
    )
    typer.echo(f"{folder}: {len(files)} files")


@app.command()
def ui(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port; the next free one is taken if it is in use.", min=1, max=65535)
    ] = 5000,
    allowed_hosts: Annotated[
        str | None,
        typer.Option(help="Host names that others may use.", show_default="localhost and private addresses"),
    ] = None,
) -> None:
    """Open the MLflow dashboard on the store that the workflow fills."""
    from eigenbench.tracking.ui import open_ui

    open_ui(host=host, port=port, allowed_hosts=allowed_hosts)


def main() -> None:
    """Run the command; expected errors are one clear line, not a traceback."""
    from eigenbench.bench.records.sealed_json import DamagedFileError
    from eigenbench.reporting import ReportError
    from eigenbench.reproduction.reference import ReproductionError
    from eigenbench.tracking.addresses import TrackingError

    of_input = (DatasetError, SuiteError, OSError)
    of_records = (DamagedFileError, ReportError, ReproductionError, TrackingError)
    try:
        app()
    except (*of_input, *of_records) as error:
        typer.echo(f"eigenbench: {error}", err=True)
        raise SystemExit(1) from None


Rows = list[tuple[str, ...]]


def _dataset_rows(catalogue: Catalogue) -> tuple[tuple[str, ...], Rows]:
    rows: Rows = []
    for name, entry in catalogue.datasets.items():
        sources = (str(source) for file in entry.files.values() for source in file.sources)
        kinds = ", ".join(dict.fromkeys(source.split()[0] for source in sources))
        numbers = (sum(entry.expect.rows.values()), entry.expect.features, entry.expect.classes)
        rows.append((name, *(f"{number:,}" for number in numbers), entry.target, kinds, entry.title))
    return ("dataset", "rows", "features", "classes", "target", "sources", "title"), rows


def _method_rows() -> tuple[tuple[str, ...], Rows]:
    found = {**COMPONENTS, **offered_components()}
    rows: Rows = [(item.kind or "further", item.name, item.summary) for item in found.values()]
    for name, recipe in load_recipes().items():
        rows.append(("recipe", name, " → ".join(step.component for step in recipe.steps)))
    return ("kind", "name", "description"), sorted(rows, key=lambda row: row[0])


def _protocol_rows() -> tuple[tuple[str, ...], Rows]:
    rows: Rows = [
        (name, protocol.settings().headline, protocol.summary, ", ".join(protocol.settings().model_fields))
        for name, protocol in PROTOCOLS.items()
    ]
    return ("protocol", "headline", "measures", "settings"), rows


def _suites_folder(suites_dir: Path | None) -> Path:
    return suites_dir or project_folder() / "config" / "suites"


def _suite_path(name: str, suites_dir: Path | None) -> Path:
    paths = {path.stem: path for path in suite_files(_suites_folder(suites_dir), [name])}
    if name not in paths:
        hint = f"{near_match(name, list(paths))} There are: {', '.join(paths)}"
        raise SuiteError(f"no suite {name!r}.{hint}; --suites-dir names another folder")
    return paths[name]


def _print_table(header: tuple[str, ...], rows: Rows) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        numeric = name in ("rows", "features", "classes", "minutes on 2 cores")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=name == header[0])
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
