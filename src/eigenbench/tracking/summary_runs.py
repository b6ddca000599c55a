"""The runs above the runs: a parent for each method and classifier, and one overview of each experiment."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigenbench.tracking import known
from eigenbench.tracking.known import Group

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

#: What a summary shows; when it is the same again, there is nothing to write.
FINGERPRINT = "summary_of"

# Tags that a summary may lose when it is written again.
_PASSING = ("interval", "verdict", "tie_group", "compared_over", "best_model", "published_in")


@dataclass(frozen=True)
class Shown:
    """What a run that is no record's shows; tags and metrics replace those it had."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    start_time: int = 0
    end_time: int = 0
    failed: bool = False


def open_summary(
    client: MlflowClient,
    experiment_id: str,
    kind: str,
    group: Group,
    name: str,
    tags: Mapping[str, str],
    start_time: int,
) -> Run:
    """Begin a summary or an overview; it is whole after `write_summary`."""
    identity = {"kind": kind} | {key: value for key, value in group._asdict().items() if value}
    return client.create_run(experiment_id, start_time, tags=identity | dict(tags), run_name=name)


def write_summary(client: MlflowClient, run: Run, shown: Shown) -> None:
    """Write what a summary shows now; its fingerprint comes last, so that a killed import repeats it."""
    from mlflow.entities import Metric, Param, RunTag

    now = int(1000 * time.time())
    had = run.data
    client.log_batch(
        run.info.run_id,
        metrics=[
            Metric(name, value, now, 0)
            for name, value in shown.metrics.items()
            if had.metrics.get(name) != value
        ],
        params=[Param(name, value) for name, value in shown.params.items() if name not in had.params],
        tags=[RunTag(name, value) for name, value in shown.tags.items() if had.tags.get(name) != value],
    )
    for name in _PASSING:
        if name in had.tags and name not in shown.tags:
            client.delete_tag(run.info.run_id, name)
    status = "FAILED" if shown.failed else "FINISHED"
    if (run.info.status, run.info.end_time) != (status, shown.end_time):
        client.set_terminated(run.info.run_id, status, shown.end_time)


def can_show(run: Run, shown: Shown) -> bool:
    """Return whether a run can be brought to show something: MLflow takes back no metric and no parameter."""
    return set(run.data.metrics) <= set(shown.metrics) and run.data.params.items() <= shown.params.items()


def kept_of(runs: Iterable[Run]) -> tuple[Run | None, list[Run]]:
    """Return which of several runs of the same summary stays, and the others: any import decides the same."""
    ordered = sorted(runs, key=lambda run: (run.info.start_time, run.info.run_id))
    return (ordered[0], ordered[1:]) if ordered else (None, [])


def is_current(runs: Iterable[Run], fingerprint: str) -> bool:
    """Return whether there is exactly one run, whole, with this fingerprint."""
    found = list(runs)
    return (
        len(found) == 1 and known.has_ended(found[0]) and found[0].data.tags.get(FINGERPRINT) == fingerprint
    )
