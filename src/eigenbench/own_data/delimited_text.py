"""Read a table from a text file: its encoding, delimiter, header and row names are found in the file."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd

from eigenbench.own_data.table import OwnDataError

_SAMPLE_LINES = 200
_DELIMITERS = ",;\t|"
_SPACES = " "
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK = 1 << 20

#: Endings of compressed text; of a zip archive the only file is read.
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")


@dataclass(frozen=True)
class _Layout:
    """Positions of the first and last row of a file.

    Attributes
    ----------
    names : list of str
        Of the fields of a row; the first is empty for row names without a header.
    skipped : frozenset of int
        Places, from 0, of titles, comments and the header; a quoted field may go over several lines.
    """

    encoding: str
    delimiter: str
    names: list[str]
    skipped: frozenset[int]


def read_delimited(path: Path, *, delimiters: str = _DELIMITERS, header: bool = True) -> pd.DataFrame:
    """Read a table from a text file, also from a compressed one.

    Parameters
    ----------
    path : Path
        UTF-8; UTF-16 and UTF-32 with a mark of the byte order; else Windows-1252.
    delimiters : str
        Those tried: the one that gives most lines the same number of fields, more than one. Blanks are tried
        last. A first line ``sep=;`` settles it.
    header : bool
        Whether the first row names the columns; else their names are 1, 2, ….

    Returns
    -------
    DataFrame
        Every column as text without blanks around it; empty fields are missing. Lines before the header with
        another number of fields are titles and left out, as are lines that begin with ``#``. Where every row
        has one field more than the header, its first field names the row, as R writes it.

    Raises
    ------
    OwnDataError
        If the file is empty, a row has another number of fields (with its line), two columns have one name,
        or a header seems to be missing.
    """
    encoding = _encoding(path)
    layout = _layout(path, encoding, delimiters, header)
    blanks = layout.delimiter == _SPACES
    with _open(path, encoding) as stream:
        frame = pd.read_csv(
            stream,
            sep=r"\s+" if blanks else layout.delimiter,
            names=range(len(layout.names)),
            header=None,
            index_col=False,
            skiprows=layout.skipped.__contains__ if layout.skipped else None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
            skipinitialspace=True,
        )
    return frame.set_axis(layout.names, axis=1)


def _layout(path: Path, encoding: str, delimiters: str, header: bool) -> _Layout:
    """Find delimiter, titles, comments and header in the first lines, then check every row."""
    with _open(path, encoding) as stream:
        sample = [line for _, line in zip(range(_SAMPLE_LINES), stream, strict=False)]
    if not any(line.strip() for line in sample):
        raise OwnDataError(f"{path.name} is empty")
    declared = sample[0].strip().lower().removeprefix("sep=") if sample[0].lower().startswith("sep=") else ""
    delimiter = declared[:1] or _delimiter(sample, delimiters)
    width = _width([fields for place, _, fields in _rows(sample, delimiter) if place or not declared])
    skipped, names, counts = set(range(1 if declared else 0)), None, Counter[int]()
    titles = False
    with _open(path, encoding) as stream:
        for place, line, fields in _rows(stream, delimiter):
            if place in skipped:
                continue
            begun = names is not None
            # A header that is one field shorter, as R writes it, is the first row.
            title = not begun and len(fields) != width and (titles or len(fields) != width - 1)
            if title or (fields[0].startswith("#") and len(fields) != width):
                titles = titles or title
                skipped.add(place)
            elif not begun:
                names = [name.strip() for name in fields] if header else _numbered(width)
                if header:
                    skipped.add(place)
            elif len(fields) == width:
                counts[width] += bool(fields[-1].strip())
            else:
                raise OwnDataError(
                    f"{path.name}: line {line} has {len(fields)} fields, and most have {width}: quote "
                    "fields that hold the delimiter, or correct the line"
                )
    if names is None:
        raise OwnDataError(f"{path.name} has no rows")
    if len(names) == width - 1:
        trailing = width in counts and not counts[width]
        names = [*names, ""] if trailing else ["", *names]
    _check_names(path, names, header)
    return _Layout(encoding, delimiter, names, frozenset(skipped))


def _check_names(path: Path, names: list[str], header: bool) -> None:
    twice = [name for name, count in Counter(names).items() if name and count > 1]
    if twice:
        raise OwnDataError(f"{path.name}: two columns are named {twice[0]!r}: rename one")
    if header and len(names) > 1 and all(_is_number(name) for name in names):
        raise OwnDataError(
            f"{path.name}: its first row holds numbers only: if it is no header, add --no-header, and name "
            "columns by their numbers from 1"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(width: int) -> list[str]:
    return [str(place) for place in range(1, width + 1)]


def _delimiter(sample: list[str], delimiters: str) -> str:
    """Return the delimiter by which most lines have the same number of fields, above one."""

    def regularity(delimiter: str) -> tuple[float, int]:
        rows = [fields for *_, fields in _rows(sample, delimiter)]
        width = _width(rows)
        return (sum(len(fields) == width for fields in rows) / len(rows), width) if width > 1 else (0.0, 0)

    best = max(delimiters, key=regularity)
    if regularity(best)[1] > 1 or len(delimiters) == 1:
        return best
    return _SPACES if regularity(_SPACES)[0] > 0.5 else best


def _width(rows: list[list[str]]) -> int:
    """Return the number of fields that most rows have, the larger of two."""
    return max(Counter(map(len, rows)).items(), key=lambda found: (found[1], found[0]), default=(0, 0))[0]


def _rows(lines: IO[str] | list[str], delimiter: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield place and last line of the rows that are not blank, and their fields."""
    stripped = (line.strip() + "\n" for line in lines) if delimiter == _SPACES else lines
    reader = csv.reader(stripped, delimiter=delimiter, skipinitialspace=True)
    for place, fields in enumerate(reader):
        if any(field.strip() for field in fields):
            yield place, reader.line_num, fields


def _encoding(path: Path) -> str:
    with _open_bytes(path) as stream:
        start = stream.read(_CHUNK)
        for mark, name in _BYTE_ORDER_MARKS.items():
            if start.startswith(mark):
                return name
        if b"\0" in start:
            return "utf-16-be" if start[:1] == b"\0" else "utf-16-le"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while start:
                decoder.decode(start)
                start = stream.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _open(path: Path, encoding: str) -> IO[str]:
    return io.TextIOWrapper(_open_bytes(path), encoding=encoding, newline="")


def _open_bytes(path: Path) -> Any:
    match path.suffix.lower():
        case ".gz":
            return gzip.open(path, "rb")
        case ".bz2":
            return bz2.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
        case ".zip":
            archive = zipfile.ZipFile(path)
            members = [name for name in archive.namelist() if not name.endswith("/")]
            if len(members) != 1:
                raise OwnDataError(f"{path.name} holds {len(members)} files: put one table into it")
            return archive.open(members[0])
    return path.open("rb")
