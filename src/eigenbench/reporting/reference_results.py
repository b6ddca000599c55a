"""Records made of result files, such as those of the reference, where the runs themselves are not at hand."""

from __future__ import annotations

from pathlib import Path

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Failure, Record
from eigenbench.reproduction.reference import ReferenceRun, load_reference

#: Digest, training rows and test rows of each dataset, for methods that join the reference.
DATASETS = "datasets.csv"

_FAILURE = Failure(stage="reference", type="FailedThere", message="failed where the reference was made")


def records_of_results(plan: SuitePlan, folder: Path) -> list[Record]:
    """Return a record with metrics and seconds for each run of a plan that a folder has results of."""
    by_key = {run.run_key: run for run in load_reference(plan.suite.name, folder).runs}
    return [
        Record(**run.identity, deterministic=False, **_measured(by_key[run.key]))
        for run in plan.runs
        if run.key in by_key
    ]


def _measured(run: ReferenceRun) -> dict:
    if run.status != "ok":
        return {"status": run.status, "failure": _FAILURE}
    return {"status": "ok", "metrics": run.metrics, **run.seconds}
