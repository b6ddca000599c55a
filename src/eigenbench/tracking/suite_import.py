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
from eigenbench.tracking.models import ASKED, BEST, model_file
from eigenbench.tracking.run_files import (
    write_confusion,
    write_exhibits,
    write_figures,
    write_pairs,
    write_tables,
)
from eigenbench.tracking.suite_store import (
    NOTE,
    OVERVIEW,
    RUN,
    SUMMARY,
    Group,
    Key,
    NewRun,
    StoredRun,
    SuiteStore,
    latest,
    source_of,
)
from eigenbench.tracking.summaries import Summary, summarize

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from eigenbench.tracking.importer import Entry, ImportSummary

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 5
# Imports that cross each other settle in two or three passes; what is refused for good is an error after all.
_PASSES = 8
_SECONDS_APART = 0.5


@dataclass(frozen=True)
class ImportOptions:
    """The store and the folders of an import, and whether it stores the model of every run."""

    uri: str
    results_dir: Path
    reports_dir: Path
    all_models: bool


@dataclass
class SuiteImport:
    """One import of one suite; ``plan`` is None where its file is not at hand."""

    client: MlflowClient
    options: ImportOptions
    account: ImportSummary
    name: str
    entries: list[Entry]
    plan: SuitePlan | None

    def run(self, progress: Callable[[], object]) -> None:
        """Bring the store up to date; look again after writing, until nothing is to be written.

        What another import writes at the same moment is seen in the next pass, and put right there.
        """
        from mlflow.exceptions import MlflowException

        for passes_left in reversed(range(_PASSES)):
            try:
                if not self._pass(progress):
                    return
                if sqlite_path(self.options.uri):  # which has one import at a time
                    return
            except MlflowException as error:
                if isinstance(error.__context__, OSError) or not passes_left:
                    raise
                time.sleep(random.uniform(0, _SECONDS_APART))

    def _pass(self, progress: Callable[[], object]) -> bool:
        """Write what is missing or out of date, and return whether anything was."""
        from mlflow.exceptions import MlflowException

        experiments = sorted({entry.key.group.experiment for entry in self.entries})
        source = source_of(self.options.results_dir)
        store = SuiteStore(self.client, self.options.uri, self.name, experiments, source)
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
            store.set_note(notes.suite_note(self.plan.suite, self.options.reports_dir))
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
            NewRun(
                entry.key,
                entry.sha256,
                run_content.run_name(*entry.key.group, record.seed),
                run_content.record_tags(record) | {NOTE: notes.run_note(record, entry.path)},
                entry.start_time,
                entry.end_time,
                write_files,
                ok=record.status == "ok",
                metrics=run_content.record_metrics(record, entry.end_time),
                params=run_content.record_params(record),
                datasets=run_content.record_datasets(record),
            )
        )


