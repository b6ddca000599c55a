"""The records of an import, read once before anything is written, and the account of what became of them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from eigenbench.bench.records.record import RecordError, read_record
from eigenbench.tracking.suite_store import RUN, Group, Key, StoredRun, latest


@dataclass
class ImportSummary:
    """Counts of an import.

    Attributes
    ----------
    tracking_uri : str
        The store, without secrets.
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
    store_mark : str or None
        The mark of an SQLite store, see `eigenbench.tracking.store.store_mark`.
    """

    tracking_uri: str
    imported: int = 0
    unchanged: int = 0
    replaced: int = 0
    experiment_ids: dict[str, str] = field(default_factory=dict)
    run_ids: dict[str, str] = field(default_factory=dict)
    summary_ids: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    store_mark: str | None = None

    def count(self, entry: Entry, found: Sequence[StoredRun], source: str) -> None:
        """Count a record under what the store had of it."""
        if entry.shown_by(found, source):
            self.unchanged += 1
        elif latest(found):
            self.replaced += 1
        else:
            self.imported += 1

    def fail(self, path: Path, error: Exception) -> None:
        """Note why a record is not in the store, and say so at once."""
        self.failed[str(path)] = str(error)
        print(error, file=sys.stderr)


@dataclass(frozen=True)
class Entry:
    """The facts of a record that decide whether it is imported; times are in milliseconds since 1970."""

    path: Path
    suite: str
    key: Key
    sha256: str
    start_time: int
    end_time: int

    @classmethod
    def read(cls, path: Path) -> Entry:
        """Read a record; one without times, as of a dataset that is absent, has those of its file."""
        record = read_record(path)
        written = path.stat().st_mtime
        start = _timestamp(record.started, written)
        return cls(
            path,
            record.suite,
            Key(RUN, Group(record.experiment, record.method, record.classifier), record.run_key),
            hashlib.sha256(path.read_bytes()).hexdigest(),
            start,
            max(start, _timestamp(record.finished, written)),
        )

    @property
    def name(self) -> str:
        """The run in an `ImportSummary`."""
        return f"{self.suite}/{self.key.run_key}"

    def shown_by(self, found: Iterable[StoredRun], source: str) -> StoredRun | None:
        """Return the run that makes importing this record unnecessary: the same, or later from elsewhere."""
        return latest(
            run
            for run in found
            if run.content == self.sha256 or (run.source != source and run.end_time > self.end_time)
        )


def _timestamp(text: str | None, otherwise: float) -> int:
    return int(1000 * (datetime.fromisoformat(text).timestamp() if text else otherwise))


def read_entries(paths: Iterable[Path | str], summary: ImportSummary) -> dict[str, list[Entry]]:
    """Return the records that can be read, by suite; the others are noted in the summary."""
    entries: dict[str, list[Entry]] = {}
    for path in sorted({Path(path) for path in paths}):
        try:
            entry = Entry.read(path)
        except RecordError as error:
            summary.fail(path, error)
        else:
            entries.setdefault(entry.suite, []).append(entry)
    return entries
