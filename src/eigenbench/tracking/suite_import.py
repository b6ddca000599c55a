"""The import of one suite's records: what the store holds already, and the steps that add a record to it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.bench.records.record import read_record
from eigenbench.bench.suites.suite import Suite
from eigenbench.tracking import confusion, runs, store
from eigenbench.tracking.artifacts import artifact_folder
from eigenbench.tracking.checked_models import checked_model
from eigenbench.tracking.entries import Entry, ImportSummary
from eigenbench.tracking.exhibit_files import write_exhibits
from eigenbench.tracking.known import (
    PARENT_TAG,
    SUMMARY,
    Group,
    KnownRun,
    known_runs,
    latest_run,
    source_of,
    started_tags,
)
from eigenbench.tracking.names import run_name, summary_name
from eigenbench.tracking.summary_runs import kept_of, open_summary

if TYPE_CHECKING:
    from mlflow import MlflowClient

# Opens the dashboard on runs and metrics; without it MLflow guesses, and guesses language models.
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


@dataclass(frozen=True)
class Settings:
    """What an import is told.

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
    settings : Settings
        What to do.
    summary : ImportSummary
        What is done is counted there.
    name : str
        The suite, which is MLflow's experiment.
    entries : sequence of Entry
        Its records.
    suite : Suite or None
        Its file, where it is at hand.
    """

    def __init__(
        self,
        client: MlflowClient,
        settings: Settings,
        summary: ImportSummary,
        name: str,
        entries: Sequence[Entry],
        suite: Suite | None,
    ):
        self.client, self.settings, self.summary = client, settings, summary
        self.name, self.entries, self.suite = name, entries, suite
        self.source = source_of(settings.results_dir)
        self.experiment_id = summary.experiment_ids[name] = experiment_of(client, settings.uri, name)
        self.paths = {entry.sha256: entry.path for entry in entries}
        self.experiments = sorted({entry.group.experiment for entry in entries})
        self.list_again()

    def list_again(self) -> None:
        """Look what the store holds now."""
        self.known = known_runs(self.client, self.experiment_id, self.source, self.experiments)

    def look_again(self) -> None:
        """Look what the store holds now, without what several imports wrote at once."""
        self.list_again()
        self.remove_duplicates()
        self.list_again()

    def add(self, entry: Entry) -> None:
        """Import one record unless the store has it, and remove its other runs.

        Raises
        ------
        RecordError
            If the record changes meanwhile.
        UnfitRecord
            If its model is not the one that it names.
        """
        found = self.known.runs.setdefault(entry.key, [])
        kept = entry.current_run(found)
        if kept is None:
            kept = self._log(entry)
        self.summary.count(entry, found)
        for run in found:
            if run != kept and not run.in_progress:
                self.delete(run.run_id)
        found[:] = [kept]
        self.summary.run_ids[f"{self.name}/{entry.run_key}"] = kept.run_id

    def remove_duplicates(self) -> None:
        """Keep one run of each record, if an import from another folder made the same one meanwhile."""
        for (_, key), found in self.known.runs.items():
            ended = [run for run in found if run.ended]
            kept = latest_run(ended)
            for run in ended:
                if run != kept:
                    self.delete(run.run_id)
            if kept and f"{self.name}/{key}" in self.summary.run_ids:
                self.summary.run_ids[f"{self.name}/{key}"] = kept.run_id

    def delete(self, run_id: str) -> None:
        """Mark a run and its models as deleted."""
        models = self.client.search_logged_models(
            [self.experiment_id], filter_string=f"source_run_id = '{run_id}'"
        )
        for found in models:
            self.client.delete_logged_model(found.model_id)
        self.client.delete_run(run_id)

    def parent(self, group: Group) -> str:
        """Return the run that summarizes a method and classifier; it is begun where there is none."""
        summaries = self.known.summaries.setdefault(group, [])
        kept, _ = kept_of(summaries)
        if kept is None:
            start = min(entry.start_time for entry in self.entries if entry.group == group)
            kept = open_summary(
                self.client,
                self.experiment_id,
                SUMMARY,
                group,
                summary_name(*group),
                started_tags(self.source),
                start,
            )
            summaries.append(kept)
        return str(kept.info.run_id)

    def _log(self, entry: Entry) -> KnownRun:
        record = read_record(entry.path)
        if record.model:
            checked_model(entry.path, record.model, self.settings.results_dir)
        parent = self.parent(entry.group)
        created = self.client.create_run(
            self.experiment_id,
            entry.start_time,
            tags=runs.tags(record, entry.path, entry.sha256)
            | started_tags(self.source)
            | {PARENT_TAG: parent},
            run_name=run_name(*entry.group, record.seed),
        ).info
        runs.log_measurements(self.client, created.run_id, record, entry.end_time)
        if record.dataset_info:
            runs.log_dataset(self.client, created.run_id, record)
        with artifact_folder(created.artifact_uri, self.settings.uri) as files:
            shutil.copyfile(entry.path, files / "record.json")
            if record.confusion:
                confusion.write_table(files / "confusion.csv", record.confusion)
                confusion.write_picture(files / "confusion.png", record.confusion)
            write_exhibits(files, record.exhibits)
        status = "FINISHED" if record.status == "ok" else "FAILED"
        self.client.set_terminated(created.run_id, status, entry.end_time)
        return KnownRun(
            created.run_id,
            entry.run_key,
            entry.group,
            str(record.seed),
            entry.sha256,
            ended=True,
            elsewhere=False,
            start_time=entry.start_time,
            end_time=entry.end_time,
            parent=parent,
        )


def experiment_of(client: MlflowClient, uri: str, suite: str) -> str:
    """Return MLflow's experiment of a suite; it is made, or restored, where there is none."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(suite)
    if found is None:
        place = store.artifact_location(uri, suite)
        try:
            return str(client.create_experiment(suite, artifact_location=place, tags=_EXPERIMENT_TAGS))
        except MlflowException:
            found = client.get_experiment_by_name(suite)  # another import has just made it
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)
