"""Import records into MLflow: each becomes one run, also after a killed import and beside other imports."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from eigenbench.experiments.record import REMEDY, ModelInfo, RecordError, read_record
from eigenbench.tracking import confusion, logged_models, runs, store
from eigenbench.tracking.artifacts import artifact_folder
from eigenbench.tracking.databases import sqlite_path
from eigenbench.tracking.known import KnownRun, known_runs, latest_run, source_of, started_tags

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Opens the dashboard on runs and metrics; without it MLflow guesses, and guesses language models.
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


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
    failed : dict
        Record path to the reason why it is not.
    """

    tracking_uri: str
    imported: int = 0
    unchanged: int = 0
    replaced: int = 0
    experiment_ids: dict[str, str] = field(default_factory=dict)
    run_ids: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def count(self, entry: _Entry, known: Iterable[KnownRun]) -> None:
        """Count a record under what the store had of it."""
        ended = [run for run in known if run.ended]
        if entry.current_run(ended):
            self.unchanged += 1
        elif ended:
            self.replaced += 1
        else:
            self.imported += 1

    def fail(self, path: Path, error: Exception) -> None:
        """Note why a record is not in the store, and say so at once."""
        self.failed[str(path)] = str(error)
        print(error, file=sys.stderr)


def import_records(
    paths: Iterable[Path | str],
    *,
    results_dir: Path | str,
    tracking_uri: str | None = None,
    progress: bool = True,
) -> ImportSummary:
    """Bring records into an MLflow store; what is there already stays as it is.

    A run counts as imported when it has ended; that is set last. Runs that a killed import left open are
    removed and made again. A record whose bytes have changed replaces its run once the new one is whole.
    Several results folders may be imported into one database or server at the same time: of runs with the
    same key the latest stays.

    Parameters
    ----------
    paths : iterable of paths
        Record files, usually ``<results_dir>/records/<suite>/<run_key>.json``.
    results_dir : path
        The folder that the models' paths in the records start from.
    tracking_uri : str, optional
        The store; by default ``MLFLOW_TRACKING_URI``, else ``sqlite:///mlflow.db``.
    progress : bool
        Whether to show a progress line on stderr.

    Returns
    -------
    ImportSummary

    Raises
    ------
    TrackingUnavailable
        If the store cannot be reached or written. What was imported until then is kept.
    TrackingError
        If the address is one that MLflow does not accept.

    Notes
    -----
    Takes about 35 ms of processor time a record, 55 ms with a small model, and 2 ms for one that is there.

    Examples
    --------
    >>> from pathlib import Path
    >>> from eigenbench.tracking import import_records
    >>> records = Path("results/records/quick").glob("*.json")
    >>> import_records(records, results_dir="results").imported  # doctest: +SKIP
    120
    """
    uri = store.resolve_uri(tracking_uri)
    folder = Path(results_dir)
    summary = ImportSummary(store.shown_uri(uri))
    with store.open_store(uri, folder) as client:
        entries = _readable(paths, summary)
        importer = _Importer(client, uri, folder, summary, entries)
        for entry in tqdm(entries, desc="mlflow", unit=" records", disable=not progress, mininterval=2):
            try:
                importer.add(entry)
            except (RecordError, _UnfitRecord) as error:
                summary.fail(entry.path, error)
        if sqlite_path(uri) is None:
            importer.remove_duplicates()
    return summary


def compare_records(
    paths: Iterable[Path | str], *, results_dir: Path | str, tracking_uri: str | None = None
) -> ImportSummary:
    """Return what `import_records` would do, without writing anything.

    Parameters, errors and result are those of `import_records`; what would fail because of a damaged model
    is not seen.
    """
    uri = store.resolve_uri(tracking_uri)
    folder = Path(results_dir)
    summary = ImportSummary(store.shown_uri(uri))
    with store.read_store(uri, folder) as client:
        for suite, entries in _by_suite(_readable(paths, summary)).items():
            experiment = client.get_experiment_by_name(suite) if client else None
            known = {}
            if client and experiment and experiment.lifecycle_stage == "active":
                summary.experiment_ids[suite] = experiment.experiment_id
                keys = [entry.run_key for entry in entries]
                known = known_runs(client, experiment.experiment_id, source_of(folder), keys)
            for entry in entries:
                summary.count(entry, known.get(entry.run_key, []))
    return summary


class _UnfitRecord(ValueError):
    """A record that is readable, but cannot be imported."""


@dataclass(frozen=True)
class _Entry:
    """What must be known of a record before it is imported."""

    path: Path
    suite: str
    run_key: str
    sha256: str
    end_time: int

    def current_run(self, known: Iterable[KnownRun]) -> KnownRun | None:
        """Return the run that makes importing this record unnecessary."""
        return latest_run(
            run
            for run in known
            if run.ended
            and (run.record_sha256 == self.sha256 or (run.elsewhere and run.end_time > self.end_time))
        )


def _readable(paths: Iterable[Path | str], summary: ImportSummary) -> list[_Entry]:
    entries = []
    for path in sorted({Path(path) for path in paths}):
        try:
            record = read_record(path)
            entries.append(
                _Entry(
                    path,
                    record.suite,
                    record.run_key,
                    hashlib.sha256(path.read_bytes()).hexdigest(),
                    runs.start_and_end(record, path)[1],
                )
            )
        except RecordError as error:
            summary.fail(path, error)
    return entries


