"""Sparse text: svmlight ``label index:value …``, VW ``label | index:value …``, and two with lists of labels.

The latter are the format of the extreme classification (XMC) repository and that of Kaggle's LSHTC4. Parsed
here because scikit-learn's svmlight loader takes NaN, comments and empty lines, names no line, and reads no
VW or XMC.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, integer_labels

NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
PAIRS = rb"((?:\s+\d{1,9}:" + NUMBER + rb")*)\s*"
_SVMLIGHT = re.compile(rb"(" + NUMBER + rb")" + PAIRS)
_VW = re.compile(rb"(" + NUMBER + rb")\s+\|((?:\s+\d{1,9}(?::" + NUMBER + rb")?)*)\s*")
_WITHOUT_VALUE = re.compile(rb"(\s\d+)(?=\s|$)")
_XMC_HEADER = re.compile(rb"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s*")
_XMC = re.compile(rb"((?:\d{1,9}(?:,\d{1,9})*)?)" + PAIRS)
_LSHTC = re.compile(rb"(\d{1,9}(?:, ?\d{1,9})*)" + PAIRS)
_LSHTC_HEADER = re.compile(rb"[A-Za-z\", ]+\s*")
_LARGEST_ID = 10**9


class _Rows:
    """Rows of a text file, gathered into a CSR matrix of 8 bytes a value.

    ``first`` is the index of the first column, ``what`` the columns in messages; ``ascending`` says whether
    the format wants the indices of a line in this order, else they may come in any.
    """

    def __init__(
        self, path: Path, n_columns: int, *, first: int = 0, ascending: bool = False, what: str = "indices"
    ):
        self._path, self._n_columns, self._first = path, n_columns, first
        self._ascending, self._what = ascending, what
        self._columns, self._values, self._ends = array("i"), array("f"), array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add_pairs(self, number: int, line: bytes, pairs: bytes) -> None:
        """Take the pairs ``index:value …`` of a line, already known to be of that form."""
        numbers = np.array(pairs.replace(b":", b" ").split(), dtype=np.float64)
        self.add(number, line, numbers[::2].astype(np.int64), numbers[1::2])

    def add_labels(self, number: int, line: bytes, labels: bytes) -> None:
        """Take the labels ``l,l…`` of a line, each with the value 1."""
        columns = np.array(labels.split(b",") if labels else [], dtype=np.int64)
        self.add(number, line, columns, np.ones(len(columns)))

    def add(self, number: int, line: bytes, indices: np.ndarray, values: np.ndarray) -> None:
        """Add a row; raise `MalformedData` for an index twice, out of range or not ascending as it should."""
        columns = indices - self._first
        if not self._ascending:
            order = np.argsort(columns, kind="stable")
            columns, values = columns[order], values[order]
        if len(columns) and (
            columns[0] < 0 or columns[-1] >= self._n_columns or (np.diff(columns) <= 0).any()
        ):
            rule = "ascend" if self._ascending else "differ and be"
            allowed = f"from {self._first} to {self._first + self._n_columns - 1}"
            problem = f"{self._what} must {rule} {allowed}: {line[:60]!r}"
            raise MalformedData(self._path.name, f"line {number}", problem)
        with np.errstate(over="ignore"):
            self._values.frombytes(values.astype(np.float32).tobytes())
        self._columns.frombytes(columns.astype(np.int32).tobytes())
        self._ends.append(len(self._columns))

    def matrix(self) -> csr_array:
        """Return all rows as float32 of shape (n, n_columns)."""
        values, columns = np.array(self._values), np.array(self._columns)
        return csr_array((values, columns, np.array(self._ends)), shape=(len(self), self._n_columns))


def read_svmlight(path: Path, *, n_features: int) -> RawRows:
    """Read svmlight text with ascending indices from 1; see `_read` for the rest."""
    return _read(path, _SVMLIGHT, _Rows(path, n_features, first=1, ascending=True))


def read_vw(path: Path, *, n_features: int, first_index: int) -> RawRows:
    """Read Vowpal Wabbit text without namespaces or importances: indices in any order, value 1 by default."""
    return _read(path, _VW, _Rows(path, n_features, first=first_index))


def _read(path: Path, pattern: re.Pattern[bytes], pairs: _Rows) -> RawRows:
    """Read one example per line, label and index:value pairs, as float32 CSR features and int64 labels."""
    labels: list[float] = []
    with path.open("rb") as lines:
        for number, match in _matches(path, lines, pattern, "label index:value …"):
            labels.append(float(match[1]))
            values = _WITHOUT_VALUE.sub(rb"\1:1", match[2]) if pattern is _VW else match[2]
            pairs.add_pairs(number, match[0], values)
    if not labels:
        raise MalformedData(path.name, "line 1", "the file is empty")
    return RawRows(pairs.matrix(), integer_labels(path, np.array(labels)))


def _matches(
    path: Path, lines: Iterable[bytes], pattern: re.Pattern[bytes], form: str, first: int = 1
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Yield the lines with their numbers; raise `MalformedData` for one of another form."""
    for number, line in enumerate(lines, first):
        match = pattern.fullmatch(line)
        if match is None or not line.strip():
            raise MalformedData(path.name, f"line {number}", f"{line[:60]!r} is not {form!r}")
        yield number, match


