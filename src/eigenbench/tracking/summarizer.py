"""After the records: the summaries above them, their best models, and what the suite's page shows."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.experiments.record import Record, RecordError, read_record
from eigenbench.tracking.artifacts import artifact_folder
from eigenbench.tracking.best_models import BestModels
from eigenbench.tracking.descriptions import overview_note, suite_note, summary_note
from eigenbench.tracking.known import OVERVIEW, PARENT_TAG, SUMMARY, Group, KnownRun, started_tags
from eigenbench.tracking.names import summary_name
from eigenbench.tracking.overviews import write_figures
from eigenbench.tracking.runs import tag_values
from eigenbench.tracking.suite_import import SuiteImport
from eigenbench.tracking.summaries import Summary, summarize
from eigenbench.tracking.summary_runs import (
    FINGERPRINT,
    Shown,
    can_show,
    is_current,
    kept_of,
    open_summary,
    write_summary,
)
from eigenbench.tracking.views import run_link, view_tags

if TYPE_CHECKING:
    from mlflow.entities import Run

# Part of every fingerprint: raise it when summaries show something else of the same records.
_FORM = 2


def summarize_import(done: SuiteImport) -> None:
    """Bring the summaries of an import's experiments, and the page of its suite, up to date."""
    models = BestModels(done)
    for experiment in done.experiments:
        _Experiment(done, experiment, models).update()
    specs = done.suite.experiments if done.suite else {}
    compares = any(number.method for spec in specs.values() for number in spec.published)
    tags = view_tags(specs or done.experiments, compares)
    if done.suite:
        tags["mlflow.note.content"] = suite_note(done.suite, done.settings.reports_dir)
    there = done.client.get_experiment(done.experiment_id).tags
    for name, value in tags.items():
        if there.get(name) != value:
            done.client.set_experiment_tag(done.experiment_id, name, value)


class _Experiment:
    """One experiment of a suite, after its records were imported."""

    def __init__(self, done: SuiteImport, name: str, models: BestModels):
        self.done, self.name, self.models = done, name, models
        self.seeds = done.known.seeds(name)
        self.spec = done.suite.experiments.get(name) if done.suite else None
        shown = [
            _FORM,
            sorted(run.record_sha256 or "" for run in self.seeds),
            self.spec.model_dump(mode="json") if self.spec else None,
        ]
        self.fingerprint = hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]

    def update(self) -> None:
        """Write what has changed, and note where the summaries are."""
        if self.done.settings.all_models or not self._is_current():
            seeds = [(run, record) for run in self.seeds if (record := self._record(run))]
            summaries = summarize(
                self.name,
                self.done.suite,
                [record for _, record in seeds],
                results_dir=self.done.settings.results_dir,
            )
            for summary in summaries:
                self._write_summary(summary, [one for one in seeds if one[0].group == summary.group])
            if summaries:
                self._write_overview(summaries)
            for group in self._parents.keys() - {summary.group for summary in summaries}:
                self._delete(self.done.known.summaries.pop(group))
        for group, found in self._parents.items():
            if found:
                self.done.summary.summary_ids["/".join([self.done.name, *group])] = found[0].info.run_id

    @property
    def _parents(self) -> dict[Group, list[Run]]:
        return {
            group: found
            for group, found in self.done.known.summaries.items()
            if group.experiment == self.name
        }

    def _is_current(self) -> bool:
        summaries = [*self._parents.values(), self.done.known.overviews.get(self.name, [])]
        parents = {group: found[0].info.run_id for group, found in self._parents.items() if found}
        return (
            all(is_current(found, self.fingerprint) for found in summaries)
            and parents.keys() == {run.group for run in self.seeds}
            and all(run.parent == parents[run.group] for run in self.seeds)
        )

    def _record(self, run: KnownRun) -> Record | None:
        """Return the record of a run: from this results folder, or from the files of a run from another."""
        try:
            if path := self.done.paths.get(run.record_sha256 or ""):
                return read_record(path)
            with tempfile.TemporaryDirectory(prefix="eigenbench-") as folder:
                copy = self.done.client.download_artifacts(run.run_id, "record.json", folder)
                return read_record(Path(copy))
        except (RecordError, OSError) as error:
            print(f"left out of the summary of {'/'.join(run.group)}: {error}", file=sys.stderr)
            return None

    def _write_summary(self, summary: Summary, seeds: Sequence[tuple[KnownRun, Record]]) -> None:
        settings = self.done.settings
        model_uri = self.models.bring(summary.best, seeds)
        links = {
            record.run_key: run_link(self.done.experiment_id, run.run_id, "/artifacts/record.json")
            for run, record in seeds
        }
        dataset = summary.runs.records[0].dataset
        start = min(run.start_time for run, _ in seeds)
        shown = Shown(
            metrics=summary.metrics,
            tags=self._tags(
                dataset=dataset,
                metric=summary.style.heading,
                status=summary.state,
                interval=summary.interval,
                verdict=summary.verdict,
                tie_group=summary.tie_group,
                compared_over=summary.compared_over,
                published_in="; ".join(dict.fromkeys(row.number.source for row in summary.published)) or None,
                best_model=model_uri,
                note=summary_note(summary, settings.results_dir, settings.reports_dir, links, model_uri),
            ),
            params={
                "dataset": dataset,
                "method": summary.group.method,
                "classifier": summary.group.classifier,
            },
            start_time=start,
            end_time=start + sum(run.end_time - run.start_time for run, _ in seeds),
            failed=not summary.runs.finished,
        )
        found = self.done.known.summaries.setdefault(summary.group, [])
        parent = self._place(SUMMARY, summary.group, summary_name(*summary.group), found, shown)
        for run, _ in seeds:
            if run.parent != parent.info.run_id:
                self.done.client.set_tag(run.run_id, PARENT_TAG, parent.info.run_id)

    def _write_overview(self, summaries: Sequence[Summary]) -> None:
        note = overview_note(self.name, self.done.name, self.spec, summaries, self.done.settings.reports_dir)
        start = min(run.start_time for run in self.seeds)
        shown = Shown(
            tags=self._tags(dataset=summaries[0].runs.records[0].dataset, note=note),
            start_time=start,
            end_time=start + sum(run.end_time - run.start_time for run in self.seeds),
        )
        found = self.done.known.overviews.setdefault(self.name, [])
        run = self._place(OVERVIEW, Group(self.name, "", ""), f"overview · {self.name}", found, shown)
        if self.spec:
            with artifact_folder(run.info.artifact_uri, self.done.settings.uri) as folder:
                write_figures(folder, self.name, self.spec, summaries)

    def _tags(self, note: str, **tags: str | None) -> dict[str, str]:
        own = {"suite": self.done.name, "mlflow.note.content": note, FINGERPRINT: self.fingerprint}
        return tag_values(tags | own)

    def _place(self, kind: str, group: Group, name: str, found: list[Run], shown: Shown) -> Run:
        """Show something in the run of its kind: in the one that is there, if MLflow permits it."""
        kept, others = kept_of(found)
        if kept is not None and not can_show(kept, shown):
            kept, others = None, found
        if kept is None:
            tags = started_tags(self.done.source)
            kept = open_summary(
                self.done.client, self.done.experiment_id, kind, group, name, tags, shown.start_time
            )
        write_summary(self.done.client, kept, shown)
        self._delete(others)
        found[:] = [kept]
        return kept

    def _delete(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self.done.client.delete_run(run.info.run_id)
