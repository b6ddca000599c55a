"""A finished suite as an RO-Crate: a folder that says by itself what is in it, for an archive with a DOI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from eigenbench import __version__
from eigenbench.atomic_files import making_folder
from eigenbench.bench.code_hash import own_code_files
from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.current import current_record
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import REPORT_FILES, REPORTED_FILES
from eigenbench.datasets.catalogue import load_catalogue, own_catalogue
from eigenbench.datasets.project_files import project_folder
from eigenbench.reporting import ReportError
from eigenbench.reporting.inputs import read_inputs

#: Kept of a run where it is asked for, beside what reports read.
MODEL = "model.skops"


def write_crate(
    suite_path: Path, out: Path, *, results_dir: Path, reports_dir: Path, licence: str, models: bool = False
) -> int:
    """Write records, predictions and report of a suite, with its file, the workflow and the data's SHA-256.

    ``licence`` is the address of the licence of the results; ``models`` puts in the fitted models. Returns
    the number of runs. Raises `ReportError` if rocrate is not installed, the folder is in use, or there are
    no records, and `DamagedFileError` if a model is damaged.
    """
    try:
        from rocrate.model.contextentity import ContextEntity
        from rocrate.rocrate import ROCrate
    except ImportError as error:
        raise ReportError("rocrate is not installed: pip install 'eigenbench[archive]'") from error
    inputs = read_inputs([suite_path], results_dir, warn=True)
    (plan,), suite = inputs.plans, inputs.suites[0]
    if inputs.unreadable:
        raise ReportError(inputs.unreadable[0])
    current = {record.run_key: record for record in inputs.records}
    records = {results_dir / run.record: current[run.key] for run in plan.runs if run.key in current}
    if not records:
        raise ReportError(
            f"no records in {results_dir / suite.name}: run `snakemake {suite.name}` first, or name "
            "--results-dir"
        )
    if models:
        for run in plan.runs:
            current_record(run, results_dir, MODEL)
    if out.exists() and any(out.iterdir()):
        raise ReportError(f"{out} is not empty: name another folder with --out")

    crate = ROCrate()
    crate.name = f"eigenbench {suite.name}: {suite.title}"
    own = _own_data(suite_path, plan)
    put = f"put {', '.join(own)}, which stayed with the owner, into suites/, " if own else ""
    what = (suite.description or suite.title).strip().rstrip(".")
    crate.description = (
        f"{what}. To run it again: install version {__version__} of eigenbench with its extra suite, "
        f"{put}then eigenbench run suites/{suite_path.name}"
    )
    crate.license = licence
    workflow = crate.add_workflow(
        project_folder() / "Snakefile",
        "Snakefile",
        main=True,
        lang="snakemake",
        lang_version=version("snakemake"),
        properties={"name": "eigenbench", "version": __version__},
    )
    read: list[Any] = [
        crate.add_file(path, f"suites/{place}") for place, path in _suite_files(suite_path, plan).items()
    ]
    for name, properties in _datasets(records.values()).items():
        read.append(crate.add(ContextEntity(crate, f"#dataset-{name}", properties=properties)))
    results = [
        crate.add_file(file, place, properties=properties)
        for file, place, properties in _outputs(records, results_dir, reports_dir / suite.name, models)
    ]
    properties = {"name": f"eigenbench run {suite.name}", **_times(records.values())}
    crate.add_action(workflow, "#run", read, results, properties)
    with making_folder(out) as folder:
        crate.write(folder)
    return len(records)


def _suite_files(path: Path, plan: SuitePlan) -> dict[str, Path]:
    """Return what a run of the suite reads beside eigenbench: its file, own modules, and own catalogue."""
    files = {path.name: path}
    for module, folder in sorted(set().union(*(method.spec.own_modules for method in plan.methods))):
        files |= own_code_files(module, folder) if folder else {}
    catalogue = own_catalogue(path.parent)
    return files | ({catalogue.name: catalogue} if catalogue else {})


def _own_data(path: Path, plan: SuitePlan) -> list[str]:
    """Return the user's files that the suite reads, by their paths in its folder; they stay out of crates."""
    if (catalogue := own_catalogue(path.parent)) is None:
        return []
    own = load_catalogue(catalogue).datasets
    read = {name for method in plan.methods for name in method.spec.datasets} & own.keys()
    files = [file for name in sorted(read) for file in own[name].files.values()]
    sources = [source for file in files for source in file.sources]
    places = [Path(getattr(one, "path", "") or getattr(one, "partitions", "")) for one in sources]
    folder = path.parent.absolute()
    return [str(place.relative_to(folder)) for place in places if place.is_relative_to(folder)]


def _outputs(
    records: dict[Path, Record], results_dir: Path, report: Path, models: bool
) -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Give each file that the suite left, its place in the crate, and its name if it has one."""
    kept = (*REPORTED_FILES, MODEL) if models else REPORTED_FILES
    for path, record in records.items():
        name = f"{record.experiment}, {record.method}, {record.classifier}, seed {record.seed}"
        for file in filter(Path.is_file, map(path.with_name, kept)):
            yield file, f"results/{file.relative_to(results_dir)}", {"name": name}
    folder = report if report.is_dir() else report.parent
    for file in filter(Path.is_file, map(folder.joinpath, REPORT_FILES)):
        yield file, f"report/{file.name}", {}


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
