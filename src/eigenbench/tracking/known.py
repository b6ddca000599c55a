"""The runs that a store holds already, by the key of their record, and which of them stays."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_PAGE = 1000
# So many queries by key cost less than listing the runs of a large experiment.
_FEW = 50
# An import in progress elsewhere finishes a run well within this time.
_MILLISECONDS_TO_FINISH = 3_600_000


@dataclass(frozen=True)
class KnownRun:
    """A run in the store.

    Attributes
    ----------
    run_id : str
        MLflow's name for it.
    record_sha256 : str or None
        The exact record that it shows.
    ended : bool
        Whether it is whole.
    elsewhere : bool
        Whether it comes from another results folder.
    in_progress : bool
        Whether an import from elsewhere may still be writing it.
    end_time : int
        When the record was made, in milliseconds since 1970; 0 if the run has not ended.
    """

    run_id: str
    record_sha256: str | None
    ended: bool
    elsewhere: bool
    in_progress: bool = False
    end_time: int = 0


def source_of(results_dir: Path) -> str:
    """Return the name of a results folder among all that are imported into one store."""
    return f"{socket.gethostname()}:{os.path.realpath(results_dir)}"


def started_tags(source: str) -> dict[str, str]:
    """Return the tags that distinguish a run of an import in progress from one that a killed import left."""
    return {"imported_from": source, "imported_at": str(int(1000 * time.time()))}


def known_runs(
    client: MlflowClient, experiment_id: str, source: str, keys: Collection[str]
) -> dict[str, list[KnownRun]]:
    """Return an experiment's runs by run key: those of a few keys, or else all there are.

    Parameters
    ----------
    client : MlflowClient
        The store.
    experiment_id : str
        Where to look.
    source : str
        The results folder that is imported now; its unfinished runs are of an import that was killed.
    keys : collection of str
        What must be among the result.
    """
    few = len(keys) <= _FEW
    filters = [f"tags.run_key = '{key}'" for key in keys] if few else [""]
    listed: dict[str, dict[str, KnownRun]] = {}
    for condition in filters:
        token = None
        while True:
            page = client.search_runs([experiment_id], condition, max_results=_PAGE, page_token=token)
            for run in page:
                if key := run.data.tags.get("run_key"):
                    listed.setdefault(key, {})[run.info.run_id] = _known(run, source)
            token = page.token
            if not token:
                break
    return {key: list(found.values()) for key, found in listed.items()}


def latest_run(ended: Iterable[KnownRun]) -> KnownRun | None:
    """Return which of several runs of one record stays: the latest, and of two of one time the larger id."""
    return max(ended, key=lambda run: (run.end_time, run.run_id), default=None)


def _known(run: Run, source: str) -> KnownRun:
    tags = run.data.tags
    ended = run.info.status in ("FINISHED", "FAILED")
    age = abs(1000 * time.time() - float(tags.get("imported_at", "0")))
    elsewhere = tags.get("imported_from", source) != source
    return KnownRun(
        run.info.run_id,
        tags.get("record_sha256"),
        ended,
        elsewhere,
        in_progress=not ended and elsewhere and age < _MILLISECONDS_TO_FINISH,
        end_time=run.info.end_time or 0,
    )
