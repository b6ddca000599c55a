"""Tables as CSV text that spreadsheets show as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

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
