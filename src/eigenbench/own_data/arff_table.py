"""An ARFF file, dense or sparse, as a table."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.arff import NUMERIC, ArffAttribute, dense_cells, open_arff, sparse_cells
from eigenbench.own_data.delimited_text import open_bytes

#: Java's letters of dates and times, and Python's directives for them.
_DIRECTIVES = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "ss": "%S", "SSS": "%f", "a": "%p",
    "EEEE": "%A", "EEE": "%a", "DDD": "%j", "Z": "%z", "X": "%z",
}  # fmt: skip
_DATE_PART = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


def read_arff_table(path: str | Path) -> pd.DataFrame:
    """Read a file whose attributes are numbers, dates, texts or one of listed values.

    UTF-8; ``%`` starts a comment line, and ``?`` is a missing value, as ``NaN`` is among numbers. Columns are
    float64, datetimes in the form that the file declares, and texts. Another attribute, a row of another
    length or with a weight, and a value of another kind or form are `MalformedData`, with their place.
    """
    path = Path(path)
    with io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig") as text:
        attributes, lines = open_arff(path, text, ("nominal", "date", "string"))
        rows = [_row(path, number, line, attributes) for number, line in lines]
    columns = zip(*rows, strict=True) if rows else [()] * len(attributes)
    made = [
        _column(path, attribute, pd.Series(cells, dtype=object))
        for attribute, cells in zip(attributes, columns, strict=True)
    ]
    names = [attribute.name for attribute in attributes]
    return pd.concat(made, axis=1).set_axis(names, axis=1) if made else pd.DataFrame()


def _row(path: Path, number: int, line: str, attributes: list[ArffAttribute]) -> list[str | None]:
    """Return the cells of a row; what a sparse one doesn't name is 0, or the first of listed values."""
    if not line.startswith("{"):
        return dense_cells(path, number, line, len(attributes))
    named = sparse_cells(path, number, line, len(attributes))
    absent = ("0" if one.kind in NUMERIC else one.values[0] if one.values else None for one in attributes)
    return [named.get(place, value) for place, value in enumerate(absent)]


def _column(path: Path, attribute: ArffAttribute, cells: pd.Series) -> pd.Series:
    try:
        if attribute.kind in NUMERIC:
            return pd.to_numeric(cells.mask(cells == "NaN")).astype(np.float64)
        if attribute.kind == "date":
            return pd.to_datetime(cells, format=_date_format(attribute.detail))
        undeclared = cells[cells.notna() & ~cells.isin(attribute.values)]
        if attribute.kind == "nominal" and len(undeclared):
            raise ValueError(f"the value {undeclared.iloc[0]!r} is not declared")
        return cells.astype("category") if attribute.kind == "nominal" else cells
    except (ValueError, TypeError) as error:
        place, reason = f"attribute {attribute.name!r}", str(error).splitlines()[0]
        raise MalformedData(path.name, place, reason, "correct the file") from error


def _date_format(declared: str) -> str | None:
    """Return Python's form of a date's declared format, None without one."""
    pattern = declared.strip("\"'") if declared[:1] in ("'", '"') else declared
    made = ""
    for part in _DATE_PART.finditer(pattern.replace(r"\'", "'")):
        text = part[0]
        if part[1] is not None:
            text = part[1].replace("''", "'") or "'"
        elif part[2]:
            if text not in _DIRECTIVES:
                raise ValueError(
                    f"the form of dates {declared} has the letters {text!r}, which are not known"
                )
            made += _DIRECTIVES[text]
            continue
        made += text.replace("%", "%%")
    return made or None
