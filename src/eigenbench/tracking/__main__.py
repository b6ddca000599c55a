"""Command of the track rule: import records into MLflow and write a receipt."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from eigenbench.atomic_files import write_json
from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.datasets.errors import DatasetError
from eigenbench.tracking.addresses import TrackingError
from eigenbench.tracking.importer import import_records


def main(arguments: Sequence[str] | None = None) -> int:
    """Import the records and return the exit code: 1 if any is not in the store now."""
    parser = argparse.ArgumentParser(prog="python -m eigenbench.tracking", description=__doc__)
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORD", help="default: all of the suite")
    parser.add_argument("--suite", type=Path, help="suite file: headline metrics, published numbers")
    parser.add_argument("--experiment", help="only this experiment of the suite")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--reports-dir", type=Path, default=Path("reports"))
    parser.add_argument("--receipt", type=Path, help="JSON file to write when all records have been seen")
    parser.add_argument("--replaces", default="", help="the receipt that is replaced, for Snakemake")
    parser.add_argument("--tracking-uri", help="MLflow store, by default as in MLFLOW_TRACKING_URI")
    options = parser.parse_args(arguments)
    try:
        plan = load_plan(options.suite) if options.suite else None
        runs = [run for run in plan.runs if options.experiment in (None, run.experiment)] if plan else []
        summary = import_records(
            options.records or [options.results_dir / run.record for run in runs],
            results_dir=options.results_dir,
            reports_dir=options.reports_dir,
            tracking_uri=options.tracking_uri,
            plans=[plan] if plan else [],
        )
        if options.receipt:
            write_json(options.receipt, asdict(summary) | {"replaces": options.replaces})
    except (DatasetError, SuiteError, TrackingError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    line = f"mlflow: {summary.imported} imported, {summary.replaced} replaced, {summary.unchanged} unchanged"
    line += f", {len(summary.failed)} failed in {summary.tracking_uri}"
    if summary.replaced:
        line += "; runs that were replaced are only marked as deleted, and `mlflow gc` removes them"
    print(line, file=sys.stderr)
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
