"""Import of records into MLflow: each becomes one run, also after a kill and beside other imports."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tqdm import tqdm

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import RecordError, read_record
from eigenbench.tracking import store
from eigenbench.tracking.addresses import resolve_uri, shown_uri
from eigenbench.tracking.suite_store import RUN, Group, Key, StoredRun, latest, source_of, stored_runs


@dataclass
class ImportSummary:
    """Counts of an import, and the store without its secrets.

    A later record of the same run from another results folder counts as unchanged. ``run_ids`` has the MLflow
    run of each ``<suite>/<run_key>``, ``summary_ids`` the parent of the runs of each
    ``<suite>/<experiment>/<method>/<classifier>``, ``failed`` the reason for each record that is not in the
    store, and ``store_mark`` the mark of an SQLite store, see `eigenbench.tracking.store.store_mark`.
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


def import_records(
    paths: Iterable[Path | str],
    *,
    results_dir: Path | str,
    reports_dir: Path | str = "reports",
    tracking_uri: str | None = None,
    plans: Iterable[SuitePlan] = (),
    all_models: bool = False,
    progress: bool = True,
) -> ImportSummary:
    """Bring records into an MLflow store; what is there already stays as it is.

    A run counts as imported when it has ended; that is set last. Runs that a killed import left open are
    removed and made again. A record whose bytes have changed replaces its run once the new one is whole.
    Several results folders may be imported into one database or server at the same time: of runs with the
    same key the latest stays.

    The runs that differ only in their seeds stand below one that summarizes them, from whichever folder they
    come; each experiment has one more with its figures. Both are written again when a run is added or
    replaced, or the suite's published numbers change, which are known where ``plans`` has the suite.

    ``all_models`` stores the model of every run; by default only the best seed of each method and classifier
    has one. The cost is linear in the records that the store lacks, and in the methods they belong to.

    Raises
    ------
    TrackingUnavailable
        If the store cannot be reached or written. What was imported until then is kept.
    TrackingError
        If the address is one that MLflow does not accept.
    """
    from eigenbench.tracking.suite_import import SuiteImport

    uri, folders = resolve_uri(tracking_uri), (Path(results_dir), Path(reports_dir))
    summary = ImportSummary(shown_uri(uri))
    by_name = {plan.suite.name: plan for plan in plans}
    with store.one_import(uri, folders[0]) as summary.store_mark:
        entries = read_entries(paths, summary)
        client = store.open_store(uri)
        total = sum(map(len, entries.values()))
        hidden = None if progress else True
        with tqdm(desc="mlflow", unit=" records", total=total, disable=hidden, mininterval=2) as bar:
            for name, of_suite in entries.items():
                SuiteImport(
                    client, uri, *folders, all_models, summary, name, of_suite, by_name.get(name)
                ).run(bar.update)
    return summary


def compare_records(
    paths: Iterable[Path | str], *, results_dir: Path | str, tracking_uri: str | None = None
) -> ImportSummary:
    """Return what `import_records` would do, without writing anything; damaged models are not seen."""
    uri, folder = resolve_uri(tracking_uri), Path(results_dir)
    summary = ImportSummary(shown_uri(uri))
    with store.unavailable_on_failure(uri, folder):
        client = store.read_store(uri)
        for suite, entries in read_entries(paths, summary).items():
            experiment = client.get_experiment_by_name(suite) if client else None
            found = {}
            if client and experiment and experiment.lifecycle_stage == "active":
                summary.experiment_ids[suite] = experiment.experiment_id
                names = {entry.key.group.experiment for entry in entries}
                found = stored_runs(client, experiment.experiment_id, names)
            for entry in entries:
                summary.count(entry, found.get(entry.key, []), source_of(folder))
    return summary
