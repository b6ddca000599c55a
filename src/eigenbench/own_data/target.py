"""Recognise what is to be predicted: classes, several labels of a row, or numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, Literal

import numpy as np
import pandas as pd

from eigenbench.own_data.column_values import MISSING, as_text, infer_kind, parse_numbers
from eigenbench.own_data.table import OwnDataError

#: The kind of target, as catalogues name it.
TargetKind = Literal["multiclass", "multilabel", "regression"]

_MOST_CLASSES = 10_000

#: The rarest class has less than this share of what an equal share would be.
_IMBALANCED = 0.2

#: Whole numbers with more different values, and fewer rows of each, are measurements.
_DISTINCT_NUMBERS, _ROWS_OF_EACH = 100, 10

_TRUE, _FALSE = {"1", "1.0", "true", "yes", "y", "t", "x"}, {"0", "0.0", "false", "no", "n", "f"}


@dataclass(frozen=True)
class Target:
    """Target of each row; imbalanced if some class is rare.

    ``present`` are the rows of the table that have a target, and ``labels`` those of these: classes as whole
    numbers or texts, float64 of a regression, or an indicator of uint8, whose columns ``names`` name.
    """

    kind: TargetKind
    imbalanced: bool
    labels: np.ndarray
    names: tuple[str, ...]
    present: np.ndarray
    description: str


def infer_target(
    targets: pd.DataFrame, regression: bool = False, decimal: Callable[[], str] = lambda: "."
) -> Target:
    """Say what the target columns hold: one column of classes or numbers, or several of labels.

    Fractions, and many different whole numbers, are a regression; with ``regression`` all numbers are.
    ``decimal`` returns the sign of texts that allow both. What can't be scored is an `OwnDataError` that says
    what to do.
    """
    if targets.shape[1] > 1:
        if regression:
            raise OwnDataError("--regression predicts one column: name one --target")
        return _labels(targets)
    column = targets.iloc[:, 0]
    present = column.notna().to_numpy()
    values = column[present]
    if values.empty:
        raise OwnDataError(f"target {column.name!r} has no value in any row")
    numbers = _numbers(values, decimal)
    if regression and numbers is None:
        raise OwnDataError(f"target {column.name!r} does not hold numbers: leave --regression out")
    if numbers is not None and (regression or _are_measured(numbers.dropna())):
        if numbers.isna().any():
            raise OwnDataError(
                f"target {column.name!r} holds numbers, and in {numbers.isna().sum():,} rows other texts "
                f"such as {_shown(values[numbers.isna()].iloc[0])}: make these fields empty"
            )
        return _regression(numbers, present)
    return _classes(values, present, numbers is not None)


def _numbers(values: pd.Series, decimal: Callable[[], str]) -> pd.Series | None:
    """Return float64 where values are numbers, NaN for few others; codes such as ``007`` are none."""
    kind, forms = infer_kind(values)
    if kind != "number" or pd.api.types.is_bool_dtype(values):
        return None
    if not forms:
        return values.astype("float64")
    return parse_numbers(values, forms[0] if len(forms) == 1 else decimal())


def _are_measured(numbers: pd.Series) -> bool:
    """Return whether some numbers are fractions, or too many whole ones differ for classes."""
    distinct = numbers.nunique()
    many = distinct > _DISTINCT_NUMBERS and len(numbers) < _ROWS_OF_EACH * distinct
    return many or bool((~np.isfinite(numbers) | (numbers != np.round(numbers))).any())


def _regression(numbers: pd.Series, present: np.ndarray) -> Target:
    values = numbers.to_numpy(dtype=np.float64)
    name, low, high = numbers.name, values.min(), values.max()
    if not np.isfinite(high - low):
        raise OwnDataError(f"target {name!r} holds an infinite number: leave its row out")
    if low == high:
        raise OwnDataError(f"target {name!r} has one value, {low:g}: nothing is left to predict")
    if len(values) < 4:
        raise OwnDataError(f"there are {len(values)} rows with a target: too few to train and to test")
    words = f"regression: numbers from {low:g} to {high:g}" + _left_out(present)
    return Target("regression", False, values, (), present, words)


def _classes(values: pd.Series, present: np.ndarray, numeric: bool) -> Target:
    name = values.name
    labels = _class_labels(values)
    classes, counts = np.unique(labels, return_counts=True)
    n, c = len(labels), len(classes)
    if c == 1:
        raise OwnDataError(
            f"target {name!r} has one class, {_shown(classes[0])}, so there is nothing to predict"
        )
    if c > _MOST_CLASSES or 2 * c > n > 4:
        remedy = "add --regression, or name another column" if numeric else "name another"
        raise OwnDataError(
            f"target {name!r} has {c:,} different values in {n:,} rows, too many for classes: {remedy}"
        )
    if counts.max() == 1:
        raise OwnDataError(f"each class of target {name!r} has a single row: none is left to test on")
    if n < 4:
        raise OwnDataError(f"there are {n} rows with a target: too few to train and to test")
    rarest, single = counts.min(), int(np.sum(counts == 1))
    imbalanced = bool(rarest < _IMBALANCED * n / c)
    words = f"{'binary' if c == 2 else f'{c:,} classes'}"
    if imbalanced:
        name = _shown(classes[counts.argmin()])
        words += f", imbalanced (the rarest, {name}, has {rarest:,} of {n:,} rows)"
    if single:
        words += f"; {single:,} of a single row, which is an error where it is tested"
    alike = pd.Series(classes).astype(str).groupby(lambda place: _spelling(str(classes[place])))
    if near := [names for _, names in alike if len(names) > 1]:
        words += f"; labels {', '.join(map(_shown, near[0]))} differ by spelling only"
    if marks := [label for label in classes if str(label).strip().lower() in MISSING]:
        words += f"; {_shown(marks[0])} counts as a class: leave it empty if it means missing"
    return Target("multiclass", imbalanced, labels, (), present, words + _left_out(present))


def _spelling(label: str) -> str:
    """Return what labels have in common that differ by blanks, capitals, accents' forms or zeros only."""
    text = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
    try:
        exact = Context(prec=max(len(text), 1), Emax=MAX_EMAX, Emin=MIN_EMIN)
        return str(Decimal(text).normalize(exact))
    except ArithmeticError:
        return text


