"""Records made of result files, such as those of the reference, where the runs themselves are not at hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Failure, Record
from eigenbench.reproduction.reference import EARLIER_KEYS, present_keys

#: Digest, training rows and test rows of each dataset, for methods that join the reference.
DATASETS = "datasets.csv"

_FAILURE = Failure(stage="reference", type="FailedThere", message="failed where the reference was made")


def records_of_results(plan: SuitePlan, folder: Path) -> list[Record]:
    """Return a record with metrics and seconds for each run of a plan that a folder has results of."""
    rows = pd.concat(map(read_results, sorted(folder.glob("results*.csv"))))
    present = present_keys(plan.suite.name, folder.parent / EARLIER_KEYS)
    by_key = dict(tuple(rows.groupby(rows["run_key"].replace(present))))
    return [
        Record(**run.identity, deterministic=False, **_measured(by_key[run.key]))
        for run in plan.runs
        if run.key in by_key
    ]


def _measured(rows: pd.DataFrame) -> dict:
    first = rows.iloc[0]
    if first["status"] != "ok":
        return {"status": first["status"], "failure": _FAILURE}
    seconds = {name: float(first[name]) for name in ("fit_seconds", "train_seconds") if first[name]}
    metrics = dict(zip(rows["metric"], map(float, rows["value"]), strict=True))
    return {"status": "ok", "metrics": metrics, **seconds}


def read_results(path: Path) -> pd.DataFrame:
    """Read a table as text, so that no digit is lost."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
