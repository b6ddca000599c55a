"""Command of the report rule: read suites and records, write the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from eigenbench.bench.suites.parts import SuiteError
from eigenbench.datasets.errors import DatasetError
from eigenbench.reporting import ReportError
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.site import render


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the report; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m eigenbench.reporting", description=__doc__)
    parser.add_argument("--suite", type=Path, action="extend", nargs="+", required=True, help="suite files")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--reports-dir", type=Path, default=Path("reports"))
    options = parser.parse_args(arguments)
    try:
        inputs = read_inputs(options.suite, options.results_dir)
        page = render(inputs, options.reports_dir, logs_dir=Path("logs"))
    except (DatasetError, SuiteError, ReportError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for line in inputs.unreadable:
        print(f"left out of the report: {line}", file=sys.stderr)
    print(f"wrote {page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
