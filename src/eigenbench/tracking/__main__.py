"""Command of the track rule: import records into MLflow and write a receipt."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path

from eigenbench.tracking.errors import TrackingError
from eigenbench.tracking.importer import import_records
from eigenbench.tracking.receipts import write_receipt


def main(arguments: Sequence[str] | None = None) -> int:
    """Import the records and return the exit code: 1 if any is not in the store now."""
    options = _parser().parse_args(arguments)
    try:
        paths = list(options.records)
        if options.records_from:
            lines = options.records_from.read_text(encoding="utf-8").splitlines()
            paths += [Path(line) for line in lines if line]
        summary = import_records(paths, results_dir=options.results_dir, tracking_uri=options.tracking_uri)
        if options.receipt:
            write_receipt(options.receipt, summary, options.tracking_uri)
    except (TrackingError, OSError, sqlite3.Error) as error:
        print(error, file=sys.stderr)
        return 1
    counts = ("imported", "replaced", "unchanged")
    done = ", ".join(f"{getattr(summary, name)} {name}" for name in counts)
    line = f"mlflow: {done}, {len(summary.failed)} failed in {summary.tracking_uri}"
    if summary.replaced:
        line += "; runs that were replaced are only marked as deleted, and `mlflow gc` removes them"
    print(line, file=sys.stderr)
    return 1 if summary.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eigenbench.tracking", description=__doc__)
    parser.add_argument("records", nargs="*", type=Path, metavar="RECORD", help="record files")
    parser.add_argument("--records-from", type=Path, help="file with one record path per line")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--receipt", type=Path, help="JSON file to write when all records have been seen")
    parser.add_argument(
        "--tracking-uri", help="MLflow store; default: MLFLOW_TRACKING_URI, else sqlite:///mlflow.db"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
