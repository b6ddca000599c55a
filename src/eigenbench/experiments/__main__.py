"""The commands that workflow rules call; each writes one JSON file, whole or not at all."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

from eigenbench.datasets.errors import DatasetError
from eigenbench.experiments.plan import Plan, plan_suite
from eigenbench.experiments.record import write_json
from eigenbench.experiments.suite_file import load_suite
from eigenbench.experiments.tasks import STAGES
from eigenbench.experiments.workspace import ArtifactError, Workspace


def main(arguments: list[str] | None = None) -> int:
    """Run one job of the workflow and return its exit status."""
    options = _parser().parse_args(arguments)
    _log_to(options.log)
    try:
        result = options.run(options)
    except (DatasetError, OSError, ValueError, RuntimeError) as error:
        logging.getLogger("eigenbench").error("%s: %s", type(error).__name__, error)
        return 1
    write_json(options.output, result)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eigenbench.experiments", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    common.add_argument("--log", type=Path, help="also write the log here")

    download = verbs.add_parser("download", parents=[common], help="fetch the files of a dataset")
    download.add_argument("dataset")
    download.add_argument("--data-dir", type=Path, required=True)
    download.add_argument(
        "--retry", default="first", help="which attempt after an unreachable source this is"
    )
    download.set_defaults(run=_download)

    prepare = verbs.add_parser("prepare", parents=[common], help="bring a dataset into memory-mapped form")
    prepare.add_argument("dataset")
    prepare.add_argument("--data-dir", type=Path, required=True)
    prepare.add_argument("--downloaded", type=Path, required=True, help="what the download job wrote")
    prepare.set_defaults(run=_prepare)

    planned = argparse.ArgumentParser(add_help=False, parents=[common])
    planned.add_argument("--suite", type=Path, required=True, help="the suite file")
    planned.add_argument("--results-dir", type=Path, required=True)
    for stage in STAGES:
        unit = verbs.add_parser(stage, parents=[planned], help=f"run the {stage} tasks of a unit")
        unit.add_argument("unit")
        unit.add_argument("--threads", type=int, default=1)
        unit.add_argument(
            "--attempts-left",
            type=int,
            default=0,
            help="at 0, record a killed task instead of failing",
        )
        unit.set_defaults(run=_unit)
    record = verbs.add_parser("record", parents=[planned], help="write the record of a run")
    record.add_argument("run_key")
    record.set_defaults(run=_record)
    return parser


def _download(options: argparse.Namespace) -> object:
    from eigenbench.experiments.data_jobs import download

    return download(options.dataset, options.data_dir, options.retry)


def _prepare(options: argparse.Namespace) -> object:
    from eigenbench.experiments.data_jobs import prepare

    return prepare(options.dataset, options.data_dir, json.loads(options.downloaded.read_bytes()))


def _unit(options: argparse.Namespace) -> object:
    from eigenbench.experiments.job import JobContext, run_unit

    plan = _plan(options.suite)
    unit = plan.units.get(options.unit)
    if unit is None:
        raise ArtifactError(
            f"{options.suite} has no unit {options.unit}: it was edited while the workflow ran"
        )
    context = JobContext(options.threads, options.log, last_attempt=options.attempts_left == 0)
    return run_unit(plan, unit, Workspace(options.results_dir), context)


def _record(options: argparse.Namespace) -> object:
    from eigenbench.experiments.assemble import assemble_record

    cell = _plan(options.suite).cell(options.run_key)
    return assemble_record(cell, Workspace(options.results_dir)).model_dump(mode="json")


def _plan(path: Path) -> Plan:
    from eigenbench.datasets.catalogue import load_catalogue

    return plan_suite(load_suite(path), load_catalogue())


def _log_to(path: Path | None) -> None:
    """Log to the terminal, and in full to a file."""
    terminal = logging.StreamHandler(sys.stderr)
    handlers: list[logging.Handler] = [terminal]
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(path, mode="w", encoding="utf-8"))
        terminal.addFilter(_Paced())
    logging.basicConfig(
        level=logging.WARNING, handlers=handlers, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    logging.getLogger("eigenbench").setLevel(logging.INFO)
    logging.captureWarnings(True)


class _Paced(logging.Filter):
    """Lets errors through, and of the progress of many small fits one line every few seconds."""

    SECONDS = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.shown = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            return True
        if record.name == "py.warnings" or record.created - self.shown < self.SECONDS:
            return False
        self.shown = record.created
        return True


if __name__ == "__main__":
    sys.exit(main())