class _ExperimentImport:
    """The summaries and the overview of one experiment, after its records were imported.

    A summary shows exact runs of records, as its fingerprint says; that of an overview also names the
    summaries.
    """

    def __init__(self, done: SuiteImport, store: SuiteStore, experiment: str):
        self.done, self.store, self.experiment, self.options = done, store, experiment, done.options
        self.spec = done.plan.suite.experiments.get(experiment) if done.plan else None
        self.entries = {entry.sha256: entry for entry in done.entries}
        self.seeds = store.seeds(experiment)
        spec = self.spec.model_dump(mode="json") if self.spec else None
        self.content = _digest([_FORM, sorted(run.run_id for run in self.seeds), spec])
        self.parents: dict[Group, StoredRun] = {}

    def bring(self) -> None:
        """Write what is out of date, put the seeds below their summaries, and delete earlier ones."""
        groups = {run.key.group for run in self.seeds}
        self.parents = {group: run for group in groups if (run := self._current(group))}
        overview_key = Key(OVERVIEW, Group(self.experiment, "", ""))
        overview = self.store.whole(overview_key, self._overview_content)
        if self.options.all_models or overview is None or self.parents.keys() != groups:
            overview = self._write_all(overview_key)
        for run in self.seeds:
            if parent := self.parents.get(run.key.group):
                self.store.set_parent(run, parent)
        for key in list(self.store.runs):
            if key.kind == SUMMARY and key.group.experiment == self.experiment:
                self.store.keep(key, self.parents.get(key.group))
        self.store.keep(overview_key, overview)
        for group, parent in self.parents.items():
            self.done.account.summary_ids["/".join([self.store.suite, *group])] = parent.run_id

    def _current(self, group: Group) -> StoredRun | None:
        """Return the summary of a group, unless it is out of date, or lacks a model that is at hand here."""
        found = self.store.whole(Key(SUMMARY, group), self.content)
        at_hand = {entry.key.run_key for entry in self.entries.values()}
        if found and found.tags.get("best_run") in at_hand:
            there = {f"models:/{model.model_id}" for model in self.store.models.values()}
            return found if found.tags.get("best_model") in there else None
        return found

    @property
    def _overview_content(self) -> str:
        return _digest([self.content, sorted(run.run_id for run in self.parents.values())])

    def _write_all(self, overview_key: Key) -> StoredRun | None:
        """Write the summaries that are missing, the models, and the overview, which is returned."""
        records = {run.run_id: record for run in self.seeds if (record := self._record(run))}
        found = summarize(self.experiment, self.done.plan, list(records.values()), self.options.results_dir)
        for item in found:
            runs = [run for run in self.seeds if run.key.group == item.group and run.run_id in records]
            seeds = [(run, records[run.run_id]) for run in runs]
            model = self._bring_models(item, seeds)
            if item.group not in self.parents:
                self.parents[item.group] = self._write_summary(item, seeds, model)
        overview = self.store.whole(overview_key, self._overview_content)
        return overview or (self._write_overview(overview_key, found) if found else None)

    def _record(self, run: StoredRun) -> Record | None:
        """Return the record of a run: from this results folder, or from the files of a run from another."""
        try:
            if entry := self.entries.get(run.content):
                return read_record(entry.path)
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                copy = self.store.client.download_artifacts(run.run_id, "record.json", folder)
                return read_record(Path(copy))
        except (RecordError, OSError) as error:
            print(f"left out of the summary of {'/'.join(run.key.group)}: {error}", file=sys.stderr)
            return None

    def _bring_models(self, item: Summary, seeds: Sequence[tuple[StoredRun, Record]]) -> str | None:
        """Store the model of the best seed, or of all if asked for, and return the address of the best.

        The model of a run from another results folder is stored by the import of that folder.
        """
        best = None
        for run, record in seeds:
            if record is item.best:
                best = self._model_id(run, record, BEST)
            elif self.options.all_models and record.model:
                self._model_id(run, record, ASKED)
        for run, record in seeds if best else ():
            stored = self.store.models.get(run.run_id)
            if record is not item.best and stored and stored.tags.get("chosen") == BEST:
                self.store.delete_model(run)
        return f"models:/{best}" if best else None

    def _model_id(self, run: StoredRun, record: Record, chosen: str) -> str | None:
        if stored := self.store.models.get(run.run_id):
            return str(stored.model_id)
        entry = self.entries.get(run.content)
        if entry is None or record.model is None:
            return None
        try:
            file = model_file(entry.path, record)
        except DamagedFileError as error:
            self.done.fail(entry, error)
            return None
        return self.store.write_model(run, record, file, chosen)

    def _write_summary(
        self, item: Summary, seeds: Sequence[tuple[StoredRun, Record]], model_uri: str | None
    ) -> StoredRun:
        from mlflow.entities import Metric, Param

        experiment, page = self.store.experiment_id, "/artifacts/record.json"
        links = {record.run_key: run_link(experiment, run.run_id, page) for run, record in seeds}
        note = notes.summary_note(item, self.options.results_dir, self.options.reports_dir, links, model_uri)
        tags = item.tags | {"best_model": model_uri, NOTE: note}
        start, end = _times([run for run, _ in seeds])
        cell = {name: tags[name] for name in ("dataset", "method", "classifier")}
        return self.store.write(
            NewRun(
                Key(SUMMARY, item.group),
                self.content,
                run_content.run_name(*item.group),
                tags,
                start,
                end,
                ok=bool(item.runs.finished),
                metrics=[Metric(name, value, end, 0) for name, value in item.metrics.items()],
                params=[Param(name, str(value)) for name, value in cell.items()],
            )
        )

    def _write_overview(self, key: Key, summaries: Sequence[Summary]) -> StoredRun:
        links = {group: run_link(self.store.experiment_id, run.run_id) for group, run in self.parents.items()}
        note = notes.overview_note(
            self.experiment, self.store.suite, self.spec, summaries, links, self.options.reports_dir
        )
        tags = {"dataset": summaries[0].tags["dataset"], NOTE: note}

        def write_files(folder: Path) -> None:
            tables = {
                "methods": notes.methods_table(summaries),
                "published": notes.published_table(summaries),
            }
            write_tables(folder, tables)
            write_pairs(folder, summaries)
            if self.spec:
                write_figures(folder, self.experiment, self.spec, summaries)

        name = f"overview · {self.experiment}"
        return self.store.write(
            NewRun(key, self._overview_content, name, tags, *_times(self.seeds), write_files)
        )


def _times(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """Return the start of the first run, and an end that makes the duration the sum of all."""
    start = min(run.start_time for run in runs)
    return start, start + sum(run.end_time - run.start_time for run in runs)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
