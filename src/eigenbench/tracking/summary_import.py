"""The runs above the runs: a parent for each method and classifier, and an overview of an experiment."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking.entries import Entry, ImportSummary
from eigenbench.tracking.links import run_link
from eigenbench.tracking.models import ASKED, BEST, UnfitRecord, checked_model
from eigenbench.tracking.notes import overview_note, summary_note
from eigenbench.tracking.run_content import run_name
from eigenbench.tracking.run_files import write_figures, write_pairs
from eigenbench.tracking.stored import OVERVIEW, SUMMARY, Group, Key, StoredRun, latest_seeds
from eigenbench.tracking.suite_store import NewRun, SuiteStore
from eigenbench.tracking.summaries import Summary, summarize

if TYPE_CHECKING:
    from eigenbench.tracking.suite_import import ImportOptions

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 5


class SummaryImport:
    """The summaries of one experiment of a suite, after its records were imported.

    Parameters
    ----------
    store : SuiteStore
        The runs of the suite.
    options : ImportOptions
        The options of the import.
    account : ImportSummary
        What is done is noted there.
    suite : Suite or None
        The suite, where its file is at hand.
    experiment : str
        The experiment.
    entries : sequence of Entry
        The records of this import.
    """

    def __init__(
        self,
        store: SuiteStore,
        options: ImportOptions,
        account: ImportSummary,
        suite: Suite | None,
        experiment: str,
        entries: Sequence[Entry],
    ):
        self.store, self.options, self.account = store, options, account
        self.suite, self.experiment = suite, experiment
        self.spec = suite.experiments.get(experiment) if suite else None
        self.entries = {entry.sha256: entry for entry in entries if str(entry.path) not in account.failed}
        self.own_keys = {entry.key.run_key for entry in self.entries.values()}
        runs = [run for found in store.runs.values() for run in found]
        self.seeds = latest_seeds(run for run in runs if run.key.group.experiment == experiment)
        spec = self.spec.model_dump(mode="json") if self.spec else None
        self.content = _digest([_FORM, sorted(run.run_id for run in self.seeds), spec])

    def bring(self) -> None:
        """Write what is out of date, put the seeds below their summaries, and delete what was there before."""
        groups = sorted({run.key.group for run in self.seeds})
        parents = {group: self._current(group) for group in groups}
        overview_key = Key(OVERVIEW, Group(self.experiment, "", ""))
        overview = self.store.ended(overview_key, self._overview_content(parents))
        if self.options.all_models or overview is None or None in parents.values():
            records = {run.run_id: record for run in self.seeds if (record := self._record(run))}
            found = summarize(
                self.experiment, self.suite, list(records.values()), results_dir=self.options.results_dir
            )
            for item in found:
                seeds = [
                    (run, records[run.run_id])
                    for run in self.seeds
                    if run.key.group == item.group and run.run_id in records
                ]
                model = self._bring_models(item, seeds)
                parents[item.group] = parents[item.group] or self._write_summary(item, seeds, model)
            content = self._overview_content(parents)
            overview = self.store.ended(overview_key, content)
            if overview is None and found:
                overview = self._write_overview(overview_key, content, found)
        for run in self.seeds:
            if parent := parents[run.key.group]:
                self.store.set_parent(run, parent)
        for key in [key for key in self.store.runs if key.kind == SUMMARY]:
            if key.group.experiment == self.experiment:
                self.store.keep(key, parents.get(key.group))
        self.store.keep(overview_key, overview)
        for group, parent in parents.items():
            if parent:
                self.account.summary_ids["/".join([self.store.suite, *group])] = parent.run_id

    def _current(self, group: Group) -> StoredRun | None:
        """Return the summary of a group, unless it is out of date, or lacks a model that is at hand here."""
        found = self.store.ended(Key(SUMMARY, group), self.content)
        if found and "best_model" not in found.tags and found.tags.get("best_run") in self.own_keys:
            return None
        return found

    def _overview_content(self, parents: Mapping[Group, StoredRun | None]) -> str:
        return _digest([self.content, sorted(run.run_id for run in parents.values() if run)])

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
        if best is None:
            return None
        for run, record in seeds:
            stored = self.store.models.get(run.run_id)
            if record is not item.best and stored and stored.tags.get("chosen") == BEST:
                self.store.delete_model(run)
        return f"models:/{best}"

    def _model_id(self, run: StoredRun, record: Record, chosen: str) -> str | None:
        if stored := self.store.models.get(run.run_id):
            return str(stored.model_id)
        entry = self.entries.get(run.content)
        if entry is None or record.model is None:
            return None
        try:
            file = checked_model(entry.path, record.model, self.options.results_dir)
        except UnfitRecord as error:
            self.account.fail(entry.path, error)
            return None
        return self.store.write_model(run, record, file, chosen)

    def _write_summary(
        self, item: Summary, seeds: Sequence[tuple[StoredRun, Record]], model_uri: str | None
    ) -> StoredRun:
        from mlflow.entities import Metric, Param

        links = {
            record.run_key: run_link(self.store.experiment_id, run.run_id, "/artifacts/record.json")
            for run, record in seeds
        }
        dataset = item.runs.records[0].dataset
        start, end = _times([run for run, _ in seeds])
        tags = {
            "dataset": dataset,
            "metric": item.style.heading,
            "status": item.state,
            "interval": item.interval,
            "verdict": item.verdict,
            "tie_group": item.tie_group,
            "compared_over": item.compared_over,
            "published_in": "; ".join(dict.fromkeys(row.number.source for row in item.published)) or None,
            "best_run": item.best.run_key if item.best else None,
            "best_model": model_uri,
            "mlflow.note.content": summary_note(
                item, self.options.results_dir, self.options.reports_dir, links, model_uri
            ),
        }
        cell = {"dataset": dataset, "method": item.group.method, "classifier": item.group.classifier}
        return self.store.write(
            NewRun(
                Key(SUMMARY, item.group),
                self.content,
                run_name(*item.group),
                tags,
                start,
                end,
                ok=bool(item.runs.finished),
                metrics=[Metric(name, value, end, 0) for name, value in item.metrics.items()],
                params=[Param(name, value) for name, value in cell.items()],
            )
        )

    def _write_overview(self, key: Key, content: str, summaries: Sequence[Summary]) -> StoredRun:
        note = overview_note(
            self.experiment, self.store.suite, self.spec, summaries, self.options.reports_dir
        )
        tags = {"dataset": summaries[0].runs.records[0].dataset, "mlflow.note.content": note}
        start, end = _times(self.seeds)

        def write_files(folder: Path) -> None:
            write_pairs(folder, summaries)
            if self.spec:
                write_figures(folder, self.experiment, self.spec, summaries)

        name = f"overview · {self.experiment}"
        return self.store.write(NewRun(key, content, name, tags, start, end, write_files))


def _times(runs: Sequence[StoredRun]) -> tuple[int, int]:
    """Return the start of the first run, and an end that makes the duration the sum of all."""
    start = min(run.start_time for run in runs)
    return start, start + sum(run.end_time - run.start_time for run in runs)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
