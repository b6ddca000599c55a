"""The import of one suite: its records, then what summarizes them."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.bench.records.record import RecordError, read_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking import run_content
from eigenbench.tracking.entries import Entry, ImportSummary
from eigenbench.tracking.models import UnfitRecord, checked_model
from eigenbench.tracking.notes import suite_note
from eigenbench.tracking.run_files import write_confusion, write_exhibits
from eigenbench.tracking.stored import RUN, StoredRun, latest, source_of
from eigenbench.tracking.suite_store import NewRun, SuiteStore
from eigenbench.tracking.summary_import import SummaryImport

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Imports that cross each other settle in two or three passes; what is refused for good is an error after all.
_PASSES = 8
_SECONDS_APART = 0.5


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import.

    Attributes
    ----------
    uri : str
        The store.
    results_dir, reports_dir : Path
        Where records and reports are.
    all_models : bool
        Whether to store the model of every run in place of the best of each method and classifier.
    """

    uri: str
    results_dir: Path
    reports_dir: Path
    all_models: bool = False


class SuiteImport:
    """One import of one suite.

    Parameters
    ----------
    client : MlflowClient
        The store.
    options : ImportOptions
        The options.
    summary : ImportSummary
        What is done is counted there.
    name : str
        The suite.
    entries : sequence of Entry
        Its records.
    suite : Suite or None
        Its file, where it is at hand.
    """

    def __init__(
        self,
        client: MlflowClient,
        options: ImportOptions,
        summary: ImportSummary,
        name: str,
        entries: Sequence[Entry],
        suite: Suite | None,
    ):
        self.client, self.options, self.summary = client, options, summary
        self.name, self.entries, self.suite = name, list(entries), suite

    def run(self, progress: Callable[[], object]) -> None:
        """Bring the store up to date; look again after writing, until nothing is to be written.

        What another import writes at the same moment is seen in the next pass, and put right there.
        """
        from mlflow.exceptions import MlflowException

        for passes_left in reversed(range(_PASSES)):
            try:
                if not self._pass(progress):
                    return
            except MlflowException as error:
                if isinstance(error.__context__, OSError) or not passes_left:
                    raise
                time.sleep(random.uniform(0, _SECONDS_APART))

    def _pass(self, progress: Callable[[], object]) -> bool:
        """Write what is missing or out of date, and return whether anything was."""
        options, source = self.options, source_of(self.options.results_dir)
        experiments = sorted({entry.key.group.experiment for entry in self.entries})
        store = SuiteStore(self.client, options.uri, self.name, experiments, source)
        self.summary.experiment_ids[self.name] = store.experiment_id
        for entry in list(self.entries):
            try:
                self._bring(store, entry)
            except (RecordError, UnfitRecord) as error:
                self.entries.remove(entry)
                self.summary.fail(entry.path, error)
            progress()
        for key, found in store.runs.items():
            if key.kind == RUN:
                store.keep(key, latest(run for run in found if run.ended))
        for experiment in experiments:
            SummaryImport(store, options, self.summary, self.suite, experiment, self.entries).bring()
        if self.suite:
            store.set_note(suite_note(self.suite, options.reports_dir))
        return store.changed

    def _bring(self, store: SuiteStore, entry: Entry) -> None:
        """Import one record unless the store has it."""
        found = list(store.runs.get(entry.key, []))
        kept = entry.shown_by(found, store.source) or self._write(store, entry)
        if entry.name not in self.summary.run_ids:
            self.summary.count(entry, found, store.source)
        self.summary.run_ids[entry.name] = kept.run_id
        store.keep(entry.key, kept)

    def _write(self, store: SuiteStore, entry: Entry) -> StoredRun:
        record = read_record(entry.path)
        if record.model:
            checked_model(entry.path, record.model, self.options.results_dir)
        info, dtype = record.dataset_info, record.model.input_dtype if record.model else None

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
                run_content.record_tags(record, entry.path),
                entry.start_time,
                entry.end_time,
                write_files,
                ok=record.status == "ok",
                metrics=run_content.record_metrics(record, entry.end_time),
                params=run_content.record_params(record),
                datasets=[run_content.dataset_input(info, dtype)] if info else [],
            )
        )
