"""A svmlight file, or one of the extreme classification repository, as sparse rows with labels."""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.datasets.readers.sparse_text import NUMBER, PAIRS
from eigenbench.own_data.delimited_text import open_bytes
from eigenbench.own_data.table import OwnDataError, UserTable, table_of

_LARGEST_INDEX = np.iinfo(np.int32).max - 1
_LONG_INDEX = re.compile(rb"\s(\d{10,}):")

_LINE = re.compile(rb"(?:" + NUMBER + rb"(?:," + NUMBER + rb")*)?(?:\s+qid:\d+)?" + PAIRS)

#: First line of the repository's files: the numbers of rows, features and labels.
_COUNTS = re.compile(rb"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s*")


def read_svmlight(path: Path, like: UserTable | None) -> UserTable:
    """Read a file of lines ``label index:value …`` or ``label,label index:value …``.

    Indices count from 0 if one is 0, else from 1. A first line of three numbers, those of rows, features and
    labels, is that of the extreme classification repository, whose indices count from 0. A file of test rows
    has the columns and labels of the training rows, ``like``, as it does not say them itself; columns that no
    training row has are left out.
    """
    X, labels, counts = _parsed(path)
    targets = _targets(labels, bool(counts) or (like is not None and like.targets.shape[1] > 1))
    if counts:
        X = _with_counts(path.name, X, targets, counts)
    if like is not None and like.targets.shape[1] > 1:
        if new := [label for label in targets.columns if label not in set(like.targets.columns)]:
            raise OwnDataError(f"{path.name}: no training row has the label {new[0]}")
        targets = targets.reindex(columns=like.targets.columns, fill_value=0)
    table = table_of(path.name, X, targets)
    if like is None:
        first = int(not counts and not table.features[:, [0]].nnz)
        return replace(table, features=table.features[:, first:], first_column=first)
    if like.first_column and table.features[:, [0]].nnz:
        raise OwnDataError(f"{path.name} counts columns from 0, and {like.name} from 1: number both alike")
    features = _columns(table.features, like.features.shape[1], like.first_column)
    return replace(table, features=features, first_column=like.first_column)


def read_rows(path: Path | str, *, n_features: int, first_column: int = 0) -> Any:
    """Read the rows of a file without their labels, with the columns that a model was fitted on."""
    return _columns(_parsed(Path(path))[0], n_features, first_column)


def _columns(X: Any, n_features: int, first_column: int) -> Any:
    X = X[:, first_column:]
    X.resize((X.shape[0], n_features))
    return X


def _parsed(path: Path) -> tuple[Any, list[tuple[float, ...]], list[int]]:
    """Return the rows, the labels of each, and the numbers of the first line if it counts."""
    from sklearn.datasets import load_svmlight_file

    with open_bytes(path) as stream:
        content = stream.read().removeprefix(codecs.BOM_UTF8)
    first_line, _, rest = content.partition(b"\n")
    counts = _COUNTS.fullmatch(first_line)
    if counts:
        content = rest
    _check_indices(path.name, content, int(bool(counts)))
    try:
        X, labels = load_svmlight_file(io.BytesIO(content), multilabel=True, zero_based=True)
    except ValueError as error:
        raise _malformed(path.name, content, int(bool(counts)), error) from error
    if not X.shape[0]:
        raise OwnDataError(f"{path.name} has no rows")
    return X, labels, [int(count) for count in counts.groups()] if counts else []


def _check_indices(name: str, content: bytes, lines_before: int) -> None:
    for found in _LONG_INDEX.finditer(content):
        if int(found[1][:20]) > _LARGEST_INDEX:
            line = content.count(b"\n", 0, found.start(1)) + 1 + lines_before
            index = found[1][:20].decode()
            raise OwnDataError(
                f"{name}, line {line}: index {index} is above {_LARGEST_INDEX}: number the columns anew"
            )


def _malformed(name: str, content: bytes, lines_before: int, error: ValueError) -> OwnDataError:
    """Return the error for the first line of another form."""
    for number, line in enumerate(content.split(b"\n"), 1 + lines_before):
        if line.strip() and not _LINE.fullmatch(line.partition(b"#")[0].strip()):
            return OwnDataError(f"{name}, line {number}: {line[:60]!r} is not 'label index:value …'")
    return OwnDataError(f"{name}: {error}")


def _targets(labels: list[tuple[float, ...]], several: bool) -> Any:
    """Return one label for each row or, if some row has another number, a data frame of 0 and 1."""
    from sklearn.preprocessing import MultiLabelBinarizer

    if not several and all(len(own) == 1 for own in labels):
        return np.concatenate(labels)
    binarizer = MultiLabelBinarizer().fit(labels)
    names = [f"{label:.15g}" for label in binarizer.classes_]
    return pd.DataFrame(binarizer.transform(labels), columns=names)


def _with_counts(name: str, X: Any, targets: pd.DataFrame, counts: list[int]) -> Any:
    """Return the rows with as many columns as the first line says."""
    n_rows, n_features, n_labels = counts
    largest = max(map(float, targets.columns), default=0)
    if X.shape[0] != n_rows or X.shape[1] > n_features or largest >= n_labels:
        found = f"{X.shape[0]} rows, features up to {X.shape[1] - 1} and labels up to {largest:g}"
        raise OwnDataError(f"{name}: line 1 says {' '.join(map(str, counts))}, and there are {found}")
    X.resize((n_rows, n_features))
    return X
