"""Tables as CSV text that spreadsheets show as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

#: A cell that begins with one of these is run as a formula by spreadsheets.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV with line feeds; the same rows always give the same text.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless it is a number. None
    becomes an empty cell.

    Examples
    --------
    >>> csv_text(["label", "count"], [["=1+1", 2], ["-1", None]])
    "label,count\\n'=1+1,2\\n-1,\\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_inert(value) for value in row] for row in rows)
    return stream.getvalue()


def _inert(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
