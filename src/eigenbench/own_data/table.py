"""A table of the user's: features, targets and groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from eigenbench.bench.registry import near_match
from eigenbench.datasets.errors import DatasetError


class OwnDataError(DatasetError):
    """The data or the options can't be used; the message is one sentence that says why."""


def unknown(kind: str, name: str, known: Iterable[str]) -> OwnDataError:
    """Return the error for a name that is not there, with the nearest that is."""
    names = [str(other) for other in known]
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return OwnDataError(f"there is no {kind} {name!r}.{near_match(name, names)} There are: {shown or 'none'}")


@dataclass(frozen=True)
class UserTable:
    """Rows as the user gives them, and the name of the file, or ``X``, that messages call them by.

    Features are a DataFrame or csr_array. ``first_column`` is the number of the first column in a svmlight
    file, 0 or 1.
    """

    name: str
    features: Any
    targets: pd.DataFrame
    groups: pd.Series | None = None
    first_column: int = 0

    def __len__(self) -> int:
        return len(self.targets)

    def rows(self, keep: np.ndarray) -> UserTable:
        """Return the table with the rows of a mask."""
        features = self.features[keep] if issparse(self.features) else self.features.loc[keep]
        groups = None if self.groups is None else self.groups[keep]
        return replace(self, features=features, targets=self.targets[keep], groups=groups)


def split_columns(name: str, frame: pd.DataFrame, target: Sequence[str], group: str | None) -> UserTable:
    """Divide the columns of a table into features, targets and groups.

    A column that is not there or is named twice, and a table without rows or features, is an `OwnDataError`.
    """
    if twice := list(dict.fromkeys(map(str, frame.columns[frame.columns.duplicated()]))):
        raise OwnDataError(f"{name}: two columns are named {twice[0]!r}: rename one")
    if not len(frame):
        raise OwnDataError(f"{name} has no rows")
    columns = {str(column): column for column in frame.columns}
    for column in [*target, *([group] if group else [])]:
        if column not in columns:
            raise OwnDataError(f"{name}: {unknown('column', column, columns)}")
    if group in target or len(set(target)) < len(target):
        raise OwnDataError("a column is named twice among --target and --group")
    used = [columns[column] for column in target]
    left = [column for text, column in columns.items() if text not in target and text != group]
    if not left:
        raise OwnDataError(f"{name} has no column beside the target to predict from")
    groups = frame[columns[group]].reset_index(drop=True) if group else None
    frame = frame.reset_index(drop=True)
    return UserTable(name, frame[left], frame[used], groups)


def table_of(name: str, X: Any, y: Any, groups: Any = None) -> UserTable:
    """Make a table of arrays, data frames or a sparse matrix.

    Lengths that differ, an X without rows or columns, and arrays of another shape, are an `OwnDataError`.
    """
    try:
        features = csr_array(X) if issparse(X) else as_table(X)
        targets = as_table(y.toarray() if issparse(y) else y)
    except ValueError as error:
        raise OwnDataError(f"{name}: {error}") from error
    if not issparse(X) and features.columns.duplicated().any():
        raise OwnDataError(f"{name}: two columns have the same name: rename one")
    lengths = {"X": features.shape[0], "y": len(targets)}
    if groups is not None:
        groups = pd.Series(groups).reset_index(drop=True)
        lengths["groups"] = len(groups)
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{key} has {length} rows" for key, length in lengths.items())
        raise OwnDataError(f"{name}: the lengths differ: {said}")
    if not len(targets) or not features.shape[1]:
        raise OwnDataError(f"{name} has no {'columns' if len(targets) else 'rows'}")
    if list(targets) == ["0"]:
        targets.columns = ["target"]
    return UserTable(name, features, targets, groups)


def as_table(data: Any) -> pd.DataFrame:
    """Return data of pandas, polars or pyarrow, an array or a list as a table with texts as names."""
    table = pd.DataFrame(data.to_pandas() if hasattr(data, "to_pandas") else data)
    return table.set_axis([str(name) for name in table.columns], axis=1).reset_index(drop=True)
