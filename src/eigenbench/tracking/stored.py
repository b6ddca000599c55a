"""Runs that a store has of a suite: of records, of methods over their seeds, and of whole experiments."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

#: Kinds of runs in the store: a record, the seeds of a method and classifier, and an experiment.
RUN, SUMMARY, OVERVIEW = "run", "summary", "overview"
PARENT_TAG = "mlflow.parentRunId"
#: The tag with the content of a run: of a record's its SHA-256, of the others a fingerprint.
CONTENT_TAGS = {RUN: "record_sha256", SUMMARY: "summary_of", OVERVIEW: "summary_of"}

_PAGE = 1000
# An import in progress elsewhere finishes a run well within this time.
_MILLISECONDS_TO_FINISH = 3_600_000


class Group(NamedTuple):
    """The runs that differ only in their seeds: a method and classifier of an experiment."""

    experiment: str
    method: str
    classifier: str


class Key(NamedTuple):
    """The identity of a run in its suite; of each key one run stays."""

    kind: str
    group: Group
    run_key: str = ""


@dataclass(frozen=True)
class StoredRun:
    """A run in the store.

    Attributes
    ----------
    run_id : str
        MLflow's name for it.
    key : Key
        What it shows.
    content : str
        Which version of that: runs are never changed, but replaced.
    ended : bool
        Whether it is whole.
    source : str
        The machine and results folder of the import that wrote it.
    written : int
        When that was, in milliseconds since 1970.
    start_time, end_time : int
        When the record was made, in the same unit; the end is 0 if the run has not ended.
    tags : dict
        All tags.
    """

    run_id: str
    key: Key
    content: str
    ended: bool
    source: str
    written: int
    start_time: int
    end_time: int
    tags: dict[str, str]

    @classmethod
    def of(cls, run: Run) -> StoredRun:
        """Return the description of a run of MLflow."""
        tags = run.data.tags
        kind = tags.get("kind", RUN)
        group = Group(tags["experiment"], tags.get("method", ""), tags.get("classifier", ""))
        return cls(
            run.info.run_id,
            Key(kind, group, tags.get("run_key", "")),
            tags.get(CONTENT_TAGS.get(kind, ""), ""),
            run.info.status in ("FINISHED", "FAILED"),
            tags.get("imported_from", ""),
            int(float(tags.get("imported_at", "0"))),
            run.info.start_time,
            run.info.end_time or 0,
            tags,
        )

    def is_abandoned(self, source: str) -> bool:
        """Return whether a killed import left the run: one of this source, or one of long ago."""
        age = abs(1000 * time.time() - self.written)
        return not self.ended and (self.source == source or age > _MILLISECONDS_TO_FINISH)


def source_of(results_dir: Path) -> str:
    """Return the name of a results folder among all that are imported into one store."""
    return f"{socket.gethostname()}:{os.path.realpath(results_dir)}"


def stored_runs(
    client: MlflowClient, experiment_id: str, experiments: Collection[str]
) -> dict[Key, list[StoredRun]]:
    """Return the runs of some experiments of a suite, by what they show."""
    found: dict[Key, list[StoredRun]] = {}
    for experiment in experiments:
        token = None
        while True:
            page = client.search_runs(
                [experiment_id], f"tags.experiment = '{experiment}'", max_results=_PAGE, page_token=token
            )
            for run in map(StoredRun.of, page):
                if run.key.kind in CONTENT_TAGS and (run.key.kind != RUN or run.key.run_key):
                    found.setdefault(run.key, []).append(run)
            token = page.token
            if not token:
                break
    return found


def latest(runs: Iterable[StoredRun]) -> StoredRun | None:
    """Return which of several runs of one record stays: the latest, and of two of one time the larger id."""
    return max(runs, key=lambda run: (run.end_time, run.run_id), default=None)


def latest_seeds(runs: Iterable[StoredRun]) -> list[StoredRun]:
    """Return the whole runs of records: of each method, classifier and seed the latest."""
    seeds: dict[tuple[Group, str], list[StoredRun]] = {}
    for run in runs:
        if run.ended and run.key.kind == RUN:
            seeds.setdefault((run.key.group, run.tags.get("seed", "")), []).append(run)
    return [kept for key in sorted(seeds) if (kept := latest(seeds[key])) is not None]
