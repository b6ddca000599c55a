"""What every reader gives, and the checks that several of them share."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.matrix import Matrix


@dataclass(frozen=True)
class Rows:
    """Rows of one part of a dataset, as its file holds them.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n, d)
        float32, or uint8 where the file holds bytes.
    labels : ndarray of shape (n,) or csr_array of shape (n, c)
        Integer or string class labels, or a uint8 indicator.
    label_names : tuple of str, optional
        Names of the indicator's columns, when the file has them.
    label_edges : ndarray of shape (m, 2), optional
        Edges (child, parent) of the graph of the labels, when the file has one: column numbers, and c for
        the root.
    groups : ndarray of int64 of shape (n,), optional
        The group of each row, for grouped folds.
    """

    features: Matrix
    labels: Matrix
    label_names: tuple[str, ...] | None = None
    label_edges: np.ndarray | None = None
    groups: np.ndarray | None = None


def indicator(path: Path, labels: Matrix) -> csr_array:
    """Return a 0/1 matrix as a uint8 CSR array, or raise `MalformedData` with the place of another value.

    ``labels`` may be dense or sparse; a sparse one is never made dense.
    """
    matrix = csr_array(labels)
    matrix.eliminate_zeros()
    wrong = np.flatnonzero(matrix.data != 1)
    if len(wrong):
        row = int(np.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
        place = f"row {row}, label {matrix.indices[wrong[0]]}"
        raise MalformedData(path.name, place, f"{matrix.data[wrong[0]]} is not 0 or 1")
    return matrix.astype(np.uint8)


def integer_labels(path: Path, values: np.ndarray) -> np.ndarray:
    """Return whole-numbered labels as int64, or raise `MalformedData` with the row of another value."""
    values = np.asarray(values, dtype=np.float64)
    wrong = np.flatnonzero(~(np.abs(values) < 2**53) | (values != np.round(values)))
    if len(wrong):
        raise MalformedData(path.name, f"row {wrong[0]}", f"label {values[wrong[0]]} is not a whole number")
    return values.astype(np.int64)