def _by_suite(entries: Iterable[_Entry]) -> dict[str, list[_Entry]]:
    grouped: dict[str, list[_Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.suite, []).append(entry)
    return grouped


def _set_aside(*paths: Path) -> str:
    """Rename files to ``<name>.refused``, so that the workflow makes them again, and say so."""
    try:
        for path in paths:
            path.replace(path.with_name(f"{path.name}.refused"))
    except OSError as error:
        names = " and ".join(map(str, paths))
        return f"{names} cannot be renamed ({error.strerror}): delete what is there, then {REMEDY}"
    names = " and ".join(f"{path}.refused" for path in paths)
    return f"kept as {names}; {REMEDY}"


class _Importer:
    """One import: what the store holds already, and the steps that add a record to it."""

    def __init__(
        self,
        client: MlflowClient,
        uri: str,
        results_dir: Path,
        summary: ImportSummary,
        entries: list[_Entry],
    ):
        self.client = client
        self.uri = uri
        self.results_dir = results_dir
        self.source = source_of(results_dir)
        self.summary = summary
        self.keys = {suite: [entry.run_key for entry in group] for suite, group in _by_suite(entries).items()}
        self.known: dict[str, dict[str, list[KnownRun]]] = {}

    def add(self, entry: _Entry) -> None:
        """Import one record unless the store has it, and remove its other runs."""
        known = self._known_runs(entry.suite).setdefault(entry.run_key, [])
        kept = entry.current_run(known)
        if kept is None:
            run_id = self._log(entry)
            kept = KnownRun(run_id, entry.sha256, ended=True, elsewhere=False, end_time=entry.end_time)
        self.summary.count(entry, known)
        for run in known:
            if run != kept and not run.in_progress:
                self._delete(entry.suite, run)
        known[:] = [kept]
        self.summary.run_ids[f"{entry.suite}/{entry.run_key}"] = kept.run_id

    def remove_duplicates(self) -> None:
        """Keep one run of each record, if an import from another folder made the same one meanwhile."""
        for suite, keys in self.keys.items():
            experiment_id = self.summary.experiment_ids[suite]
            for key, known in known_runs(self.client, experiment_id, self.source, keys).items():
                ended = [run for run in known if run.ended]
                kept = latest_run(ended)
                for run in ended:
                    if run != kept:
                        self._delete(suite, run)
                if kept and f"{suite}/{key}" in self.summary.run_ids:
                    self.summary.run_ids[f"{suite}/{key}"] = kept.run_id

    def _known_runs(self, suite: str) -> dict[str, list[KnownRun]]:
        if suite not in self.known:
            experiment_id = self._experiment(suite)
            self.summary.experiment_ids[suite] = experiment_id
            self.known[suite] = known_runs(self.client, experiment_id, self.source, self.keys[suite])
        return self.known[suite]

    def _experiment(self, suite: str) -> str:
        from mlflow.exceptions import MlflowException

        found = self.client.get_experiment_by_name(suite)
        if found is None:
            place = store.artifact_location(self.uri, suite)
            try:
                return self.client.create_experiment(suite, artifact_location=place, tags=_EXPERIMENT_TAGS)
            except MlflowException:
                found = self.client.get_experiment_by_name(suite)  # another import has just made it
                if found is None:
                    raise
        if found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        return found.experiment_id

    def _model_file(self, path: Path, info: ModelInfo) -> Path:
        """Return the file of a record's model; if it is not the one, set record and model aside."""
        file = self.results_dir / info.path
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except FileNotFoundError as error:
            problem = f"its model {file} is missing"
            raise _UnfitRecord(f"{path}: {problem}; {_set_aside(path)}") from error
        except OSError as error:
            raise _UnfitRecord(
                f"{path}: its model {file} cannot be read ({error.strerror}); make it readable, or "
                f"delete it, and run the same snakemake command again"
            ) from error
        if digest != info.sha256:
            problem = f"its model {file} has SHA-256 {digest}, the record says {info.sha256}"
            raise _UnfitRecord(f"{path}: {problem}; {_set_aside(path, file)}")
        return file

    def _log(self, entry: _Entry) -> str:
        record = read_record(entry.path)
        model_file = self._model_file(entry.path, record.model) if record.model else None
        experiment_id = self.summary.experiment_ids[entry.suite]
        start, end = runs.start_and_end(record, entry.path)
        created = self.client.create_run(
            experiment_id,
            start,
            tags=runs.tags(record, entry.sha256) | started_tags(self.source),
            run_name=runs.run_name(record),
        ).info
        runs.log_measurements(self.client, created.run_id, record, end)
        if record.dataset_info:
            runs.log_dataset(self.client, created.run_id, record)
        with artifact_folder(created.artifact_uri, self.uri) as files:
            shutil.copyfile(entry.path, files / "record.json")
            if record.confusion:
                confusion.write_table(files / "confusion.csv", record.confusion)
                confusion.write_picture(files / "confusion.png", record.confusion)
        if model_file:
            logged_models.log_model(self.client, created.run_id, experiment_id, record, model_file)
        status = "FINISHED" if record.status == "ok" else "FAILED"
        self.client.set_terminated(created.run_id, status, end)
        return created.run_id

    def _delete(self, suite: str, run: KnownRun) -> None:
        models = self.client.search_logged_models(
            [self.summary.experiment_ids[suite]], filter_string=f"source_run_id = '{run.run_id}'"
        )
        for found in models:
            self.client.delete_logged_model(found.model_id)
        self.client.delete_run(run.run_id)
