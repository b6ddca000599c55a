"""Read an ARFF file, Weka's format of tables, dense or sparse.

Parsed here because SciPy's reader takes neither texts nor anything beyond ASCII, nor sparse rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from eigenbench.datasets.errors import MalformedData

_QUOTED = r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\""
_ATTRIBUTE = re.compile(rf"@attribute\s+(?:{_QUOTED}|([^\s{{'\"]\S*))\s*(.+)", re.IGNORECASE)
_CELL = re.compile(rf"\s*(?:{_QUOTED}|([^,'\"]*))\s*(,|$)")
_PAIR = re.compile(rf"\s*(\d+)\s+(?:{_QUOTED}|([^,'\"]+))\s*(,|$)")
_ESCAPED = re.compile(r"\\(.)")
_NUMERIC = ("numeric", "real", "integer")

_REMEDY = "correct the file"


def read_arff_table(path: str | Path) -> pd.DataFrame:
    """Read a file whose attributes are numbers, dates, texts or one of listed values.

    Parameters
    ----------
    path : path-like
        UTF-8; ``%`` starts a comment line, and ``?`` is a missing value.

    Returns
    -------
    DataFrame
        float64 columns of numbers, datetimes of dates, texts of all else.

    Raises
    ------
    MalformedData
        An attribute that is none of these, a row of another length, or a value that is no number, with the
        line where it stands.
    """
    path = Path(path)
    with path.open(encoding="utf-8-sig") as text:
        lines = ((number, line.strip()) for number, line in enumerate(text, start=1))
        content = ((number, line) for number, line in lines if line and not line.startswith("%"))
        attributes = _header(path, content)
        rows = [_row(path, number, line, attributes) for number, line in content]
    columns = zip(*rows, strict=True) if rows else [()] * len(attributes)
    made = [
        _column(path, name, kind, pd.Series(cells, dtype=object))
        for (name, kind), cells in zip(attributes, columns, strict=True)
    ]
    names = [name for name, _ in attributes]
    return pd.concat(made, axis=1).set_axis(names, axis=1) if made else pd.DataFrame()


def _header(path: Path, content: Iterator[tuple[int, str]]) -> list[tuple[str, str]]:
    """Return name and type of every attribute, the type in small letters unless it is a list of values."""
    attributes: list[tuple[str, str]] = []
    for number, line in content:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            return attributes
        if keyword == "@attribute":
            match = _ATTRIBUTE.fullmatch(line)
            kind = match[4].strip() if match else ""
            first = kind.split()[0].lower() if kind else ""
            if match is None or not (kind.startswith("{") or first in (*_NUMERIC, "string", "date")):
                raise _wrong(
                    path, number, f"{line[:60]!r} declares no number, date, string or list of values"
                )
            attributes.append((_plain(match.groups()[:3]).strip(), kind if kind.startswith("{") else first))
    raise MalformedData(path.name, "end of file", "no @data line", _REMEDY)


def _row(path: Path, number: int, line: str, attributes: list[tuple[str, str]]) -> list[str | None]:
    if line.startswith("{"):
        return _sparse_row(path, number, line, attributes)
    cells: list[str | None]
    if "'" in line or '"' in line:
        cells = [cell for _, cell in _cells(path, number, line, _CELL)]
    else:
        cells = [None if cell == "?" else cell for cell in map(str.strip, line.split(","))]
    if len(cells) != len(attributes):
        raise _wrong(path, number, f"{len(cells)} values for {len(attributes)} attributes")
    return cells


def _sparse_row(path: Path, number: int, line: str, attributes: list[tuple[str, str]]) -> list[str | None]:
    """Return a row of ``{index value, …}``: what is not named is 0, or the first of listed values."""
    if not line.endswith("}"):
        raise _wrong(path, number, f"{line[:60]!r} does not end in }}")
    row: list[str | None] = [_absent(kind) for _, kind in attributes]
    inner = line[1:-1].strip()
    for place, cell in _cells(path, number, inner, _PAIR) if inner else ():
        if place >= len(row):
            raise _wrong(path, number, f"index {place} of {len(row)} attributes")
        row[place] = cell
    return row


def _absent(kind: str) -> str | None:
    if kind.startswith("{"):
        first = _CELL.match(kind[1:].rstrip("}"))
        return _plain(first.groups()[:3]).strip() if first else None
    return "0" if kind in _NUMERIC else None


def _cells(path: Path, number: int, line: str, pattern: re.Pattern[str]) -> Iterable[tuple[int, str | None]]:
    """Yield place and text of the cells of a line; None for a missing one."""
    position, place, last = 0, -1, ","
    while last == ",":
        match = pattern.match(line, position)
        if match is None:
            raise _wrong(path, number, f"{line[position : position + 40]!r} is not one value before a comma")
        *found, last = match.groups()
        place = int(found.pop(0)) if pattern is _PAIR else place + 1
        bare = found[2]
        yield place, None if bare is not None and bare.strip() == "?" else _plain(found).strip()
        position = match.end()


def _plain(found: Iterable[str | None]) -> str:
    """Return the text of a match, of one in quotes without its escapes."""
    single, double, bare = found
    if bare is not None:
        return bare
    return _ESCAPED.sub(r"\1", single if single is not None else double or "")


def _column(path: Path, name: str, kind: str, cells: pd.Series) -> pd.Series:
    try:
        if kind in _NUMERIC:
            return pd.to_numeric(cells).astype(np.float64)
        return pd.to_datetime(cells) if kind == "date" else cells
    except (ValueError, TypeError) as error:
        raise MalformedData(path.name, f"attribute {name!r}", str(error), _REMEDY) from error


def _wrong(path: Path, number: int, problem: str) -> MalformedData:
    return MalformedData(path.name, f"line {number}", problem, _REMEDY)