def read_xmc(path: Path) -> RawRows:
    """Read a file of the extreme classification repository.

    Its first line is ``n d c``, the numbers of rows, features and labels. Then comes a line ``l,l… i:v i:v
    …`` for each row, both with indices from 0, in any order; a row can have no label, or no feature.
    """
    with path.open("rb") as lines:
        first = lines.readline(100)
        header = _XMC_HEADER.fullmatch(first)
        if header is None:
            raise MalformedData(path.name, "line 1", f"{first[:60]!r} is not 'rows features labels'")
        n_rows, n_features, n_labels = (int(group) for group in header.groups())
        pairs, labels = _Rows(path, n_features), _Rows(path, n_labels, what="labels")
        for number, match in _matches(path, lines, _XMC, "l,l… i:v i:v …", first=2):
            if len(pairs) == n_rows:
                raise MalformedData(path.name, f"line {number}", f"more rows than the {n_rows} of line 1")
            labels.add_labels(number, match[0], match[1])
            pairs.add_pairs(number, match[0], match[2])
    if len(pairs) < n_rows or not n_rows:
        raise MalformedData(path.name, "end of file", f"{len(pairs)} rows, line 1 says {n_rows}")
    return RawRows(pairs.matrix(), labels.matrix().astype(np.uint8))


def read_lshtc(path: Path) -> RawRows:
    """Read the training file of Kaggle's fourth challenge on large-scale hierarchical text classification.

    Lines are ``label, label… id:value id:value …``; the first can be a header of words. Both kinds of numbers
    are names with gaps: there is a column for each that occurs, in their order, and labels are named by
    theirs.
    """
    pairs, labels = _Rows(path, _LARGEST_ID), _Rows(path, _LARGEST_ID, what="labels")
    with path.open("rb") as lines:
        header = int(bool(_LSHTC_HEADER.fullmatch(lines.readline())))
        lines.seek(0)
        for number, match in _matches(
            path, islice(lines, header, None), _LSHTC, "l, l… i:v i:v …", 1 + header
        ):
            labels.add_labels(number, match[0], match[1])
            pairs.add_pairs(number, match[0], match[2])
    if not len(pairs):
        raise MalformedData(path.name, "line 1", "no rows")
    indicator, names = _without_gaps(labels.matrix().astype(np.uint8))
    return RawRows(_without_gaps(pairs.matrix())[0], indicator, tuple(map(str, names)))


def _without_gaps(matrix: csr_array) -> tuple[csr_array, np.ndarray]:
    """Return the matrix without its empty columns, and the numbers of the columns that are left."""
    used = np.unique(matrix.indices)
    columns = np.searchsorted(used, matrix.indices).astype(np.int32)
    return csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], len(used))), used
