"""Tables as CSV text that spreadsheets show as it is, and ``results.csv``: a row per run × seed × metric."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from eigenbench.bench.records.record import Record

#: A cell that begins with one of these is run as a formula by spreadsheets.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV with line feeds; the same rows always give the same text.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless it is a number.
    Carriage returns become line feeds. None becomes an empty cell.

    Examples
    --------
    >>> csv_text(["label", "count"], [["=1+1", 2], ["-1", None]])
    "label,count\\n'=1+1,2\\n-1,\\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_inert(value) for value in row] for row in (header, *rows))
    return stream.getvalue()


def _inert(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(_FORMULA_STARTS) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
    """Tabulate runs as CSV, raw and unrounded, in an order that does not depend on theirs.

    A run has a row for each metric; one without metrics has one row, with empty metric and value.
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
