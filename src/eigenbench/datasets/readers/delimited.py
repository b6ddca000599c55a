"""Text tables: delimited columns with one of class labels, tables of Orange, and a matrix beside its labels.

Tables of Orange are tab-separated text under three lines with the names, types and roles of the columns.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.archives import damage_errors
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import Matrix, RawRows, integer_labels, natural_key

if TYPE_CHECKING:
    from pyarrow import Table

_BLOCK_BYTES = 1 << 24
"""Bytes that are parsed at a time; also the most that a line may have."""

_ARROW_ROW = re.compile(r"Row #(\d+): ")


def read_table(
    path: Path, *, delimiter: str = ",", label: Literal["first", "last"] = "last", one_hot: bool = False
) -> RawRows:
    """Read rows of numbers and a label, from UTF-8 text without header or blank lines.

    With ``one_hot`` each value of a column is a 0/1 feature, column after column, values in natural order.
    Labels are int64 when all are whole numbers, else strings. Takes 8 bytes a value besides the result.
    """
    from pyarrow import ArrowException, csv, float64, string

    with path.open("rb") as lines:
        n_columns = 1 + lines.readline(_BLOCK_BYTES).count(delimiter.encode())
    if n_columns == 1:
        raise MalformedData(path.name, "line 1", f"no features or no label: nothing before a {delimiter!r}")
    names = [f"f{number}" for number in range(n_columns)]  # as Arrow generates them
    label_name = names.pop(0 if label == "first" else -1)
    types = dict.fromkeys(names, string() if one_hot else float64()) | {label_name: string()}
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(autogenerate_column_names=True, use_threads=False, block_size=_BLOCK_BYTES),
            csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except ArrowException as error:  # it names the row, counted from 1, first
        row = _ARROW_ROW.search(str(error))
        raise MalformedData(path.name, f"line {row[1]}" if row else "table", str(error)[:200]) from error
    labels = _words(path, table, label_name, "label")
    if one_hot:
        columns = [np.array(_words(path, table, name, f"value in column {name}")) for name in names]
        values = [sorted(np.unique(column), key=natural_key) for column in columns]
        pairs = zip(columns, values, strict=True)
        return RawRows(
            np.hstack([np.equal.outer(*pair).astype(np.float32) for pair in pairs]), _typed(labels)
        )
    features = np.empty((table.num_rows, len(names)), dtype=np.float32)
    with np.errstate(over="ignore"):
        for column, name in enumerate(names):
            features[:, column] = table[name].to_numpy()
    return RawRows(features, _typed(labels))


def _words(path: Path, table: "Table", name: str, what: str) -> list[str]:
    """Return the texts of a column without the blanks around them."""
    words = [value.strip() for value in table[name].to_pylist()]
    if not all(words):
        raise MalformedData(path.name, f"line {words.index('') + 1}", f"no {what}")
    return words


def _typed(labels: list[str]) -> np.ndarray:
    if all(re.fullmatch(r"[+-]?[0-9]{1,15}", label) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array(labels, dtype=np.str_)


def read_matrix_and_labels(matrix: Path, labels: Path) -> RawRows:
    """Read numbers separated by blanks, one example a line, and a file of whole numbers, one label a line."""
    features, codes = _numbers(matrix, np.float32), _numbers(labels, np.float64)
    if codes.shape[1] != 1:
        raise MalformedData(labels.name, "line 1", f"{codes.shape[1]} numbers instead of one label")
    if len(features) != len(codes):
        raise MalformedData(labels.name, "labels", f"{len(codes)} labels for {len(features)} rows")
    return RawRows(features, integer_labels(labels, codes[:, 0]))


def _numbers(path: Path, dtype: type) -> np.ndarray:
    with path.open("rb") as text:
        first = text.read(1)
    if first in (b"", b"\n"):
        raise MalformedData(path.name, "line 1", "the file or its first line is empty")
    with damage_errors(path.name, "table"):
        return np.loadtxt(path, dtype=dtype, comments=None, ndmin=2, encoding="ascii")


def read_orange_table(path: Path, *, label: str, text: str | None, n_features: int) -> RawRows:
    """Read the continuous columns beside a column of class labels, or the words of a column of text.

    ``?`` or nothing is a missing value, NaN; blank lines are left out. With ``text`` the features are counts
    of words, each in the column of its hash, which several can share, so that no word list depends on rows.
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedData(path.name, f"byte {error.start}", "not UTF-8 text") from error
    names, types = lines[0].split("\t"), lines[1].split("\t") if len(lines) > 1 else []
    for wanted in (label, text):
        if wanted is not None and names.count(wanted) != 1:
            raise MalformedData(path.name, "line 1", f"{names.count(wanted)} columns {wanted!r}, not one")
    if len(types) != len(names):
        raise MalformedData(path.name, "line 2", f"{len(types)} types for {len(names)} columns")
    rows = {number: line.split("\t") for number, line in enumerate(lines[3:], start=4) if line}
    if not rows:
        raise MalformedData(path.name, "end of file", "no rows")
    for number, row in rows.items():
        if len(row) != len(names):
            raise MalformedData(path.name, f"line {number}", f"{len(row)} values for {len(names)} columns")
        if not row[names.index(label)].strip():
            raise MalformedData(path.name, f"line {number}", f"no {label!r}")
    labels = np.array([row[names.index(label)].strip() for row in rows.values()])
    if text is not None:
        return RawRows(_word_counts([row[names.index(text)] for row in rows.values()], n_features), labels)
    beside = {"class", "c", "meta", "m", "ignore", "i", "weight", "w"}
    roles = [set(field.split()) for field in (lines[2] + "\t" * len(names)).split("\t")]
    columns = [
        place
        for place, kind in enumerate(types)
        if kind in ("continuous", "c", "numeric") and names[place] != label and not roles[place] & beside
    ]
    features = np.empty((len(rows), len(columns)), dtype=np.float32)
    for place, (number, row) in enumerate(rows.items()):
        try:
            with np.errstate(over="ignore"):
                features[place] = [row[column].replace("?", "nan") or "nan" for column in columns]
        except ValueError as error:
            raise MalformedData(path.name, f"line {number}", str(error)[:200]) from error
    return RawRows(features, labels)


def _word_counts(documents: Sequence[str], n_columns: int) -> Matrix:
    """Return how often words of at least two letters occur in each document, (n, n_columns) float32 CSR."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        n_features=n_columns, norm=None, alternate_sign=False, dtype=np.float32, decode_error="strict"
    )
    return csr_array(hashing.transform(documents))
