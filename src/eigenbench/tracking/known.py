"""What a store holds already of some experiments, and which of several runs of one record stays."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

#: What a run in the store shows: a record, the seeds of a method and classifier, or a whole experiment.
RUN, SUMMARY, OVERVIEW = "run", "summary", "overview"
PARENT_TAG = "mlflow.parentRunId"

_PAGE = 1000
# An import in progress elsewhere finishes a run well within this time.
_MILLISECONDS_TO_FINISH = 3_600_000


class Group(NamedTuple):
    """The runs that differ only in their seeds: a method and classifier of an experiment."""

    experiment: str
    method: str
    classifier: str


@dataclass(frozen=True)
class KnownRun:
    """A run of a record in the store.

    Attributes
    ----------
    run_id : str
        MLflow's name for it.
    run_key : str
        The key of the record.
    group : Group
        What it is a seed of.
    seed : str
        Which seed.
    record_sha256 : str or None
        The exact record that it shows.
    ended : bool
        Whether it is whole.
    elsewhere : bool
        Whether it comes from another results folder.
    in_progress : bool
        Whether an import from elsewhere may still be writing it.
    start_time, end_time : int
        When the record was made, in milliseconds since 1970; the end is 0 if the run has not ended.
    parent : str or None
        The summary that it stands below.
    """

    run_id: str
    run_key: str
    group: Group
    seed: str
    record_sha256: str | None
    ended: bool
    elsewhere: bool
    in_progress: bool = False
    start_time: int = 0
    end_time: int = 0
    parent: str | None = None


@dataclass
class Known:
    """The runs of some experiments of a suite.

    Attributes
    ----------
    runs : dict
        Those of records, by experiment and run key.
    summaries : dict
        The parents, by what they summarize; more than one where imports crossed.
    overviews : dict
        The runs that show a whole experiment, by its name.
    """

    runs: dict[tuple[str, str], list[KnownRun]] = field(default_factory=dict)
    summaries: dict[Group, list[Run]] = field(default_factory=dict)
    overviews: dict[str, list[Run]] = field(default_factory=dict)

    def add(self, run: Run, source: str) -> None:
        """Put a run where it belongs; ``source`` is the results folder that is imported now."""
        tags = run.data.tags
        group = Group(tags["experiment"], tags.get("method", ""), tags.get("classifier", ""))
        kind = tags.get("kind", RUN)
        if kind == SUMMARY:
            self.summaries.setdefault(group, []).append(run)
        elif kind == OVERVIEW:
            self.overviews.setdefault(group.experiment, []).append(run)
        elif "run_key" in tags:
            found = _known(run, group, source)
            self.runs.setdefault((group.experiment, found.run_key), []).append(found)

    def run_ids(self) -> set[str]:
        """Return all that is there: the runs of records, the summaries and the overviews."""
        shown = chain.from_iterable([*self.summaries.values(), *self.overviews.values()])
        return {run.info.run_id for run in shown} | {
            run.run_id for run in chain.from_iterable(self.runs.values())
        }

    def seeds(self, experiment: str) -> list[KnownRun]:
        """Return the whole runs of an experiment: of each method, classifier and seed the latest."""
        ended: dict[tuple[Group, str], list[KnownRun]] = {}
        for found in self.runs.values():
            for run in found:
                if run.ended and run.group.experiment == experiment:
                    ended.setdefault((run.group, run.seed), []).append(run)
        return [kept for key in sorted(ended) if (kept := latest_run(ended[key])) is not None]

    def parents(self, experiment: str) -> dict[Group, list[Run]]:
        """Return the summaries of an experiment."""
        return {group: found for group, found in self.summaries.items() if group.experiment == experiment}

    def summary_ids(self, suite: str, experiment: str) -> dict[str, str]:
        """Return the summaries of an experiment as an `ImportSummary` names them."""
        parents = self.parents(experiment)
        return {"/".join([suite, *group]): found[0].info.run_id for group, found in parents.items() if found}


def source_of(results_dir: Path) -> str:
    """Return the name of a results folder among all that are imported into one store."""
    return f"{socket.gethostname()}:{os.path.realpath(results_dir)}"


def started_tags(source: str) -> dict[str, str]:
    """Return the tags that distinguish a run of an import in progress from one that a killed import left."""
    return {"imported_from": source, "imported_at": str(int(1000 * time.time()))}


def known_runs(client: MlflowClient, experiment_id: str, source: str, experiments: Collection[str]) -> Known:
    """Return what the store holds of some experiments of a suite.

    Parameters
    ----------
    client : MlflowClient
        The store.
    experiment_id : str
        Where to look: MLflow's experiment, which is a suite.
    source : str
        The results folder that is imported now; its unfinished runs are of an import that was killed.
    experiments : collection of str
        Names of experiments of the suite.
    """
    known = Known()
    for experiment in experiments:
        token = None
        while True:
            page = client.search_runs(
                [experiment_id], f"tags.experiment = '{experiment}'", max_results=_PAGE, page_token=token
            )
            for run in page:
                known.add(run, source)
            token = page.token
            if not token:
                break
    return known


def latest_run(ended: Iterable[KnownRun]) -> KnownRun | None:
    """Return which of several runs of one record stays: the latest, and of two of one time the larger id."""
    return max(ended, key=lambda run: (run.end_time, run.run_id), default=None)


def has_ended(run: Run) -> bool:
    """Return whether a run is whole: that is set last."""
    return run.info.status in ("FINISHED", "FAILED")


def _known(run: Run, group: Group, source: str) -> KnownRun:
    tags = run.data.tags
    ended = has_ended(run)
    age = abs(1000 * time.time() - float(tags.get("imported_at", "0")))
    elsewhere = tags.get("imported_from", source) != source
    return KnownRun(
        run.info.run_id,
        tags["run_key"],
        group,
        tags.get("seed", ""),
        tags.get("record_sha256"),
        ended,
        elsewhere,
        in_progress=not ended and elsewhere and age < _MILLISECONDS_TO_FINISH,
        start_time=run.info.start_time,
        end_time=run.info.end_time or 0,
        parent=tags.get(PARENT_TAG),
    )
