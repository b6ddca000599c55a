"""Command of the track rule: import records into MLflow and write a receipt."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.experiments.plan import plan_suite
from eigenbench.experiments.suite import SuiteError
from eigenbench.experiments.suite_file import load_suite
from eigenbench.tracking.errors import TrackingError
from eigenbench.tracking.importer import import_records
from eigenbench.tracking.receipts import write_receipt


def main(arguments: Sequence[str] | None = None) -> int:
    """Import the records and return the exit code: 1 if any is not in the store now."""
    options = _parser().parse_args(arguments)
    try:
        summary = import_records(
            _records(options), results_dir=options.results_dir, tracking_uri=options.tracking_uri
        )
        if options.receipt:
            write_receipt(options.receipt, summary, options.tracking_uri)
    except (SuiteError, TrackingError, OSError, sqlite3.Error) as error:
        print(error, file=sys.stderr)
        return 1
    counts = ("imported", "replaced", "unchanged")
    done = ", ".join(f"{getattr(summary, name)} {name}" for name in counts)
    line = f"mlflow: {done}, {len(summary.failed)} failed in {summary.tracking_uri}"
    if summary.replaced:
        line += "; runs that were replaced are only marked as deleted, and `mlflow gc` removes them"
    print(line, file=sys.stderr)
    return 1 if summary.failed else 0


def _records(options: argparse.Namespace) -> list[Path]:
    """Return the record files that are named, or those of an experiment of a suite."""
    if options.suite is None:
        return options.records
    runs = plan_suite(load_suite(options.suite), load_catalogue()).runs
    return [options.results_dir / run.record for run in runs if run.experiment == options.experiment]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eigenbench.tracking", description=__doc__)
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORD", help="record files")
    parser.add_argument("--suite", type=Path, help="suite file, in place of naming record files")
    parser.add_argument("--experiment", help="the experiment of the suite")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--receipt", type=Path, help="JSON file to write when all records have been seen")
    parser.add_argument(
        "--tracking-uri", help="MLflow store; default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
