"""A matrix of numbers in one text file, one label a line in another: the NIPS 2003 challenge's format."""

from pathlib import Path

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, integer_labels


def read_matrix_and_labels(matrix: Path, labels: Path) -> RawRows:
    """Read a file of features and a file of labels.

    Parameters
    ----------
    matrix : Path
        Text of numbers separated by blanks, one example a line.
    labels : Path
        Text of whole numbers, one a line.

    Returns
    -------
    RawRows
        float32 features and int64 labels.

    Raises
    ------
    MalformedData
        Something else than numbers, lines of different lengths, an empty file, or not one label a line of
        features.
    """
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
    try:
        return np.loadtxt(path, dtype=dtype, comments=None, ndmin=2, encoding="ascii")
    except (ValueError, OverflowError) as error:
        raise MalformedData(path.name, "table", str(error)) from error
