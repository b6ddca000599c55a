"""The rows that every reader gives, and the checks that several of them share."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData

Matrix = Any
"""An ndarray or a csr_array; what they have in common has no type of its own."""


@dataclass(frozen=True)
class RawRows:
    """Rows of one part of a dataset, as its file holds them.

    Features are float32, or uint8 where the file holds bytes; labels are integers or strings of classes,
    (n,), or a uint8 indicator, (n, c), whose columns ``label_names`` names where the file does.
    ``label_edges`` are the edges (child, parent) of the graph of the labels, when the file has one: column
    numbers, and c for the root. ``groups`` are the group of each row, for grouped folds.
    """

    features: Matrix
    labels: Matrix
    label_names: tuple[str, ...] | None = None
    label_edges: np.ndarray | None = None
    groups: np.ndarray | None = None


def indicator(path: Path, labels: Matrix) -> csr_array:
    """Return a 0/1 matrix, dense or sparse, as a uint8 CSR array; refuse other values with their place."""
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


def natural_key(name: str) -> list[tuple[int, str, str]]:
    """Return a sort key that compares runs of digits as numbers, of any length, and the rest as text."""
    parts = re.split("([0-9]+)", name)  # of which every second one is a number
    numbers = [part.lstrip("0") * (place % 2) for place, part in enumerate(parts)]
    return [(len(number), number, part) for number, part in zip(numbers, parts, strict=True)]
