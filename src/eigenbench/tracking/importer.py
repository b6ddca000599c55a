"""Import of records into MLflow: each becomes one run, also after a kill and beside other imports.

Of a suite its records come first, then a parent for each method and an overview of each experiment.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.bench.records.sealed_json import DamagedFileError
from eigenbench.reporting.csv_files import frame_csv
from eigenbench.reporting.display_names import experiment_name
from eigenbench.reporting.page_tables import published_table
from eigenbench.tracking import run_content, store
from eigenbench.tracking.addresses import resolve_uri, run_link, shown_uri, sqlite_path
from eigenbench.tracking.models import log_model
from eigenbench.tracking.suite_store import (
    NOTE,
    OVERVIEW,
    PARENT,
    RUN,
    Entry,
    Key,
    StoredRun,
    SuiteStore,
    latest,
    source_of,
    stored_runs,
    was_moved,
)
from eigenbench.tracking.summaries import Summary, summarize

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 11
# Imports that cross each other settle in two or three passes; what is refused for good is an error after all.
_PASSES = 8


@dataclass
class ImportSummary:
    """Counts of an import, and the store without its secrets.

    ``run_ids`` has the MLflow run of each ``<suite>/<run_key>``, ``summary_ids`` the parent of the runs of
    each ``<suite>/<experiment>/<method>/<classifier>``, ``failed`` the reason for each record that is not in
    the store, and ``store_mark`` the mark of an SQLite store, see `eigenbench.tracking.store.store_mark`.
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

    def fail(self, path: Path, reason: object) -> None:
        """Note why a record is not in the store, and say so at once."""
        self.failed[str(path)] = str(reason)
        print(reason, file=sys.stderr)

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
) -> ImportSummary:
    """Bring records into an MLflow store; what is there already stays as it is.

    A record whose bytes have changed replaces its run once the new one is whole. Of runs with the same key
    the latest stays. ``plans`` give published numbers. ``all_models`` stores the model of every run; by
    default only the best seed of each method has one. Raises TrackingError for an address that MLflow does
    not accept, and for a store that cannot be reached or written.
    """
    uri, folders = resolve_uri(tracking_uri), (Path(results_dir), Path(reports_dir))
    summary = ImportSummary(shown_uri(uri))
    by_name = {plan.suite.name: plan for plan in plans}
    with store.one_import(uri, folders[0]) as summary.store_mark:
        entries = summary.read(paths)
        client = store.open_store(uri)
        for name, of in entries.items():
            SuiteImport(client, uri, *folders, all_models, summary, of, by_name.get(name)).run(name)
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
            there = client.get_experiment_by_name(suite) if client else None
            found = {}
            if client and there and there.lifecycle_stage == "active" and not was_moved(there, uri):
                names = {entry.record.experiment for entry in entries.values()}
                found = stored_runs(client, there.experiment_id, names)
            for entry in entries.values():
                summary.count(entry, found.get(entry.key, []), source_of(folder))
    return summary


