"""Command of the track rule: import records into MLflow and write a receipt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.suites.suite import Suite, SuiteError
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite
from eigenbench.tracking.addresses import TrackingError
from eigenbench.tracking.importer import import_records
from eigenbench.tracking.receipts import write_receipt


def main(arguments: Sequence[str] | None = None) -> int:
    """Import the records and return the exit code: 1 if any is not in the store now."""
    options = _parser().parse_args(arguments)
    try:
        suite = load_suite(options.suite) if options.suite else None
        summary = import_records(
            _records(options, suite) if suite else options.records,
            results_dir=options.results_dir,
            reports_dir=options.reports_dir,
            tracking_uri=options.tracking_uri,
            suites=[suite] if suite else [],
            all_models=options.all_models,
        )
        if options.receipt:
            write_receipt(options.receipt, summary)
    except (SuiteError, TrackingError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    counts = ("imported", "replaced", "unchanged")
    done = ", ".join(f"{getattr(summary, name)} {name}" for name in counts)
    line = f"mlflow: {done}, {len(summary.failed)} failed in {summary.tracking_uri}"
    if summary.replaced:
        line += "; runs that were replaced are only marked as deleted, and `mlflow gc` removes them"
    print(line, file=sys.stderr)
    return 1 if summary.failed else 0


def _records(options: argparse.Namespace, suite: Suite) -> list[Path]:
    """Return the record files of a suite, or of one of its experiments."""
    runs = plan_suite(suite, catalogue_of(suite)).runs
    return [options.results_dir / run.record for run in runs if options.experiment in (None, run.experiment)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eigenbench.tracking", description=__doc__)
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORD", help="record files")
    parser.add_argument("--suite", type=Path, help="suite file, in place of naming record files")
    parser.add_argument("--experiment", help="only this experiment of the suite")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--reports-dir", type=Path, default=Path("reports"))
    parser.add_argument("--all-models", action="store_true", help="store the model of every run")
    parser.add_argument("--receipt", type=Path, help="JSON file to write when all records have been seen")
    parser.add_argument(
        "--tracking-uri", help="MLflow store; default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
