"""What computes and writes the summaries of an experiment: of its methods and classifiers, and of all."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eigenbench.bench.records.record import Record, RecordError, read_record
from eigenbench.tracking.artifacts import artifact_folder
from eigenbench.tracking.best_models import BestModels
from eigenbench.tracking.descriptions import overview_note, summary_note
from eigenbench.tracking.known import OVERVIEW, PARENT_TAG, SUMMARY, Group, KnownRun, started_tags
from eigenbench.tracking.names import summary_name
from eigenbench.tracking.overviews import write_figures, write_pairs
from eigenbench.tracking.runs import tag_values
from eigenbench.tracking.suite_import import SuiteImport
from eigenbench.tracking.summaries import Summary, summarize
from eigenbench.tracking.summary_runs import (
    FINGERPRINT,
    Shown,
    can_show,
    kept_of,
    open_summary,
    write_summary,
)
from eigenbench.tracking.views import run_link

if TYPE_CHECKING:
    from mlflow.entities import Run


class SummaryWriter:
    """The summaries of one experiment of a suite, after its records were imported.

    Parameters
    ----------
    done : SuiteImport
        The import.
    name : str
        The experiment.
    models : BestModels
        The stored models of the suite.
    fingerprint : str
        Of what the summaries show now.
    """

    def __init__(
        self,
        done: SuiteImport,
        name: str,
        models: BestModels,
        fingerprint: str,
    ):
        self.done, self.name, self.models, self.fingerprint = done, name, models, fingerprint
        self.seeds = done.known.seeds(name)
        self.spec = done.suite.experiments.get(name) if done.suite else None

    def write(self) -> None:
        """Write them all, and remove those of what has no run any more."""
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
        for group in self.done.known.parents(self.name).keys() - {summary.group for summary in summaries}:
            self._delete(self.done.known.summaries.pop(group))

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
        with artifact_folder(run.info.artifact_uri, self.done.settings.uri) as folder:
            write_pairs(folder, summaries)
            if self.spec:
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
