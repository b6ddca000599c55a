"""Import records into MLflow: each becomes one run, however the last import ended."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from eigenbench.experiments.record import ModelInfo, Record, RecordError, read_record
from eigenbench.tracking import confusion, model, runs, store

if TYPE_CHECKING:
    from mlflow import MlflowClient

_PAGE = 1000
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
        Number of records that were new, already there, and there with another content.
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
    Takes about 40 ms a record, 70 ms with a small model, and a tenth of that for one that is there.
    One experiment's runs are listed once, whatever the number of records.

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
    ordered = sorted({Path(path) for path in paths})
    with store.open_store(uri, folder) as client:
        importer = _Importer(client, uri, folder, summary)
        for path in tqdm(ordered, desc="mlflow", unit=" records", disable=not progress, mininterval=2):
            try:
                importer.add(path)
            except (RecordError, _UnfitRecord) as error:
                summary.failed[str(path)] = str(error)
                print(error, file=sys.stderr)
    return summary


class _UnfitRecord(ValueError):
    """A record that is readable, but cannot be imported."""


@dataclass(frozen=True)
class _KnownRun:
    run_id: str
    record_sha256: str | None
    ended: bool


class _Importer:
    """One import: what the store holds already, and the steps that add a record to it."""

    def __init__(self, client: MlflowClient, uri: str, results_dir: Path, summary: ImportSummary):
        self.client = client
        self.uri = uri
        self.results_dir = results_dir
        self.summary = summary
        self.known: dict[str, dict[str, list[_KnownRun]]] = {}

    def add(self, path: Path) -> None:
        """Import one record unless the store has it, and remove whatever else stands for it there."""
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise RecordError(f"{path}: not a readable run record ({error})") from error
        record = read_record(path)
        known = self._known_runs(record.suite).setdefault(record.run_key, [])
        same = [run for run in known if run.ended and run.record_sha256 == digest]
        if same:
            kept = min(same, key=lambda run: run.run_id)
            self.summary.unchanged += 1
        else:
            model_file = self._model_file(path, record.model) if record.model else None
            for run in [run for run in known if not run.ended]:
                self._delete(record.suite, run)
                known.remove(run)
            kept = _KnownRun(self._log(path, record, digest, model_file), digest, ended=True)
            self.summary.replaced += bool(known)
            self.summary.imported += not known
        for run in known:
            if run != kept:
                self._delete(record.suite, run)
        known[:] = [kept]
        self.summary.run_ids[f"{record.suite}/{record.run_key}"] = kept.run_id

    def _known_runs(self, suite: str) -> dict[str, list[_KnownRun]]:
        if suite not in self.known:
            experiment_id = self._experiment(suite)
            self.summary.experiment_ids[suite] = experiment_id
            self.known[suite] = self._listed(experiment_id)
        return self.known[suite]

    def _experiment(self, suite: str) -> str:
        found = self.client.get_experiment_by_name(suite)
        if found is None:
            return self.client.create_experiment(
                suite, artifact_location=store.artifact_location(self.uri, suite), tags=_EXPERIMENT_TAGS
            )
        if found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        return found.experiment_id

    def _listed(self, experiment_id: str) -> dict[str, list[_KnownRun]]:
        listed: dict[str, list[_KnownRun]] = {}
        token = None
        while True:
            page = self.client.search_runs([experiment_id], max_results=_PAGE, page_token=token)
            for run in page:
                if key := run.data.tags.get("run_key"):
                    ended = run.info.status in ("FINISHED", "FAILED")
                    known = _KnownRun(run.info.run_id, run.data.tags.get("record_sha256"), ended)
                    listed.setdefault(key, []).append(known)
            token = page.token
            if not token:
                return listed

    def _model_file(self, path: Path, info: ModelInfo) -> Path:
        file = self.results_dir / info.path
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise _UnfitRecord(f"{path}: its model cannot be read ({error}); run snakemake again") from error
        if digest != info.sha256:
            raise _UnfitRecord(
                f"{path}: its model {file} has SHA-256 {digest}, the record says {info.sha256}; "
                f"delete both and run snakemake again"
            )
        return file

    def _log(self, path: Path, record: Record, digest: str, model_file: Path | None) -> str:
        experiment_id = self.summary.experiment_ids[record.suite]
        start, end = runs.start_and_end(record, path)
        run_id = self.client.create_run(
            experiment_id, start, tags=runs.tags(record, digest), run_name=runs.run_name(record)
        ).info.run_id
        runs.log_measurements(self.client, run_id, record, end)
        if record.dataset_info:
            dtype = record.model.input_dtype if record.model else None
            self.client.log_inputs(run_id, [runs.dataset_input(record.dataset_info, dtype)])
        with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
            staging = Path(folder)
            files = staging / "files"
            files.mkdir()
            (files / "record.json").write_bytes(path.read_bytes())
            if record.confusion:
                confusion.write_table(files / "confusion.csv", record.confusion)
                confusion.write_picture(files / "confusion.png", record.confusion)
            self.client.log_artifacts(run_id, str(files))
            if model_file:
                model.log_model(self.client, run_id, experiment_id, record, model_file, staging / "model")
        self.client.set_terminated(run_id, "FINISHED" if record.status == "ok" else "FAILED", end)
        return run_id

    def _delete(self, suite: str, run: _KnownRun) -> None:
        models = self.client.search_logged_models(
            [self.summary.experiment_ids[suite]], filter_string=f"source_run_id = '{run.run_id}'"
        )
        for found in models:
            self.client.delete_logged_model(found.model_id)
        self.client.delete_run(run.run_id)
