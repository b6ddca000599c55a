"""A user's table as a problem: features, targets, and how the rows are split."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse, vstack

from eigenbench.own_data.column_values import Kind, as_texts, decimal_sign, infer_kind
from eigenbench.own_data.table import OwnDataError, UserTable, unknown
from eigenbench.own_data.table_encoder import TableEncoder
from eigenbench.own_data.target import Target, TargetKind, infer_target

#: Tables of so many columns, all with few values, repeat rows by chance.
_FEW_COLUMNS = 20

#: A split by time tests on one of so many rows.
_LAST = 5


@dataclass(frozen=True)
class Problem:
    """Data of a comparison, by the name of the file.

    Target and matrix, float32 and (n, d), NaN where a value is missing, are of all rows; those of a test file
    come last, after ``n_train`` others, and there are then 0 folds. The encoder made the matrix of the table;
    sparse rows have none.
    """

    name: str
    target: Target
    matrix: Any
    encoder: TableEncoder | None
    n_train: int
    n_folds: int
    groups: np.ndarray | None = None
    first_column: int = 0
    image_shape: tuple[int, int, int] | None = None

    @property
    def kind(self) -> TargetKind:
        """The kind of target, as catalogues name it."""
        return self.target.kind

    @property
    def codes(self) -> np.ndarray:
        """The targets, classes as whole numbers from 0."""
        labels = self.target.labels
        return np.unique(labels, return_inverse=True)[1] if self.kind == "multiclass" else labels

    @property
    def sparse(self) -> bool:
        """True if the features are sparse."""
        return issparse(self.matrix)

    @property
    def missing(self) -> bool:
        """True if a value is missing."""
        return not self.sparse and bool(np.isnan(self.matrix).any())

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return self.matrix.shape[1]

    @property
    def n_classes(self) -> int:
        """The number of classes or labels; 1 of a regression."""
        if self.kind == "multiclass":
            return len(np.unique(self.target.labels))
        return len(self.target.names) or 1

    def arrays(self) -> dict[str, dict[str, Any]]:
        """Return the arrays of the npz files: of all rows, or of the training and the test rows."""
        if self.n_folds:
            return {"all": self._arrays(slice(None))}
        return {"train": self._arrays(slice(self.n_train)), "test": self._arrays(slice(self.n_train, None))}

    def _arrays(self, rows: slice) -> dict[str, Any]:
        X = self.matrix[rows]
        arrays: dict[str, Any] = {"y": self.target.labels[rows]}
        if issparse(X):
            X.sort_indices()
            arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr, "X_shape": X.shape}
        else:
            arrays["X"] = X
        if self.kind == "multilabel":
            arrays["label_names"] = np.array(self.target.names)
        if self.groups is not None:
            arrays["groups"] = self.groups[rows]
        return arrays

    def describe(self) -> list[str]:
        """Say in lines what was recognised."""
        n, d = self.matrix.shape
        rows = f"{n:,} rows" if self.n_folds else f"{self.n_train:,} + {n - self.n_train:,} rows"
        lines = [f"{self.name}: {rows}, {d:,} columns, {self.target.description}"]
        if self.n_folds:
            lines.append(f"each row is tested once, in one of {self.n_folds} folds")
        if self.sparse:
            lines.append(f"sparse: {self.matrix.nnz / max(1, n * d):.2%} of the values are not zero")
        if self.encoder:
            lines += self.encoder.describe()
        if self.missing:
            lines.append(f"{np.isnan(self.matrix).mean():.1%} of the values missing")
        if self.groups is not None:
            lines.append(f"{len(np.unique(self.groups)):,} groups, each whole in one fold")
        if self.encoder and self.groups is None:
            lines += self._repeated_rows()
        if self.kind == "multiclass":
            lines += [*self._copies_of_the_target(), *self._untrained_classes()]
        return lines

    def _copies_of_the_target(self) -> list[str]:
        """Name the columns that have one value for each class, and no other."""
        codes, n_classes, lines = self.codes, self.n_classes, []
        for name, column in zip(self.encoder.columns_, self.matrix.T, strict=True) if self.encoder else ():
            if len(np.unique(column[:100])) <= n_classes == len(pd.unique(column)):
                pairs = pd.DataFrame({"value": column, "class": codes}).drop_duplicates()
                if len(pairs) == n_classes:
                    lines.append(
                        f"{name!r} has one value for each class: if it is the target by another name, "
                        "--drop it"
                    )
        more = [f"and {len(lines) - 5} more such columns"] if len(lines) > 5 else []
        return lines[:5] + more

    def _repeated_rows(self) -> list[str]:
        """Say how many rows may be known before they are tested, unless few values repeat by chance."""
        if self.n_features <= _FEW_COLUMNS:
            table = pd.DataFrame(self.matrix)
            if (10 * table.nunique(dropna=False) < len(table)).all():
                return []
        rows = pd.Series([hash(row.tobytes()) for row in self.matrix])
        if self.n_folds:
            n = rows.duplicated().sum()
            said = "rows that repeat another one: {:,}; --group keeps copies in one fold"
        else:
            n = rows[self.n_train :].isin(rows[: self.n_train]).sum()
            said = "test rows that are training rows too: {:,}"
        return [said.format(n)] if n else []

    def _untrained_classes(self) -> list[str]:
        """Say which classes are tested without having been trained on."""
        labels, lines = pd.Series(self.target.labels), []
        trained, tested = labels[: self.n_train], labels[self.n_train :]
        if len(new := tested[~tested.isin(trained)].unique()):
            lines.append(f"{_named(new)} in no training row: always an error")
        if self.groups is not None:
            held = pd.DataFrame({"label": labels, "group": self.groups}).drop_duplicates()["label"]
            if len(alone := held[~held.duplicated(keep=False)]):
                lines.append(f"{_named(alone)} in one group only: always an error where it is tested")
        return lines


def split_by_time(
    table: UserTable, column: str, decimal: str | None = None, kinds: Mapping[str, Kind] | None = None
) -> tuple[UserTable, UserTable]:
    """Divide a table into the earlier rows and the last fifth; the column itself is left out."""
    if issparse(table.features) or column not in table.features.columns:
        known = () if issparse(table.features) else table.features.columns
        raise unknown("column", column, known)
    if table.features[column].astype(str).nunique() < 2:
        raise OwnDataError(f"--time {column}: every row has the same value there")
    try:
        own = {name: kind for name, kind in (kinds or {}).items() if name == column}
        encoder = TableEncoder(decimal, own).fit(table.features[[column]])
        times = encoder.transform(table.features[[column]])[:, 0]
    except ValueError as error:
        raise OwnDataError(f"--time {column}: {error}") from error
    if encoder.kinds_ == ["category"] or np.isnan(times).any():
        raise OwnDataError(f"--time {column}: every row needs a date or a number there")
    late = times >= np.sort(times)[-max(1, len(times) // _LAST)]
    if late.mean() > 0.5:
        raise OwnDataError(
            f"--time {column}: {late.sum():,} of {len(late):,} rows are the last: too few come before"
        )
    rest = replace(table, features=table.features.drop(columns=column))
    test = replace(rest.rows(late), name=f"the last rows by {column!r}")
    return rest.rows(~late), test


def _named(classes: Any) -> str:
    shown = ", ".join(repr(str(one)[:40]) for one in list(classes)[:3])
    more = f" and {len(classes) - 3} more" if len(classes) > 3 else ""
    return f"class {shown} is" if len(classes) == 1 else f"classes {shown}{more} are"


def make_problem(
    table: UserTable,
    test: UserTable | None = None,
    n_folds: int | None = None,
    *,
    time: str | None = None,
    decimal: str | None = None,
    kinds: Mapping[str, Kind] | None = None,
    regression: bool = False,
) -> Problem:
    """Make a problem of a table, and of the rows to test on in place of folds.

    There are five folds by default. ``time`` names a column whose last fifth of rows is tested;
    ``decimal`` and ``kinds`` are parameters of `TableEncoder`; with ``regression``
    numbers are no classes, even if few differ. What can't be done is an `OwnDataError`.
    """
    if decimal not in (None, ".", ","):
        raise OwnDataError(f"--decimal {decimal}: write . or ,")
    test_rows = [option for option, value in {"--test": test, "--time": time}.items() if value is not None]
    if len(test_rows) > 1:
        raise OwnDataError("--test and --time both choose the test rows: leave one out")
    for option, value in {"--group, or groups in the file,": table.groups, "--cv": n_folds}.items():
        if value is not None and test_rows:
            raise OwnDataError(f"{option} makes folds, and {test_rows[0]} needs none: leave one out")
    if time is not None:
        table = table.rows(table.targets.notna().any(axis=1).to_numpy())
        table, test = split_by_time(table, time, decimal, kinds)
        kinds = {name: kind for name, kind in (kinds or {}).items() if name != time}
    if test is not None and table.targets.shape[1] == test.targets.shape[1] == 1:
        test = replace(test, targets=test.targets.set_axis(table.targets.columns, axis=1))
    if test is not None and list(table.targets.columns) != list(test.targets.columns):
        names = [", ".join(map(str, part.targets.columns[:5])) for part in (table, test)]
        raise OwnDataError(
            f"{test.name} has other targets than {table.name}: first {names[1]}, and {names[0]}: give "
            "both the same, in one order"
        )
    parts = [table] if test is None else [table, test]
    targets = pd.concat([part.targets for part in parts], ignore_index=True)
    try:
        target = infer_target(targets, regression, lambda: decimal or _decimal_sign(table))
    except (TypeError, OverflowError, UnicodeDecodeError, KeyError) as error:  # pandas' KeyError names a type
        raise OwnDataError(f"{table.name}: a target must be a number or a text: {error}") from error
    masks = np.split(target.present, [len(table)])
    for part, present in zip(parts, masks, strict=False):
        if not present.any():
            raise OwnDataError(f"{part.name} has no row with a target")
    train = table.rows(masks[0])
    tested = None if test is None else test.rows(masks[1])
    if test is not None and issparse(table.features) != issparse(test.features):
        raise OwnDataError(f"only one of {table.name} and {test.name} is sparse: give both in one form")
    matrix, encoder = _encoded(train, tested, TableEncoder(decimal, kinds))
    n_folds = 0 if test is not None else 5 if n_folds is None else n_folds
    if test is None and not 2 <= n_folds <= len(train):
        raise OwnDataError(f"--cv {n_folds} is not a number of folds from 2 to the {len(train)} rows")
    groups = None if train.groups is None else _codes(train.groups, n_folds)
    if target.kind == "multiclass":
        _check_classes(target.labels[: len(train)], folds=test is None)
    forms = (table.first_column, table.image_shape)
    return Problem(table.name, target, matrix, encoder, len(train), n_folds, groups, *forms)


def _check_classes(labels: np.ndarray, *, folds: bool) -> None:
    """Raise `OwnDataError` unless two classes have training rows, and two rows each where there are folds."""
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2:
        raise OwnDataError(f"all training rows are of one class, {str(classes[0])[:40]!r}")
    if folds and np.sum(counts > 1) < 2:
        raise OwnDataError(
            "fewer than two classes have two rows or more, so no fold can train on two classes"
        )


def _decimal_sign(table: UserTable) -> str:
    if issparse(table.features):
        return "."
    found = []
    for _, column in table.features.items():
        with suppress(ValueError, TypeError, KeyError):  # the encoder says which column has no single values
            found.append(infer_kind(column))
    return decimal_sign(found) or "."


def _encoded(
    train: UserTable, test: UserTable | None, encoder: TableEncoder
) -> tuple[Any, TableEncoder | None]:
    tables = [train] if test is None else [train, test]
    if issparse(train.features):
        if encoder.kinds or encoder.decimal:
            raise OwnDataError(f"{train.name} is sparse: leave --types and --decimal out")
        parts = [table.features for table in tables]
        if len({part.shape[1] for part in parts}) > 1:
            widths = " and ".join(f"{part.shape[1]:,}" for part in parts)
            raise OwnDataError(f"training and test rows have {widths} columns")
        if not train.features.count_nonzero():
            raise OwnDataError(f"{train.name}: all values are 0, so there is nothing to predict from")
        matrix = csr_array(vstack(parts), dtype=np.float32)
        if not np.isfinite(matrix.data).all():
            raise OwnDataError(
                f"{train.name} holds a value that is missing, infinite or too large for float32"
            )
        return matrix, None
    blocks = []
    for table in tables:
        try:
            fitted = encoder.fit(table.features) if table is train else encoder
            blocks.append(fitted.transform(table.features))
        except (ValueError, TypeError, OverflowError) as error:
            raise OwnDataError(f"{table.name}: {error}") from error
    return np.concatenate(blocks), encoder


def _codes(groups: pd.Series, n_folds: int) -> np.ndarray:
    if groups.isna().any():
        raise OwnDataError(f"{int(groups.isna().sum())} rows have no group")
    try:
        codes, values = pd.factorize(as_texts(groups))
    except TypeError as error:
        raise OwnDataError(f"a group must be a number or a text: {error}") from error
    if len(values) == 1:
        raise OwnDataError("all rows are of one group, so none is left to test on: leave --group out")
    if len(values) < n_folds:
        raise OwnDataError(f"{len(values)} groups are too few for {n_folds} folds: use --cv {len(values)}")
    return codes.astype(np.int64)
