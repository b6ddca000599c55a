"""Read a table from a text file: its encoding, delimiter, header and row names are found in the file."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.own_data.column_values import MISSING, parse_numbers
from eigenbench.own_data.table import OwnDataError, check_names

_SAMPLE_LINES = 200
#: With comments.
_LARGEST_SAMPLE = 10_000
_CHUNK = 1 << 20
_DELIMITERS = ",;\t|"
_SPACES = " "
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Bytes beyond ASCII, without signs of currencies.
_LETTERS = re.compile(rb"[\xa4-\xff]+")

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

#: Endings of compressed text; of a zip archive the only file is read.
COMPRESSED = (*_OPENERS, ".zip")


def read_delimited(path: Path, *, delimiters: str = _DELIMITERS, header: bool = True) -> pd.DataFrame:
    """Read a table from a text file, also from a compressed one.

    UTF-8; UTF-16 and UTF-32 with a mark of the byte order; else Windows-1252. The delimiter is the one that
    gives most lines the same number of fields, more than one; blanks are tried last, and a first line
    ``sep=;`` settles it. Without a header the names are 1, 2, ….

    Every column is text; empty fields are missing. Lines before the header with another number of fields, or
    one field that is not empty, are titles and left out, as are comments, which begin with ``#``, and
    repetitions of the header. Where every row has one field more than the header, its first field names the
    row, as R writes it; such names differ. Whatever else is irregular is an `OwnDataError` with its line.
    """
    encoding = _encoding(path)
    with io.TextIOWrapper(open_bytes(path), encoding, newline="") as lines:
        sample = _sample(lines)
        if not any(line.strip() for line in sample):
            raise OwnDataError(f"{path.name} is empty")
        declared = sample[0].lower().startswith("sep=")
        plain = [line for line in sample[declared:] if not line.startswith("#")] or sample
        delimiter = (sample[0][4:].strip()[:1] if declared else "") or _delimiter(plain, delimiters)
        width = _width([fields for _, fields in _rows(plain, delimiter)])
        rows_of_sample = [fields for _, fields in _rows(sample[declared:], delimiter)]
        first = int(declared) + _first_row(rows_of_sample, width, header)
        lines.seek(0)
        rows = islice(_rows(lines, delimiter, strict=True), first, None)
        quoted = sum(line.startswith('"') for line in plain) > len(plain) / 2
        return _table(path, rows, width, delimiter, header=header, quoted=quoted)


def _sample(lines: Iterable[str]) -> list[str]:
    """Return the first lines, up to the 200th that is no comment."""
    sample: list[str] = []
    n_rows = 0
    for line in lines:
        sample.append(line)
        n_rows += not line.startswith("#")
        if n_rows == _SAMPLE_LINES or len(sample) == _LARGEST_SAMPLE:
            break
    return sample


def _first_row(rows: list[list[str]], width: int, header: bool) -> int:
    """Return how many titles and comments are before the header, or without one before the first row."""
    for place, fields in enumerate(rows):
        comment = fields[0].startswith("#")
        if header and len(fields) == width - 1 and all(row[0].startswith("#") for row in rows[:place]):
            if not comment:
                return place  # one field shorter, as R writes it
        elif len(fields) == width and not header:
            return place
        elif len(fields) == width and (width < 3 or sum(bool(field.strip()) for field in fields) > 1):
            # A comment may have as many fields by chance: the header is then between it and the numbers.
            numbers = [_are_numbers(row).any() for row in rows[place + 1 : place + 3]] if comment else []
            if numbers != [False, True]:
                return place
    return len(rows)


def _table(
    path: Path,
    rows: Iterable[tuple[int, list[str]]],
    width: int,
    delimiter: str,
    *,
    header: bool,
    quoted: bool,
) -> pd.DataFrame:
    """Take the header, if there is one, and check names and rows."""
    numbered = [str(place) for place in range(1, width + 1)]
    names, kept = _names_and_rows(path, rows, width, delimiter, None if header else numbered)
    if len(names) == width - 1:
        trailing = bool(kept) and not any((row[-1] or "").strip() for row in kept)
        if not trailing and not _name_rows([row[0] or "" for row in kept], quoted or delimiter != ","):
            raise OwnDataError(
                f"{path.name}: rows have {width} fields, and the header {len(names)}: quote numbers with a "
                "decimal comma and texts with the delimiter, or name all columns"
            )
        names = [*names, ""] if trailing else ["", *names]
    check_names(path.name, [name for name in names if name])
    check_header(path.name, names if header else [], kept)
    table = pd.DataFrame(kept, columns=names, dtype=object)
    return table.loc[:, [bool(name) or column.notna().any() for name, column in table.items()]]


def _names_and_rows(
    path: Path, rows: Iterable[tuple[int, list[str]]], width: int, delimiter: str, names: list[str] | None
) -> tuple[list[str], list[list[str | None]]]:
    """Return the names, by default of the first row, and the rows without comments and repeated headers.

    Every row has ``width`` fields; else an `OwnDataError` names the line.
    """
    header: list[str] | None = None
    kept: list[list[str | None]] = []
    comments: list[int] = []
    alike: list[int] = []  # comments with as many fields as a row, or rows
    for line, fields in rows:
        if names is None:
            header, names = fields, [name.strip() for name in fields]
        elif fields == header:
            continue
        elif fields[0].startswith("#") and len(fields) != width:
            comments.append(line)
        elif any(_holds_rows(field, delimiter, width) for field in fields):
            raise OwnDataError(
                f"{path.name}: a field that ends in line {line} holds whole rows: close the quote before them"
            )
        elif len(fields) == width:
            kept.append([field or None for field in fields])
            if fields[0].startswith("# "):
                alike.append(line)
        else:
            raise OwnDataError(
                f"{path.name}: line {line} has {len(fields)} fields, and most have {width}: quote "
                "fields that hold the delimiter, or correct the line"
            )
    if names is None:
        raise OwnDataError(f"{path.name} has no rows")
    if comments and any((row[0] or "").startswith("#") for row in kept):
        raise OwnDataError(
            f"{path.name}: line {comments[0]} begins with # as rows do, and has not {width} fields"
        )
    if alike and not all((row[0] or "").startswith("#") for row in kept):
        raise OwnDataError(
            f"{path.name}: line {alike[0]} begins with # as comments do, and has {width} fields: delete it, "
            "or move that column to another place"
        )
    return names, kept


def check_header(name: str, names: list[str], rows: list[list[str | None]]) -> None:
    """Raise `OwnDataError` for names that are numbers, and for a first row of units or of names."""
    if len(names) > 1 and _are_numbers(names).all():
        raise OwnDataError(
            f"{name}: its first row holds numbers only: if it is no header, add names; or, to text, "
            "--no-header, and name columns by their numbers from 1"
        )
    if len(rows) < 6:
        return
    numeric = np.all([_are_numbers(row) for row in rows[1:6]], axis=0)
    texts = [(field or "").strip() for field, follows in zip(rows[0], numeric, strict=True) if follows]
    if len(texts) > 1 and not any(re.match(r"\W*\d", text) or text.lower() in MISSING for text in texts):
        raise OwnDataError(
            f"{name}: its first row holds {texts[0]!r} where the next ones hold numbers: delete it if "
            "it names units or columns"
        )


def _name_rows(names: list[str], sure: bool) -> bool:
    """Return whether the first fields are names of rows; if not ``sure``, only their numbers are."""
    if not sure:
        return names == [str(place) for place in range(1, len(names) + 1)]
    return len(set(names)) == len(names)


def _holds_rows(field: str, delimiter: str, width: int) -> bool:
    """Return whether a field holds three lines or more, all of them rows of the table."""
    lines = field.splitlines()[1:-1] if "\n" in field else []
    return len(lines) > 2 and all(line.count(delimiter) == width - 1 for line in lines)


def _are_numbers(fields: Iterable[str | None]) -> np.ndarray:
    """Return which fields are numbers, with a decimal point or comma, and mark no missing value."""
    texts = pd.Series([(field or "").strip() for field in fields], dtype=object)
    found = parse_numbers(texts, ".").notna() | parse_numbers(texts, ",").notna()
    return (found & ~texts.str.lower().isin(MISSING)).to_numpy()


def _delimiter(sample: list[str], delimiters: str) -> str:
    """Return the delimiter by which most lines have the same number of fields, above one."""

    def regularity(delimiter: str) -> tuple[float, float, int]:
        try:
            rows = [fields for _, fields in _rows(sample, delimiter)]
        except csv.Error:  # a line of 131,072 characters without it
            rows = []
        if (width := _width(rows)) < 2:
            return 0.0, 0.0, 0
        # Without a header, decimal commas are as regular as the delimiter, and leave fewer numbers.
        numbers = _are_numbers(field for fields in rows[-5:] for field in fields).mean()
        return sum(len(fields) == width for fields in rows) / len(rows), numbers, width

    best = max(delimiters, key=regularity)
    spaced = len(delimiters) > 1 and not regularity(best)[0] and regularity(_SPACES)[0] > 0.5
    return _SPACES if spaced else best


def _width(rows: list[list[str]]) -> int:
    """Return the number of fields that most rows have, the larger of two."""
    return max(Counter(map(len, rows)).items(), key=lambda found: (found[1], found[0]), default=(0, 0))[0]


def _rows(lines: Iterable[str], delimiter: str, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the last line of each row that is not blank, and its fields; see `csv.reader` on ``strict``."""
    stripped = (line.strip().replace("\t", " ") + "\n" for line in lines) if delimiter == _SPACES else lines
    reader = csv.reader(stripped, delimiter=delimiter, skipinitialspace=True, strict=strict)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        remedy = "close quotes at the end of a field, and double those inside it"
        raise csv.Error(f"line {reader.line_num}: {error}: {remedy}") from error


