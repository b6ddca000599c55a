"""Command of the report rule: read suites and records, write the report."""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from eigenbench.experiments.suite import SuiteError
from eigenbench.reporting.inputs import read_inputs
from eigenbench.reporting.site import ReportError, render

#: What a file system without locks answers, or NFS to a lock on a folder.
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Wait until no other process renders into a folder, so that the last one sees all records.

    On a file system without locks it goes on at once: each file is replaced as a whole anyway.

    Raises
    ------
    ReportError
        If the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ReportError(f"{folder}: cannot write the report there ({error.strerror})") from error
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the report; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        with one_at_a_time(options.reports_dir):
            inputs = read_inputs(options.suite, options.results_dir, all_suites_in=options.all_suites_in)
            page = render(
                inputs.suites,
                inputs.records,
                reports_dir=options.reports_dir,
                suite_paths=inputs.suite_paths,
                title=options.title,
                unreadable=inputs.unreadable,
            )
    except (SuiteError, ReportError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for line in inputs.unreadable:
        print(f"left out of the report: {line}", file=sys.stderr)
    print(f"wrote {page}", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eigenbench.reporting", description=__doc__)
    parser.add_argument("--suite", type=Path, action="extend", nargs="+", required=True, help="suite files")
    parser.add_argument("--results-dir", type=Path, default=Path("results"))
    parser.add_argument("--reports-dir", type=Path, default=Path("reports"))
    parser.add_argument(
        "--all-suites-in", type=Path, help="folder of suites; those with records are shown too"
    )
    parser.add_argument("--title", default="eigenbench report")
    return parser


if __name__ == "__main__":
    sys.exit(main())
