"""The records of an import, read once before anything is written."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from eigenbench.bench.records.record import RecordError, read_record
from eigenbench.tracking import runs
from eigenbench.tracking.known import Group, KnownRun, latest_run


@dataclass
class ImportSummary:
    """What an import did.

    Attributes
    ----------
    tracking_uri : str
        The store, without a password.
    imported, unchanged, replaced : int
        Number of records that were new, already there, and there with another content. A later record of the
        same run from another results folder counts as there.
    experiment_ids : dict
        Suite name to MLflow experiment.
    run_ids : dict
        ``<suite>/<run_key>`` to MLflow run, for every record that is in the store now.
    summary_ids : dict
        ``<suite>/<experiment>/<method>/<classifier>`` to the parent of its runs.
    failed : dict
        Record path to the reason why it is not.
    """

    tracking_uri: str
    imported: int = 0
    unchanged: int = 0
    replaced: int = 0
    experiment_ids: dict[str, str] = field(default_factory=dict)
    run_ids: dict[str, str] = field(default_factory=dict)
    summary_ids: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def count(self, entry: Entry, known: Iterable[KnownRun]) -> None:
        """Count a record under what the store had of it."""
        ended = [run for run in known if run.ended]
        if entry.current_run(ended):
            self.unchanged += 1
        elif ended:
            self.replaced += 1
        else:
            self.imported += 1

    def add(self, other: ImportSummary) -> None:
        """Add what another process did."""
        for name in ("imported", "unchanged", "replaced"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("experiment_ids", "run_ids", "summary_ids", "failed"):
            getattr(self, name).update(getattr(other, name))

    def fail(self, path: Path, error: Exception) -> None:
        """Note why a record is not in the store, and say so at once."""
        self.failed[str(path)] = str(error)
        print(error, file=sys.stderr)


@dataclass(frozen=True)
class Entry:
    """What must be known of a record before it is imported.

    Attributes
    ----------
    path : Path
        The record file.
    suite, group, run_key
        Which run it is.
    sha256 : str
        Of the file.
    start_time, end_time : int
        When it was made, in milliseconds since 1970.
    """

    path: Path
    suite: str
    group: Group
    run_key: str
    sha256: str
    start_time: int
    end_time: int

    @property
    def key(self) -> tuple[str, str]:
        """The experiment and the run key, which name a run in its suite."""
        return self.group.experiment, self.run_key

    def current_run(self, known: Iterable[KnownRun]) -> KnownRun | None:
        """Return the run that makes importing this record unnecessary."""
        return latest_run(
            run
            for run in known
            if run.ended
            and (run.record_sha256 == self.sha256 or (run.elsewhere and run.end_time > self.end_time))
        )


def readable(paths: Iterable[Path | str], summary: ImportSummary) -> dict[str, list[Entry]]:
    """Return the records that can be read, by suite; the others are noted in the summary."""
    entries: dict[str, list[Entry]] = {}
    for path in sorted({Path(path) for path in paths}):
        try:
            record = read_record(path)
            start, end = runs.start_and_end(record, path)
            entry = Entry(
                path,
                record.suite,
                Group(record.experiment, record.method, record.classifier),
                record.run_key,
                hashlib.sha256(path.read_bytes()).hexdigest(),
                start,
                end,
            )
        except RecordError as error:
            summary.fail(path, error)
        else:
            entries.setdefault(entry.suite, []).append(entry)
    return entries
