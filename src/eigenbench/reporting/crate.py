"""A finished suite as an RO-Crate: a folder that says by itself what is in it, for an archive with a DOI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from eigenbench import __version__
from eigenbench.bench.records.record import Record, read_record_and_files
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.project_files import project_folder
from eigenbench.reporting import ReportError

#: What is kept of a run; the fitted model as well where it is asked for.
KEPT = ("record.json", "predictions.npz")
MODEL = "model.skops"

REPORT_FILES = ("index.html", "results.csv", "comparison.csv")


def write_crate(
    suite_path: Path,
    out: Path,
    *,
    results_dir: Path,
    reports_dir: Path,
    licence: str,
    models: bool = False,
) -> int:
    """Write the records, predictions and report of a suite, with the suite file and the workflow.

    The crate's action says that the workflow, given the suite and the data (by their SHA-256), made the
    records, when, and with which version.

    Parameters
    ----------
    suite_path : Path
        The suite's file.
    out : Path
        The folder to write; it must not exist or be empty.
    results_dir, reports_dir : Path
        Where the workflow has written.
    licence : str
        Address of the licence of the results.
    models : bool, default=False
        Whether to put in the fitted models.

    Returns
    -------
    int
        The number of runs in the crate.

    Raises
    ------
    ReportError
        If rocrate is not installed, the folder is in use, or there are no records.
    RecordError
        If a record is damaged.
    """
    try:
        from rocrate.model.contextentity import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError as error:
        raise ReportError("rocrate is not installed: pip install 'eigenbench[archive]'") from error
    suite = load_suite(suite_path)
    folder = results_dir / suite.name
    names = (*KEPT[1:], *((MODEL,) if models else ()))
    records = {
        path: read_record_and_files(path, *names) for path in sorted(folder.glob("*/*/seed-*/**/record.json"))
    }
    if not records:
        raise ReportError(
            f"no records in {folder}: run `snakemake {suite.name}` first, or name --results-dir"
        )
    if out.exists() and any(out.iterdir()):
        raise ReportError(f"{out} is not empty: name another folder with --out")

    crate = ROCrate()
    crate.name = f"eigenbench {suite.name}: {suite.title}"
    crate.description = suite.description or suite.title
    crate.license = licence
    workflow = crate.add_workflow(
        project_folder() / "Snakefile",
        "Snakefile",
        main=True,
        lang="snakemake",
        properties={"name": "eigenbench", "version": __version__},
    )
    inputs: list[Any] = [crate.add_file(suite_path, f"suites/{suite_path.name}")]
    for name, properties in _datasets(records.values()).items():
        inputs.append(crate.add(ContextEntity(crate, f"#dataset-{name}", properties=properties)))
    results = [
        crate.add_file(file, place, properties={"name": name} if name else None)
        for file, place, name in _outputs(records, results_dir, reports_dir / suite.name, models)
    ]
    properties = {"name": f"eigenbench run {suite.name}", **_times(records.values())}
    crate.add_action(workflow, "#run", inputs, results, properties)
    crate.write(out)
    return len(records)


def _outputs(
    records: dict[Path, Record], results_dir: Path, report: Path, models: bool
) -> Iterator[tuple[Path, str, str]]:
    """Give each file that the suite left, its place in the crate, and its name if it has one."""
    for path, record in records.items():
        name = f"{record.experiment}, {record.method}, {record.classifier}, seed {record.seed}"
        for file in (path.with_name(kept) for kept in ((*KEPT, MODEL) if models else KEPT)):
            if file.is_file():
                yield file, f"results/{file.relative_to(results_dir)}", name
    for file in ((report if report.is_dir() else report.parent) / kept for kept in REPORT_FILES):
        if file.is_file():
            yield file, f"report/{file.name}", ""


def _times(records: Iterable[Record]) -> dict[str, str]:
    """Return when the first run began and the last one ended, as far as the records say."""
    times = [(record.started, record.finished) for record in records if record.started and record.finished]
    return {"startTime": min(times)[0], "endTime": max(end for _, end in times)} if times else {}


def _datasets(records: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Describe the data that the runs read, by the name of each set."""
    read = {record.dataset_info.name: record.dataset_info for record in records if record.dataset_info}
    return {
        name: {
            "@type": "Dataset",
            "name": name,
            "sha256": info.sha256,
            "license": info.licence,
            "description": f"{info.n_train} + {info.n_test} rows, {info.n_features} inputs; {info.source}",
        }
        for name, info in read.items()
    }
