"""The two sparse text formats: svmlight, ``label index:value …``, and VW, ``label | index:value …``."""

import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, integer_labels

_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PAIRS = rb"((?:\s+\d{1,9}:" + _NUMBER + rb")*)\s*"
_SVMLIGHT = re.compile(rb"(" + _NUMBER + rb")" + _PAIRS)
_VW = re.compile(rb"(" + _NUMBER + rb")\s+\|" + _PAIRS)


def read_svmlight(path: Path, *, n_features: int) -> Rows:
    """Read svmlight text with indices from 1; see `_read` for the rest."""
    return _read(path, _SVMLIGHT, n_features, first_index=1)


def read_vw(path: Path, *, n_features: int, first_index: int) -> Rows:
    """Read Vowpal Wabbit text without namespaces; see `_read` for the rest."""
    return _read(path, _VW, n_features, first_index)


def _read(path: Path, pattern: re.Pattern[bytes], n_features: int, first_index: int) -> Rows:
    """Read one example per line.

    Parameters
    ----------
    path : Path
        Text whose lines match ``pattern``.
    pattern : re.Pattern
        Groups: the label, and the index:value pairs.
    n_features : int
        Number of columns.
    first_index : int
        Index of the first column.

    Returns
    -------
    Rows
        float32 CSR features and int64 labels.

    Raises
    ------
    MalformedData
        A line of another form, indices that don't ascend or are out of range, with the line's number.
    """
    labels: list[float] = []
    columns: list[np.ndarray] = []
    values: list[np.ndarray] = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            match = pattern.fullmatch(line)
            if match is None:
                raise MalformedData(
                    path.name, f"line {number}", f"{line[:60]!r} is not 'label index:value …'"
                )
            labels.append(float(match[1]))
            pairs = np.array(match[2].replace(b":", b" ").split(), dtype=np.float64)
            column = pairs[::2].astype(np.int64) - first_index
            if len(column) and (column[0] < 0 or column[-1] >= n_features or (np.diff(column) <= 0).any()):
                allowed = f"from {first_index} to {first_index + n_features - 1}"
                raise MalformedData(
                    path.name, f"line {number}", f"indices must ascend {allowed}: {line[:60]!r}"
                )
            columns.append(column)
            values.append(pairs[1::2])
    if not labels:
        raise MalformedData(path.name, "line 1", "the file is empty")
    ends = np.cumsum([0, *map(len, columns)])
    with np.errstate(over="ignore"):
        data = np.concatenate(values).astype(np.float32)
    features = csr_array((data, np.concatenate(columns), ends), shape=(len(labels), n_features))
    return Rows(features, integer_labels(path, np.array(labels)))
