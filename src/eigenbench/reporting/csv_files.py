"""Tables as CSV text that spreadsheets show as it is, and ``results.csv``: a row per run × seed × metric."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

import pandas as pd

from eigenbench.bench.records.record import Record

#: Text that spreadsheets run as a formula: it begins with one of these characters and is no number.
_FORMULA = re.compile(r"(?![-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?$)[-=+@\t\n]", re.IGNORECASE)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV with line feeds; None is an empty cell.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless it is a number.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_inert(value) for value in row] for row in (header, *rows))
    return stream.getvalue()


def frame_csv(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> str:
    """Tabulate frames one below the other as CSV, raw and unrounded; missing values are empty."""
    lines = (line for frame in frames for line in frame[list(columns)].astype(object).to_numpy())
    return csv_text(columns, ([None if pd.isna(value) else value for value in line] for line in lines))


def _inert(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if _FORMULA.match(text) else text


_NAMES = ("suite", "dataset", "method", "classifier", "seed")
_COSTS = ("fit_seconds", "train_seconds", "predict_seconds", "peak_rss_mb")
_KEPT = ("status", *_COSTS, "run_key")
COLUMNS = (*_NAMES, "metric", "value", *_KEPT, "code_hash")


def results_csv(records: Iterable[Record]) -> str:
    """Tabulate runs as CSV, raw and in one order: a row for each metric, or one without metrics."""
    rows: list[dict[str, Any]] = []
    order = attrgetter("suite", "experiment", *_NAMES[1:], "run_key")
    for record in sorted(records, key=order):
        shared = {name: getattr(record, name) for name in (*_NAMES, *_KEPT)}
        shared["code_hash"] = record.environment.code_hash if record.environment else None
        measured = sorted(record.metrics.items()) if record.status == "ok" else []
        rows += [{**shared, "metric": metric, "value": value} for metric, value in measured] or [shared]
    return csv_text(COLUMNS, [[row.get(name) for name in COLUMNS] for row in rows])
