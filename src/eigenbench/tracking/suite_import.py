"""The import of one suite: its records, then a parent for each method and an overview of each experiment."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.bench.records.sealed_json import DamagedFileError
from eigenbench.tracking import notes, run_content
from eigenbench.tracking.addresses import TrackingError, run_link, sqlite_path
from eigenbench.tracking.models import model_file
from eigenbench.tracking.run_files import (
    write_confusion,
    write_exhibits,
    write_figures,
    write_pairs,
    write_table,
)
from eigenbench.tracking.suite_store import (
    NOTE,
    OVERVIEW,
    RUN,
    SUMMARY,
    Group,
    Key,
    StoredRun,
    SuiteStore,
    latest,
    source_of,
)
from eigenbench.tracking.summaries import Summary, by_rank, summarize

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from eigenbench.tracking.importer import Entry, ImportSummary

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 6
# Imports that cross each other settle in two or three passes; what is refused for good is an error after all.
_PASSES = 8
_SECONDS_APART = 0.5


@dataclass
class SuiteImport:
    """One import of one suite; ``plan`` is None where its file is not at hand."""

    client: MlflowClient
    uri: str
    results_dir: Path
    reports_dir: Path
    all_models: bool
    account: ImportSummary
    name: str
    entries: list[Entry]
    plan: SuitePlan | None

    def run(self, progress: Callable[[], object]) -> None:
        """Bring the store up to date; look again after writing, until nothing is to be written.

        What another import writes at the same moment is seen in the next pass, and put right there. An SQLite
        store has one import at a time.
        """
        from mlflow.exceptions import MlflowException

        for passes_left in reversed(range(_PASSES)):
            try:
                if not self._pass(progress) or sqlite_path(self.uri):
                    return
            except MlflowException as error:
                if isinstance(error.__context__, OSError) or not passes_left:
                    raise
                time.sleep(random.uniform(0, _SECONDS_APART))

    def _pass(self, progress: Callable[[], object]) -> bool:
        """Write what is missing or out of date, and return whether anything was."""
        from mlflow.exceptions import MlflowException

        experiments = sorted({entry.key.group.experiment for entry in self.entries})
        store = SuiteStore(self.client, self.uri, self.name, experiments, source_of(self.results_dir))
        self.account.experiment_ids[self.name] = store.experiment_id
        for entry in list(self.entries):
            try:
                self._bring(store, entry)
            except DamagedFileError as error:
                self.fail(entry, error)
            except MlflowException as error:
                if error.error_code != "INVALID_PARAMETER_VALUE":
                    raise
                self.fail(entry, TrackingError(f"{entry.path}: MLflow refuses it: {error.message}"))
            progress()
        for key, found in store.runs.items():
            if key.kind == RUN:
                store.keep(key, latest(found))
        for experiment in experiments:
            _ExperimentImport(self, store, experiment).bring()
        if self.plan:
            note = notes.suite_note(self.plan.suite, self.reports_dir)
            self.client.set_experiment_tag(store.experiment_id, NOTE, note)
        return store.changed

    def fail(self, entry: Entry, error: Exception) -> None:
        """Leave a record out."""
        self.entries.remove(entry)
        self.account.fail(entry.path, error)

    def _bring(self, store: SuiteStore, entry: Entry) -> None:
        """Import one record unless the store has it."""
        found = list(store.runs.get(entry.key, []))
        kept = entry.shown_by(found, store.source) or self._write(store, entry)
        if entry.name not in self.account.run_ids:
            self.account.count(entry, found, store.source)
        self.account.run_ids[entry.name] = kept.run_id
        store.keep(entry.key, kept)

    def _write(self, store: SuiteStore, entry: Entry) -> StoredRun:
        record = read_record(entry.path)
        if record.model:
            model_file(entry.path, record)

        def write_files(folder: Path) -> None:
            shutil.copyfile(entry.path, folder / "record.json")
            if record.confusion:
                write_confusion(folder, record.confusion)
            write_exhibits(folder, record.exhibits)

        return store.write(
            entry.key,
            entry.sha256,
            run_content.run_name(*entry.key.group, record.seed),
            run_content.record_tags(record) | {NOTE: notes.run_note(record, entry.path)},
            entry.start_time,
            entry.end_time,
            write_files=write_files,
            ok=record.status == "ok",
            metrics=run_content.record_metrics(record, entry.end_time),
            params=run_content.record_params(record),
            datasets=run_content.record_datasets(record),
        )


class _ExperimentImport:
    """The summaries and the overview of one experiment, after its records were imported.

    A summary shows exact runs of records, as its fingerprint says; that of an overview also names the
    summaries.
    """

    def __init__(self, done: SuiteImport, store: SuiteStore, experiment: str):
        self.done, self.store, self.experiment = done, store, experiment
        self.spec = done.plan.suite.experiments.get(experiment) if done.plan else None
        self.at_hand = {entry.sha256: entry for entry in done.entries}
        self.seeds = store.seeds(experiment)
        spec = self.spec.model_dump(mode="json") if self.spec else None
        self.content = _digest([_FORM, sorted(run.run_id for run in self.seeds), spec])
        self.parents: dict[Group, StoredRun] = {}

    def bring(self) -> None:
        """Write what is out of date, put the seeds below their summaries, and delete earlier ones."""
        groups = {run.key.group for run in self.seeds}
        self.parents = {group: run for group in groups if (run := self._current(group))}
        key = Key(OVERVIEW, Group(self.experiment, "", ""))
        overview = self.store.whole(key, self._overview_content)
        if self.done.all_models or overview is None or self.parents.keys() != groups:
            overview = self._write_all(key)
        for run in self.seeds:
            if parent := self.parents.get(run.key.group):
                self.store.set_parent(run, parent)
        for other in list(self.store.runs):
            if other.kind == SUMMARY and other.group.experiment == self.experiment:
                self.store.keep(other, self.parents.get(other.group))
        self.store.keep(key, overview)
        for group, parent in self.parents.items():
            self.done.account.summary_ids["/".join([self.store.suite, *group])] = parent.run_id

    def _current(self, group: Group) -> StoredRun | None:
        """Return the summary of a group, unless it is out of date, or lacks a model that is at hand here."""
        found = self.store.whole(Key(SUMMARY, group), self.content)
        if found and found.tags.get("best_run") in {entry.key.run_key for entry in self.at_hand.values()}:
            there = {f"models:/{model.model_id}" for model in self.store.models.values()}
            return found if found.tags.get("best_model") in there else None
        return found

    @property
    def _overview_content(self) -> str:
        return _digest([self.content, sorted(run.run_id for run in self.parents.values())])

    def _write_all(self, key: Key) -> StoredRun | None:
        """Write the models and summaries that are missing, and the overview, which is returned."""
        records = {run.run_id: record for run in self.seeds if (record := self._record(run))}
        if not records:
            return None
        found = summarize(self.experiment, self.done.plan, list(records.values()), self.done.results_dir)
        for item in found:
            seeds = [
                (run, records[run.run_id])
                for run in self.seeds
                if run.key.group == item.group and run.run_id in records
            ]
            models = {
                record.run_key: self._model(run, record)
                for run, record in seeds
                if record.model and (record is item.best or self.done.all_models)
            }
            if item.group not in self.parents:
                model = models.get(item.best.run_key) if item.best else None
                self.parents[item.group] = self._write_summary(item, seeds, model)
        return self.store.whole(key, self._overview_content) or self._write_overview(key, found)

    def _record(self, run: StoredRun) -> Record | None:
        """Return the record of a run: from this results folder, or from the files of a run from another."""
        try:
            if entry := self.at_hand.get(run.content):
                return read_record(entry.path)
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                copy = self.store.client.download_artifacts(run.run_id, "record.json", folder)
                return read_record(Path(copy))
        except (RecordError, OSError) as error:
            print(f"left out of the summary of {'/'.join(run.key.group)}: {error}", file=sys.stderr)
            return None

    def _model(self, run: StoredRun, record: Record) -> str | None:
        """Return the address of a run's model, which is stored by the import of the folder that has it."""
        if stored := self.store.models.get(run.run_id):
            return f"models:/{stored.model_id}"
        if (entry := self.at_hand.get(run.content)) is None:
            return None
        try:
            return f"models:/{self.store.write_model(run, record, model_file(entry.path, record))}"
        except DamagedFileError as error:
            self.done.fail(entry, error)
            return None

    def _write_summary(
        self, item: Summary, seeds: Sequence[tuple[StoredRun, Record]], model_uri: str | None
    ) -> StoredRun:
        from mlflow.entities import Metric, Param

        links = {
            record.run_key: run_link(self.store.experiment_id, run.run_id, "/artifacts/record.json")
            for run, record in seeds
        }
        note = notes.summary_note(item, self.done.results_dir, self.done.reports_dir, links, model_uri)
        start, end = _times([run for run, _ in seeds])
        names = {"dataset": item.tags["dataset"], "method": item.group.method}
        names |= {"classifier": item.group.classifier}
        return self.store.write(
            Key(SUMMARY, item.group),
            self.content,
            run_content.run_name(*item.group),
            item.tags | {"best_model": model_uri, NOTE: note},
            start,
            end,
            ok=bool(item.runs.finished),
            metrics=[Metric(name, value, end, 0) for name, value in item.metrics.items()],
            params=[Param(name, str(value)) for name, value in names.items()],
        )

    def _write_overview(self, key: Key, found: Sequence[Summary]) -> StoredRun:
        ranked = by_rank(found)
        links = {group: run_link(self.store.experiment_id, run.run_id) for group, run in self.parents.items()}
        title = (self.spec.title if self.spec else None) or self.experiment
        note = notes.overview_note(title, self.store.suite, self.spec, ranked, links, self.done.reports_dir)

        def write_files(folder: Path) -> None:
            write_table(folder, "methods", notes.methods_table(ranked))
            write_table(folder, "published", notes.published_table(ranked))
            write_pairs(folder, ranked)
            if self.spec:
                write_figures(folder, self.experiment, self.spec, found)

        return self.store.write(
            key,
            self._overview_content,
            f"overview · {self.experiment}",
            {"dataset": found[0].tags["dataset"], NOTE: note},
            *_times(self.seeds),
            write_files=write_files,
        )


def _times(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """Return the start of the first run, and an end that makes the duration the sum of all."""
    start = min(run.start_time for run in runs)
    return start, start + sum(run.end_time - run.start_time for run in runs)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
