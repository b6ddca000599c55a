"""Sparse text with one label: svmlight, ``label index:value …``, and VW, ``label | index:value …``.

`PairLines`, which gathers such pairs into a matrix, serves the multilabel formats too. Parsed here because
scikit-learn's svmlight loader takes NaN, comments and empty lines, names no line, and reads no VW or XMC.
"""

import re
from collections.abc import Sequence
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
_LINES_PER_BLOCK = 1 << 14


class PairLines:
    """Index:value pairs of one line after the other, gathered into a CSR matrix of 8 bytes a pair.

    Parameters
    ----------
    path : Path
        Named in error messages.
    n_columns : int
        Number of columns.
    first_index : int
        Index of the first column.
    ascending : bool
        Whether the format wants the indices of a line in this order; else they may come in any.
    """

    def __init__(self, path: Path, *, n_columns: int, first_index: int, ascending: bool = False):
        self._path, self._n_columns, self._first, self._ascending = path, n_columns, first_index, ascending
        self._lengths: list[int] = []
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._lines: list[tuple[np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, number: int, line: bytes, pairs: bytes) -> None:
        """Take the ``pairs`` of a line, already known to be of that form.

        Raises
        ------
        MalformedData
            An index twice, out of range or, where that matters, out of order.
        """
        numbers = np.array(pairs.replace(b":", b" ").split(), dtype=np.float64)
        columns = numbers[::2].astype(np.int64) - self._first
        values = numbers[1::2]
        if not self._ascending and (np.diff(columns) < 0).any():
            order = np.argsort(columns, kind="stable")
            columns, values = columns[order], values[order]
        if len(columns):
            self._check(number, line, columns)
        with np.errstate(over="ignore"):
            self._lines.append((columns.astype(np.int32), values.astype(np.float32)))
        self._lengths.append(len(columns))
        if len(self._lines) == _LINES_PER_BLOCK:
            self._pack()

    def matrix(self) -> csr_array:
        """Return all lines as float32 rows of shape (n, n_columns)."""
        self._pack()
        ends = np.cumsum([0, *self._lengths])
        values, columns = np.concatenate(self._values), np.concatenate(self._columns)
        return csr_array((values, columns, ends), shape=(len(self), self._n_columns))

    def _check(self, number: int, line: bytes, columns: np.ndarray) -> None:
        if columns[0] < 0 or columns[-1] >= self._n_columns or (np.diff(columns) <= 0).any():
            rule = "ascend" if self._ascending else "differ and be"
            allowed = f"from {self._first} to {self._first + self._n_columns - 1}"
            raise MalformedData(
                self._path.name, f"line {number}", f"indices must {rule} {allowed}: {line[:60]!r}"
            )

    def _pack(self) -> None:
        columns, values = zip(*self._lines, strict=True) if self._lines else ((), ())
        self._columns.append(_joined(columns, np.int32))
        self._values.append(_joined(values, np.float32))
        self._lines.clear()


def _joined(arrays: Sequence[np.ndarray], dtype: type) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype), *arrays])


def read_svmlight(path: Path, *, n_features: int) -> RawRows:
    """Read svmlight text with ascending indices from 1; see `_read` for the rest."""
    return _read(path, _SVMLIGHT, PairLines(path, n_columns=n_features, first_index=1, ascending=True))


def read_vw(path: Path, *, n_features: int, first_index: int) -> RawRows:
    """Read Vowpal Wabbit text without namespaces or importances; see `_read` for the rest.

    Indices may come in any order, and one without a value has the value 1.
    """
    return _read(path, _VW, PairLines(path, n_columns=n_features, first_index=first_index))


def _read(path: Path, pattern: re.Pattern[bytes], pairs: PairLines) -> RawRows:
    """Read one example per line, whose groups are the label and the index:value pairs.

    Returns float32 CSR features and int64 labels. Raises `MalformedData` with the number of a line of another
    form, or whose indices are out of range, out of order or there twice.
    """
    labels: list[float] = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            match = pattern.fullmatch(line)
            if match is None:
                raise MalformedData(
                    path.name, f"line {number}", f"{line[:60]!r} is not 'label index:value …'"
                )
            labels.append(float(match[1]))
            pairs.add(number, line, _WITHOUT_VALUE.sub(rb"\1:1", match[2]) if pattern is _VW else match[2])
    if not labels:
        raise MalformedData(path.name, "line 1", "the file is empty")
    return RawRows(pairs.matrix(), integer_labels(path, np.array(labels)))