def _class_labels(values: pd.Series) -> np.ndarray:
    """Return labels as whole numbers, if each is written as Python writes one (``007`` is not), or texts."""
    name = values.name
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_complex_dtype(values):
        raise OwnDataError(f"target {name!r} holds {values.dtype}, which is no class")
    if pd.api.types.is_bool_dtype(values):
        return values.astype(str).to_numpy(dtype=str)
    if not pd.api.types.is_numeric_dtype(values):
        texts = values.astype(object).map(lambda one: as_text(one) if isinstance(one, float) else one)
        texts = texts.astype(str)
        whole = texts.str.fullmatch(r"-?[1-9]\d{0,14}|0").all()
        return texts.to_numpy(dtype=np.int64 if whole else str)
    numbers = values.to_numpy(dtype=np.float64)
    if np.abs(numbers).max() >= 2**53:
        return values.astype(str).to_numpy(dtype=str)
    return numbers.astype(np.int64)


def _labels(targets: pd.DataFrame) -> Target:
    held = {name: {as_text(value).lower() for value in targets[name].dropna()} for name in targets}
    # Where all values say that a row has the label, a blank says the opposite.
    marked = [name for name in targets if targets[name].isna().any() and set() < held[name] <= _TRUE]
    filled = targets.astype(dict.fromkeys(marked, object)).fillna(dict.fromkeys(marked, "0"))
    present = filled.notna().all(axis=1).to_numpy()
    kept = filled[present]
    if blank := [name for name in targets if not held[name]]:
        raise OwnDataError(f"target {_shown(blank[0])} is blank in all rows: leave it out")
    if len(kept) < 4:
        raise OwnDataError(f"there are {len(kept)} rows with all targets: too few to train and to test")
    columns = [_indicator(kept[name]) for name in kept.columns]
    matrix = np.stack(columns, axis=1)
    if not matrix.any():
        raise OwnDataError("no row has any of the labels")
    names = tuple(str(name) for name in kept.columns)
    words = f"multilabel: {len(names)} labels, {matrix.sum(axis=1).mean():.2g} of a row"
    if marked:
        words += f"; a blank in {_shown(marked[0])} counts as 0, as the column holds no other"
    if missing := int(np.sum(~present)):
        words += f"; {missing:,} rows with a blank among their labels are left out"
    return Target("multilabel", False, matrix, names, present, words)


def _indicator(column: pd.Series) -> np.ndarray:
    words = column.map(lambda value: as_text(value).lower())
    if unknown := set(words) - _TRUE - _FALSE:
        raise OwnDataError(
            f"several targets are labels that a row has or has not, 0 or 1, "
            f"but {column.name!r} holds {_shown(sorted(unknown)[0])}"
        )
    return words.isin(_TRUE).to_numpy(dtype=np.uint8)


def _shown(value: Any) -> str:
    return repr(str(value)[:40])


def _left_out(present: np.ndarray) -> str:
    missing = int(np.sum(~present))
    return f"; {missing:,} rows without a target are left out" if missing else ""