def _encoding(path: Path) -> str:
    """Return the encoding that the bytes of a file show; they are read in parts."""
    with open_bytes(path) as stream:
        part = stream.read(_CHUNK)
        for mark, name in _BYTE_ORDER_MARKS.items():
            if part.startswith(mark):
                return name
        if b"\0" in part:
            return _utf16(path, part)
        decoder = codecs.getincrementaldecoder("utf-8")()
        line, accents = 1, False
        try:
            while part:
                accents |= not decoder.decode(part).isascii()
                line += part.count(b"\n")
                part = stream.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            line += before.count(b"\n")
            if accents or not before.isascii():
                raise OwnDataError(
                    f"{path.name}: line {line} is not UTF-8, but lines before it are: save it as UTF-8"
                ) from error
            words = set(_LETTERS.findall(part))
            long = [word for word in words if len(word) > 2]
            if len(long) > max(1, len(words) / 2):  # in Western texts most such letters are single
                raise OwnDataError(
                    f"{path.name} is neither UTF-8 nor Western European text: save it as UTF-8"
                ) from None
            return "cp1252"
    return "utf-8"


def _utf16(path: Path, part: bytes) -> str:
    """Return the byte order: in UTF-16, one byte of each digit, delimiter and line end is 0."""
    zeros = {"utf-16-be": part[::2].count(b"\0"), "utf-16-le": part[1::2].count(b"\0")}
    order = max(zeros, key=lambda name: zeros[name])
    if 8 * zeros[order] < len(part):
        line = part.count(b"\n", 0, part.index(b"\0")) + 1
        raise OwnDataError(
            f"{path.name}: line {line} holds a NUL byte: delete it, and save the file as UTF-8"
        )
    return order


def open_bytes(path: Path) -> Any:
    """Open a file, or what it compresses; of a zip archive the only file."""
    suffix = path.suffix.lower()
    if suffix != ".zip":
        return _OPENERS.get(suffix, open)(path, "rb")
    archive = zipfile.ZipFile(path)
    members = [name for name in archive.namelist() if not re.match(r"__MACOSX/|(.*/)?\.|.*/$", name)]
    if len(members) != 1:
        raise OwnDataError(f"{path.name} holds {len(members)} files: put one table into it")
    return archive.open(members[0])