@dataclass
class SuiteImport:
    """One import of one suite; ``plan`` is None where its file is not at hand."""

    client: MlflowClient
    uri: str
    results_dir: Path
    reports_dir: Path
    all_models: bool
    account: ImportSummary
    entries: dict[str, Entry]
    plan: SuitePlan | None
    store: SuiteStore = field(init=False)

    def run(self, suite: str) -> None:
        """Bring the store up to date; look again after writing, as other imports may write, too."""
        from mlflow.exceptions import MlflowException

        for passes_left in reversed(range(_PASSES)):
            try:
                if not self._pass(suite) or sqlite_path(self.uri):
                    return
            except MlflowException as error:
                if isinstance(error.__context__, OSError) or not passes_left:
                    raise
                time.sleep(random.uniform(0, 0.5))

    def _pass(self, suite: str) -> bool:
        """Write what is missing or out of date, and return whether anything was."""
        from mlflow.exceptions import MlflowException

        experiments = sorted({entry.record.experiment for entry in self.entries.values()})
        self.store = SuiteStore(self.client, self.uri, suite, experiments, source_of(self.results_dir))
        for entry in tqdm(list(self.entries.values()), f"mlflow: {suite}", unit=" records", disable=None):
            try:
                self._bring(entry)
            except DamagedFileError as error:
                self._fail(entry, error)
            except MlflowException as error:
                if error.error_code != "INVALID_PARAMETER_VALUE":
                    raise
                self._fail(entry, f"{entry.path}: MLflow refuses it: {error.message}")
        for key, found in self.store.runs.items():
            if key.kind == RUN:
                self.store.keep(key, latest(found))
        if self.plan or not self.store.described:
            for experiment in experiments:
                self._bring_experiment(experiment)
        else:
            remedy = "name the folder of its suite file with eigenbench sync --suites-dir"
            print(f"warning: the summaries of {suite} stay as they are: {remedy}", file=sys.stderr)
        if self.plan:
            note = run_content.suite_note(self.plan.suite, self.reports_dir)
            self.client.set_experiment_tag(self.store.experiment_id, NOTE, note)
        return self.store.changed

    def _fail(self, entry: Entry, reason: object) -> None:
        """Leave a record out."""
        del self.entries[entry.sha256]
        self.account.fail(entry.path, reason)

    def _bring(self, entry: Entry) -> None:
        """Import one record unless the store has it."""
        found = list(self.store.runs.get(entry.key, []))
        kept = entry.shown_by(found, self.store.source) or self._write_run(entry)
        name = f"{self.store.suite}/{entry.record.run_key}"
        if name not in self.account.run_ids:
            self.account.count(entry, found, self.store.source)
        self.account.run_ids[name] = kept.run_id
        self.store.keep(entry.key, kept)

    def _write_run(self, entry: Entry) -> StoredRun:
        from eigenbench.reporting.exhibit_plots import exhibit_files

        record, times = entry.record, entry.times
        if record.model:
            entry.model_file()
        files = {"record.json": entry.path.read_bytes()} | exhibit_files(record.exhibits)
        if record.confusion:
            files["confusion.csv"] = run_content.confusion_csv(record.confusion)
        note = run_content.run_note(record, entry.path)
        return self.store.write(
            entry.key,
            run_content.shown_name(record),
            run_content.record_tags(record) | {"record_sha256": entry.sha256, NOTE: note},
            *times,
            files=files,
            ok=record.status == "ok",
            metrics=run_content.record_metrics(record, times[1]),
            params=run_content.record_params(record),
            datasets=run_content.record_datasets(record),
        )

    def _bring_experiment(self, experiment: str) -> None:
        """Write what is out of date, put the seeds below their summaries, and delete earlier ones."""
        planned = {run.key for run in self.plan.runs} if self.plan else None
        seeds = self.store.seeds(experiment, planned)
        spec = self.plan.suite.experiments.get(experiment) if self.plan else None
        settings = spec.model_dump(mode="json") if spec else None
        content = _digest([_FORM, sorted(run.run_id for run in seeds), settings])
        keys = {run.key.summary for run in seeds}
        parents = {key: run for key in keys if (run := self._current(key, content))}
        overview = self.store.whole(Key(OVERVIEW, experiment), _with_parents(content, parents))
        if self.all_models or overview is None or parents.keys() != keys:
            overview = self._bring_summaries(experiment, content, seeds, parents)
        for run in seeds:
            if (parent := parents.get(run.key.summary)) and run.tags.get(PARENT) != parent.run_id:
                self.store.changed = True
                self.client.set_tag(run.run_id, PARENT, parent.run_id)
        for key in list(self.store.runs):
            if key.kind != RUN and key.experiment == experiment:
                self.store.keep(key, overview if key.kind == OVERVIEW else parents.get(key))
        ids = {"/".join([self.store.suite, *key[1:4]]): parent.run_id for key, parent in parents.items()}
        self.account.summary_ids |= ids

    def _bring_summaries(
        self, experiment: str, content: str, seeds: Sequence[StoredRun], parents: dict[Key, StoredRun]
    ) -> StoredRun | None:
        """Write the models and parents that are missing, note the parents, and return the overview."""
        records = {run.run_id: record for run in seeds if (record := self._record(run))}
        found = summarize(experiment, self.plan, list(records.values()), self.results_dir)
        for item in found:
            of = [run for run in seeds if run.key.summary == item.key and run.run_id in records]
            best = item.best.run_key if item.best else None
            models = {
                run.key.run_key: self._model(run, record)
                for run in of
                if (record := records[run.run_id]).model and (self.all_models or run.key.run_key == best)
            }
            if item.key not in parents:
                parents[item.key] = self._write_summary(item, content, of, models.get(best or ""))
        overview = self.store.whole(Key(OVERVIEW, experiment), _with_parents(content, parents))
        if found and overview is None:
            overview = self._write_overview(experiment, content, seeds, found, parents)
        return overview

    def _current(self, key: Key, content: str) -> StoredRun | None:
        """Return a summary, unless it is out of date, or lacks a model that is at hand here."""
        found = self.store.whole(key, content)
        here = {entry.record.run_key for entry in self.entries.values()}
        there = {f"models:/{model.model_id}" for model in self.store.models.values()}
        lacks = found and found.tags.get("best_run") in here and found.tags.get("best_model") not in there
        return None if lacks else found

    def _record(self, run: StoredRun) -> Record | None:
        """Return the record of a run: from this results folder, or from the files of a run from another."""
        if entry := self.entries.get(run.content):
            return entry.record
        try:
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                copy = self.client.download_artifacts(run.run_id, "record.json", folder)
                return read_record(Path(copy))
        except (RecordError, OSError) as error:
            print(f"left out of the summary of {'/'.join(run.key[1:4])}: {error}", file=sys.stderr)
            return None

    def _model(self, run: StoredRun, record: Record) -> str | None:
        """Return the address of a run's model, which is stored by the import of the folder that has it."""
        stored, entry = self.store.models.get(run.run_id), self.entries.get(run.content)
        name = str(stored.model_id) if stored else None
        if entry and not stored:
            try:
                file = entry.model_file()
            except DamagedFileError as error:
                self._fail(entry, error)
            else:
                self.store.changed = True
                name = log_model(self.store, run.run_id, record, file)
        return name and f"models:/{name}"

    def _write_summary(
        self, item: Summary, content: str, seeds: Sequence[StoredRun], model_uri: str | None
    ) -> StoredRun:
        from mlflow.entities import Metric, Param

        here = self.store.experiment_id
        links = {run.key.run_key: run_link(here, run.run_id, "/artifacts/record.json") for run in seeds}
        note = run_content.summary_note(item, self.results_dir, self.reports_dir, links, model_uri)
        start, end = _times(seeds)
        names = {name: getattr(item.runs.records[0], name) for name in ("dataset", "method", "classifier")}
        return self.store.write(
            item.key,
            run_content.shown_name(item.runs.records[0], seed=False),
            item.tags | {"summary_of": content, "best_model": model_uri, NOTE: note},
            start,
            end,
            ok=bool(item.runs.finished),
            metrics=[Metric(name, value, end, 0) for name, value in item.metrics.items()],
            params=[Param(name, str(value)) for name, value in names.items()],
        )

    def _write_overview(
        self,
        experiment: str,
        content: str,
        seeds: Sequence[StoredRun],
        found: Sequence[Summary],
        parents: Mapping[Key, StoredRun],
    ) -> StoredRun:
        from eigenbench.reporting.captioned_figures import experiment_figures

        spec = self.plan.suite.experiments.get(experiment) if self.plan else None
        links = {key: run_link(self.store.experiment_id, run.run_id) for key, run in parents.items()}
        ranked = sorted(found, key=lambda item: (item.place["rank"] or math.inf, item.runs.label))
        note = run_content.overview_note(self.store.suite, experiment, spec, ranked, links, self.reports_dir)
        tables = {"methods": run_content.methods_table(ranked)}
        if published := [row for item in ranked for row in item.published]:
            tables["published"] = published_table("published", published).frame()
        files = {f"{name}.csv": frame_csv([table], list(table)).encode() for name, table in tables.items()}
        if spec:
            figures = experiment_figures(spec, [item.runs for item in found], experiment)
            files |= {f"figures/{figure.key}.svg": figure.svg_file.encode() for figure in figures}
        return self.store.write(
            Key(OVERVIEW, experiment),
            f"overview · {experiment_name(experiment, found[0].runs.records[0].dataset)}",
            {"dataset": found[0].tags["dataset"], "summary_of": _with_parents(content, parents), NOTE: note},
            *_times(seeds),
            files=files,
        )


def _times(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """Return the start of the first run, and an end that makes the duration the sum of all."""
    start = min(run.start_time for run in runs)
    return start, start + sum(run.end_time - run.start_time for run in runs)


def _with_parents(content: str, parents: Mapping[Key, StoredRun]) -> str:
    """Return the fingerprint of an overview, which names the runs and summaries that it shows."""
    return _digest([content, sorted(run.run_id for run in parents.values())])


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
