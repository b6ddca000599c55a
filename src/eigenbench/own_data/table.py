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
    """Rows as the user gives them: features are a DataFrame or csr_array, ``name`` is for messages.

    Of a svmlight file, ``first_column`` is the number of its first column, 0 or 1. Of images, ``image_shape``
    has height, width and number of colours.
    """

    name: str
    features: Any
    targets: pd.DataFrame
    groups: pd.Series | None = None
    first_column: int = 0
    image_shape: tuple[int, int, int] | None = None

    def __len__(self) -> int:
        return len(self.targets)

    def rows(self, keep: np.ndarray) -> UserTable:
        """Return the table with the rows of a mask."""
        features = self.features[keep] if issparse(self.features) else self.features.loc[keep]
        groups = None if self.groups is None else self.groups[keep]
        return replace(self, features=features, targets=self.targets[keep], groups=groups)


def split_columns(name: str, frame: pd.DataFrame, target: Sequence[str], group: str | None) -> UserTable:
    """Divide a table's columns into features, targets and groups; a missing one is an `OwnDataError`."""
    check_names(name, frame.columns)
    if not len(frame):
        raise OwnDataError(f"{name} has no rows")
    used = [*target, *([group] if group else [])]
    for column in used:
        if column not in frame.columns:
            raise OwnDataError(f"{name}: {unknown('column', column, frame.columns)}")
    if len(set(used)) < len(used):
        raise OwnDataError("a column is named twice among --target and --group")
    groups = frame[group] if group else None
    table = table_of(name, frame.drop(columns=used), frame[list(target)], groups)
    table.targets.columns = list(target)
    return table


def check_names(name: str, columns: Any) -> None:
    """Raise `OwnDataError` for two columns of one name."""
    columns = pd.Index(columns, dtype=object)
    if columns.has_duplicates:
        twice = columns[columns.duplicated()][0]
        raise OwnDataError(f"{name}: two columns are named {twice!r}: rename one")


def table_of(name: str, X: Any, y: Any, groups: Any = None) -> UserTable:
    """Make a table of arrays, data frames or a sparse matrix; shapes that don't fit are an `OwnDataError`."""
    try:
        features = csr_array(X) if issparse(X) else as_table(X)
        targets = as_table(y.toarray() if issparse(y) else y)
        groups = None if groups is None else pd.Series(groups).reset_index(drop=True)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise OwnDataError(f"{name}: {error}") from error
    lengths = {"X": features.shape[0], "y": len(targets)}
    if groups is not None:
        lengths["groups"] = len(groups)
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{key} has {length} rows" for key, length in lengths.items())
        raise OwnDataError(f"{name}: the lengths differ: {said}")
    if not len(targets):
        raise OwnDataError(f"{name} has no rows")
    if not features.shape[1]:
        raise OwnDataError(f"{name} has no column beside the target to predict from")
    if not targets.shape[1]:
        raise OwnDataError(f"{name} has no label in any row: give each row its label")
    for frame in (targets,) if issparse(X) else (features, targets):
        check_names(name, frame.columns)
    if list(targets) == ["0"]:
        targets.columns = ["target"]
    return UserTable(name, features, targets, groups)


def as_table(data: Any) -> pd.DataFrame:
    """Return data of pandas, polars or pyarrow, an array or a list as a table with texts as names."""
    table = pd.DataFrame(data.to_pandas() if hasattr(data, "to_pandas") else data)
    return table.set_axis([str(name) for name in table.columns], axis=1).reset_index(drop=True)
