"""Delimited text with one column of class labels."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows

_NUMPY_ROW = re.compile(
    r" at row (\d+)(?:, column (\d+))?\.?|number of columns changed from \d+ to \d+ at row (\d+)"
)


def read_table(path: Path, *, delimiter: str = ",", label: Literal["first", "last"] = "last") -> Rows:
    """Read rows of numbers and a label.

    Parameters
    ----------
    path : Path
        UTF-8 text without header or blank lines.
    delimiter : str, default=","
        Between the columns.
    label : {"first", "last"}, default="last"
        Which column holds the label.

    Returns
    -------
    Rows
        float32 features and labels, int64 when all are whole numbers, else strings.

    Raises
    ------
    MalformedData
        A blank line, a value that is no number, a missing label or another number of columns, with its line.
    """
    if path.stat().st_size == 0:
        raise MalformedData(path.name, "line 1", "the file is empty")
    labels: list[str] = []
    try:
        features = np.loadtxt(
            _features(path, delimiter, label, labels),
            dtype=np.float32,
            delimiter=delimiter,
            comments=None,
            ndmin=2,
        )
    except (ValueError, OverflowError) as error:
        line, problem = _locate(str(error))
        raise MalformedData(path.name, line, problem) from error
    return Rows(features, _typed(labels))


def _features(path: Path, delimiter: str, label: str, labels: list[str]) -> Iterator[str]:
    """Yield each line without its label, which goes to ``labels``."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                row = line.strip()
                value, found, rest = row.partition(delimiter)
                if label == "last":
                    rest, found, value = row.rpartition(delimiter)
                if not found or not value.strip() or not rest.strip():
                    raise MalformedData(
                        path.name, f"line {number}", f"{row[:60]!r} has no features or no label"
                    )
                labels.append(value.strip())
                yield rest
        except UnicodeDecodeError as error:
            raise MalformedData(
                path.name, f"after line {len(labels)}", f"not UTF-8 text: {error.reason}"
            ) from error


def _locate(message: str) -> tuple[str, str]:
    """Return the line and the problem of numpy's message; its rows count from 0 for values, 1 for columns."""
    match = _NUMPY_ROW.search(message)
    if match is None:
        return "table", message
    line = int(match[3]) if match[3] else int(match[1]) + 1
    return f"line {line}", message


def _typed(labels: list[str]) -> np.ndarray:
    if all(re.fullmatch(r"[+-]?[0-9]{1,15}", label) for label in labels):
        return np.array(labels, dtype=np.int64)
    return np.array(labels, dtype=np.str_)
