"""``results.csv``: every measured number, one row per run × seed × metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigenbench.bench.records.record import Record
from eigenbench.reporting.csv_files import csv_text

COLUMNS = (
    "suite",
    "dataset",
    "method",
    "classifier",
    "seed",
    "metric",
    "value",
    "status",
    "fit_seconds",
    "train_seconds",
    "predict_seconds",
    "peak_rss_mb",
    "run_key",
)


def results_csv(records: Iterable[Record]) -> str:
    """Tabulate runs as CSV, raw and unrounded.

    Parameters
    ----------
    records : iterable of Record
        In any order.

    Returns
    -------
    str
        Columns ``COLUMNS``, sorted by suite, experiment, dataset, method, classifier, seed, run key and
        metric. A run without metrics has one row, with empty metric and value.
    """
    rows: list[dict[str, Any]] = []
    for record in sorted(records, key=_order):
        shared = {name: getattr(record, name) for name in COLUMNS if name not in ("metric", "value")}
        measured = sorted(record.metrics.items()) if record.status == "ok" else []
        rows += [{**shared, "metric": metric, "value": value} for metric, value in measured] or [shared]
    return csv_text(COLUMNS, [[row.get(name) for name in COLUMNS] for row in rows])


def _order(record: Record) -> tuple[Any, ...]:
    return (
        record.suite,
        record.experiment,
        record.dataset,
        record.method,
        record.classifier,
        record.seed,
        record.run_key,
    )
