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
from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.bench.records.sealed_json import check_sums
from eigenbench.tracking import store
from eigenbench.tracking.addresses import resolve_uri, shown_uri
from eigenbench.tracking.suite_store import RUN, Key, StoredRun, latest, source_of, stored_runs


@dataclass(frozen=True)
class Entry:
    """A record to import, and the SHA-256 of its file."""

    path: Path
    record: Record
    sha256: str

    @property
    def key(self) -> Key:
        """The identity of its run."""
        of = self.record
        return Key(RUN, of.experiment, of.method, of.classifier, of.run_key)

    @property
    def times(self) -> tuple[int, int]:
        """Start and end in milliseconds since 1970; a record without times has those of its file."""
        written = self.path.stat().st_mtime
        start, end = (
            int(1000 * (datetime.fromisoformat(text).timestamp() if text else written))
            for text in (self.record.started, self.record.finished)
        )
        return start, max(start, end)

    def shown_by(self, found: Iterable[StoredRun], source: str) -> StoredRun | None:
        """Return the run that makes importing this record unnecessary: the same, or later from elsewhere."""
        end = self.times[1]
        later = (run for run in found if run.source != source and run.end_time > end)
        return latest([*later, *(run for run in found if run.content == self.sha256)])

    def model_file(self) -> Path:
        """Return the file of its model; the DamagedFileError names one that is not as the record says."""
        assert self.record.model is not None
        name = Path(self.record.model.path).name
        check_sums(self.path, {name: {"sha256": self.record.model.sha256}}, self.path.read_bytes())
        return self.path.with_name(name)


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

    def read(self, paths: Iterable[Path | str]) -> dict[str, dict[str, Entry]]:
        """Return the records that can be read, by suite and SHA-256; the others are noted."""
        entries: dict[str, dict[str, Entry]] = {}
        for path in sorted({Path(path) for path in paths}):
            try:
                record = read_record(path)
            except RecordError as error:
                self.fail(path, error)
            else:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                entries.setdefault(record.suite, {})[digest] = Entry(path, record, digest)
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
    come; each experiment has one more with its figures. Both are written again when a run or a published
    number changes, which are known where ``plans`` has the suite. ``all_models`` stores the model of every
    run; by default only the best seed of each method and classifier has one.

    An address that MLflow does not accept raises TrackingError, and a store that cannot be reached or written
    TrackingUnavailable; what was imported until then is kept.
    """
    from eigenbench.tracking.suite_import import SuiteImport

    uri, folders = resolve_uri(tracking_uri), (Path(results_dir), Path(reports_dir))
    summary = ImportSummary(shown_uri(uri))
    by_name = {plan.suite.name: plan for plan in plans}
    with store.one_import(uri, folders[0]) as summary.store_mark:
        entries = summary.read(paths)
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
        for suite, entries in summary.read(paths).items():
            experiment = client.get_experiment_by_name(suite) if client else None
            found = {}
            if client and experiment and experiment.lifecycle_stage == "active":
                names = {entry.record.experiment for entry in entries.values()}
                found = stored_runs(client, experiment.experiment_id, names)
            for entry in entries.values():
                summary.count(entry, found.get(entry.key, []), source_of(folder))
    return summary
