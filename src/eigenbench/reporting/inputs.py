"""Find and read what the report is made of: suite files and run records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.bench.suites.suite import Suite, SuiteError
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite, suite_files


@dataclass(frozen=True)
class Inputs:
    """Suites with their files, the current record of each run, and what could not be read."""

    suites: list[Suite]
    suite_paths: dict[str, Path]
    records: list[Record]
    unreadable: list[str]


def read_inputs(
    suite_paths: Sequence[Path],
    results_dir: Path,
    *,
    all_suites_in: Path | None = None,
) -> Inputs:
    """Read suites and their records.

    A record that cannot be read is reported, not fatal. Records of runs that the suite does not ask for,
    or of other settings than it has now, are left out.

    Parameters
    ----------
    suite_paths : sequence of Path
        Suite files.
    results_dir : Path
        The folder that holds a folder for each suite.
    all_suites_in : Path, optional
        A folder of suite files: each further one that has records is included; if it cannot be read, it
        is reported.

    Raises
    ------
    SuiteError
        If a file of ``suite_paths`` is not a valid suite.
    """
    suites = {suite.name: (suite, path) for path in suite_paths for suite in [load_suite(path)]}
    unreadable: list[str] = []
    for path in _other_suites(all_suites_in, results_dir, suites):
        try:
            suites[path.stem] = (load_suite(path), path)
        except SuiteError as error:
            unreadable.append(str(error))
    records = []
    for suite, _ in suites.values():
        for run in plan_suite(suite, catalogue_of(suite)).runs:
            path = results_dir / run.record
            if path.exists():
                try:
                    record = read_record(path)
                except RecordError as error:
                    unreadable.append(" ".join(str(error).split()))
                else:
                    records += [record] if record.run_key == run.key else []
    return Inputs(
        suites=[suite for suite, _ in suites.values()],
        suite_paths={name: path for name, (_, path) in suites.items()},
        records=records,
        unreadable=unreadable,
    )


def _other_suites(folder: Path | None, results_dir: Path, known: Iterable[str]) -> Iterator[Path]:
    """Return the suite files of a folder that are not known yet and have records."""
    known = set(known)
    for path in suite_files(folder) if folder else ():
        if path.stem not in known and any((results_dir / path.stem).glob("**/record.json")):
            yield path
