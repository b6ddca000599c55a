"""Sparse text with a list of labels: the XMC repository's format, and that of Kaggle's LSHTC4."""

import re
from array import array
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows
from eigenbench.datasets.readers.sparse_text import PAIRS, PairLines

_XMC_HEADER = re.compile(rb"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s*")
_XMC = re.compile(rb"((?:\d{1,9}(?:,\d{1,9})*)?)" + PAIRS)
_LSHTC = re.compile(rb"(\d{1,9}(?:, ?\d{1,9})*)" + PAIRS)
_LSHTC_HEADER = re.compile(rb"[A-Za-z\", ]+\s*")
_LARGEST_ID = 10**9


def read_xmc(path: Path) -> RawRows:
    """Read a file of the extreme classification repository.

    Parameters
    ----------
    path : Path
        First line ``n d c``: the numbers of rows, features and labels. Then a line ``l,l… i:v i:v …`` for
        each row, both with indices from 0, in any order; a row can have no label, or no feature.

    Returns
    -------
    RawRows
        float32 CSR features of shape (n, d), uint8 CSR indicator of shape (n, c).

    Raises
    ------
    MalformedData
        No such header, a line of another form or without anything, an index or label that is out of range
        or there twice, or another number of lines than the header says; with the line's number.
    """
    with path.open("rb") as lines:
        first = lines.readline(100)
        header = _XMC_HEADER.fullmatch(first)
        if header is None:
            raise MalformedData(path.name, "line 1", f"{first[:60]!r} is not 'rows features labels'")
        n_rows, n_features, n_labels = (int(group) for group in header.groups())
        pairs = PairLines(path, n_columns=n_features, first_index=0)
        labels = _LabelLists(path, n_labels)
        for number, line in enumerate(lines, start=2):
            match = _XMC.fullmatch(line)
            if match is None or not line.strip():
                raise MalformedData(path.name, f"line {number}", f"{line[:60]!r} is not 'l,l… i:v i:v …'")
            if len(pairs) == n_rows:
                raise MalformedData(path.name, f"line {number}", f"more rows than the {n_rows} of line 1")
            labels.add(number, line, match[1])
            pairs.add(number, line, match[2])
    if len(pairs) < n_rows or not n_rows:
        raise MalformedData(path.name, "end of file", f"{len(pairs)} rows, line 1 says {n_rows}")
    return RawRows(pairs.matrix(), labels.indicator())


def read_lshtc(path: Path) -> RawRows:
    """Read the training file of Kaggle's fourth challenge on large-scale hierarchical text classification.

    Parameters
    ----------
    path : Path
        Lines ``label, label… id:value id:value …``; the first line can be a header of words. Both kinds of
        numbers are names with gaps.

    Returns
    -------
    RawRows
        float32 CSR features, one column for each id that occurs; uint8 CSR indicator, one column for each
        label that occurs, named by its number. Columns are in the order of the numbers.

    Raises
    ------
    MalformedData
        A line of another form, an id or label there twice, or no rows; with the line's number.
    """
    pairs = PairLines(path, n_columns=_LARGEST_ID, first_index=0)
    labels = _LabelLists(path, _LARGEST_ID)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            match = _LSHTC.fullmatch(line)
            if match is None:
                if number == 1 and _LSHTC_HEADER.fullmatch(line):
                    continue
                raise MalformedData(path.name, f"line {number}", f"{line[:60]!r} is not 'l, l… i:v i:v …'")
            labels.add(number, line, match[1])
            pairs.add(number, line, match[2])
    if not len(pairs):
        raise MalformedData(path.name, "line 1", "no rows")
    indicator, names = _without_gaps(labels.indicator())
    return RawRows(_without_gaps(pairs.matrix())[0], indicator, tuple(map(str, names)))


class _LabelLists:
    """Lists of labels, one a line, gathered into an indicator."""

    def __init__(self, path: Path, n_labels: int):
        self._path, self._n_labels = path, n_labels
        self._columns, self._ends = array("i"), array("q", [0])

    def add(self, number: int, line: bytes, text: bytes) -> None:
        """Take the labels of a line; raise `MalformedData` for one that is there twice or out of range."""
        labels = sorted(map(int, text.split(b","))) if text else []
        if len(set(labels)) < len(labels) or (labels and labels[-1] >= self._n_labels):
            problem = f"labels must differ and be from 0 to {self._n_labels - 1}: {line[:60]!r}"
            raise MalformedData(self._path.name, f"line {number}", problem)
        self._columns.extend(labels)
        self._ends.append(len(self._columns))

    def indicator(self) -> csr_array:
        """Return the uint8 indicator of shape (n, n_labels)."""
        columns, ends = np.asarray(self._columns, dtype=np.int32), np.asarray(self._ends)
        shape = (len(ends) - 1, self._n_labels)
        return csr_array((np.ones(len(columns), np.uint8), columns, ends), shape=shape)


def _without_gaps(matrix: csr_array) -> tuple[csr_array, np.ndarray]:
    """Return the matrix without its empty columns, and the numbers of the columns that are left."""
    used = np.unique(matrix.indices)
    columns = np.searchsorted(used, matrix.indices).astype(np.int32)
    return csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], len(used))), used
