"""Encode a user's table, with texts and dates, as a matrix of numbers and category codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eigenbench.own_data.column_values import (
    CODE,
    MISSING,
    SHARE,
    Kind,
    as_texts,
    decimal_sign,
    infer_kind,
    parse_dates,
    parse_numbers,
)
from eigenbench.own_data.table import as_table

#: Texts with more different values than this share of the rows, and than this number, are names or free text.
_MOST_DISTINCT, _FEW_VALUES = 0.5, 30

#: Spreads that float32 holds, and what outliers of a column that needs a unit are cut to, in units.
_SPREADS, _FAR = (1e-30, 1e30), 1e4

_FORMS = {",": "decimal comma", "ISO8601": "ISO"}
_KINDS = (("number", "numbers"), ("category", "categories"), ("date", "dates"))


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into float32 numbers: texts into numbers, days or codes.

    A column of texts is tried as numbers (thousands, currency, percent, a decimal comma, markers of missing
    values), then as dates, and is a category otherwise; see `eigenbench.own_data.column_values`. The forms
    are kept, so that test rows and new files are read alike. Nothing is learned of the target, so `fit` may
    see all rows, those of a test included. Columns are left out where all values are equal or missing, where
    texts are different in nearly every row, and where an unnamed column numbers the rows, in any order.

    ``decimal`` is the sign in texts, found in the table if it is None; ``kinds`` names columns that are to be
    ``number``, ``date`` or ``category``. ``left_out_`` has the reason by the name of a column that isn't
    used, and ``notes_`` what a reader should know of the columns. Of each that is used, ``columns_`` has the
    name, ``kinds_`` the kind, ``forms_`` the decimal sign or format of dates of texts, ``categories_`` the
    texts by code, and ``origins_`` what is subtracted from numbers, which are then divided by ``units_``: 0
    and 1 for most.
    """

    def __init__(self, decimal: str | None = None, kinds: Mapping[str, Kind] | None = None):
        self.decimal = decimal
        self.kinds = kinds

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find the kind of every column of a table, pandas' or polars'.

        A ValueError refuses a table without a usable column, and a column of lists or not of its `kinds`.
        """
        table = as_table(X)
        if absent := [name for name in self.kinds or {} if name not in table.columns]:
            raise ValueError(f"there is no input column {absent[0]!r}, whose kind is given")
        found = {name: self._kind_and_forms(table[name]) for name in table.columns}
        known = self.decimal or decimal_sign(found.values())
        sign = known or "."
        used, self.left_out_ = [], {}
        self.notes_: list[str] = []
        for name, (kind, forms) in found.items():
            form = (sign if sign in forms else forms[0]) if forms else ""
            values = _values(table[name], kind, form)
            distinct = np.sort(values.dropna().unique())
            if reason := _reason_to_leave_out(name, values, kind, len(distinct)):
                self.left_out_[name] = reason
                continue
            coded = kind == "category"
            origin, unit = (0.0, 1.0) if coded else _origin_and_unit(values, distinct)
            used.append((name, kind, form, distinct.tolist() if coded else [], origin, unit))
            self._note(name, table[name], values, kind, distinct)
            if len(forms) > 1 and known is None:
                self._note_both_signs(name, table[name], values)
        if not used:
            raise ValueError(f"no column to predict from: {_listed(self.left_out_) or 'there is none'}")
        lists: list[list[Any]] = [*map(list, zip(*used, strict=True))]
        self.columns_, self.kinds_, self.forms_, self.categories_, self.origins_, self.units_ = lists
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers and codes of a table with the columns that are used; others don't matter.

        They are float32: NaN for missing and infinite values, -1 for a category that `fit` did not see, zero
        for what is nearer to zero than 1e-30. A column that is missing, or has more than 5 % of values that
        are not of its kind, is a ValueError.
        """
        check_is_fitted(self)
        table = as_table(X)
        places = [str(place) for place in range(table.shape[1])]
        if list(table) == places and len(places) != self.n_features_in_:
            raise ValueError(f"there are {table.shape[1]:,} columns, not {self.n_features_in_:,} as fitted")
        out = np.empty((len(table), len(self.columns_)), dtype=np.float32)
        for place, (name, kind) in enumerate(zip(self.columns_, self.kinds_, strict=True)):
            if name not in table.columns:
                raise ValueError(f"the table has no column {name!r}")
            values = _values(table[name], kind, self.forms_[place])
            if kind == "category":
                codes = pd.Index(self.categories_[place]).get_indexer(values).astype(np.float32)
                out[:, place] = np.where(values.isna(), np.nan, codes)
            else:
                numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
                scaled = numbers / self.units_[place] - self.origins_[place] / self.units_[place]
                out[:, place] = scaled if self.units_[place] == 1 else np.clip(scaled, -_FAR, _FAR)
        out[np.abs(out) < _SPREADS[0]] = 0.0
        return out

    @property
    def categorical(self) -> list[int]:
        """The places of the columns that hold codes."""
        return [place for place, kind in enumerate(self.kinds_) if kind == "category"]

    def describe(self) -> list[str]:
        """Return lines on the columns: how many of each kind and form, those left out, and the notes."""
        words = []
        for kind, several in _KINDS:
            forms = [form for found, form in zip(self.kinds_, self.forms_, strict=True) if found == kind]
            counts = Counter(_FORMS.get(form, form) for form in forms if form not in ("", "."))
            said = f" ({', '.join(f'{n} {form}' for form, n in counts.items())})" if counts else ""
            if forms:
                words.append(f"{len(forms)} {kind if len(forms) == 1 else several}{said}")
        lines = [f"columns: {', '.join(words)}"]
        if self.left_out_:
            lines.append(f"left out: {_listed(self.left_out_)}")
        return lines + self.notes_

    def _kind_and_forms(self, column: pd.Series) -> tuple[Kind, list[str]]:
        try:
            wanted = (self.kinds or {}).get(str(column.name))
            kind, forms = infer_kind(column, wanted)
        except (TypeError, KeyError) as error:  # a KeyError of pandas names a type
            raise ValueError(
                f"column {column.name!r} holds no single values: leave it out ({error})"
            ) from None
        if wanted == "category":
            return wanted, []
        if wanted not in (None, kind):
            raise ValueError(f"column {column.name!r} holds no {wanted}s of one form, as is asked for")
        if kind == "number" and forms and self.decimal is not None and self.decimal not in forms:
            raise ValueError(
                f"column {column.name!r} holds no numbers with the decimal sign {self.decimal!r}"
            )
        return kind, forms

    def _note_both_signs(self, name: str, column: pd.Series, values: pd.Series) -> None:
        """Note the first number that would be another one with a decimal comma."""
        others = _numbers(column, ",")
        differ = others[(others != values) & others.notna() & values.notna()]
        if len(differ):
            first = differ.index[0]
            self.notes_.append(
                f"{name!r}: {column[first]!r} is read as {values[first]:g}: if it means {differ[first]:g},"
                " set the decimal sign (--decimal ,)"
            )

    def _note(
        self, name: str, column: pd.Series, values: pd.Series, kind: Kind, distinct: np.ndarray
    ) -> None:
        read = kind == "category" or pd.api.types.is_numeric_dtype(column)
        lost = 0 if read else int(values.isna().sum() - column.isna().sum())
        if lost:
            self.notes_.append(f"{name!r}: {lost:,} texts that are no {kind} count as missing")
        if kind == "number" and not read and (code := CODE.search("\n".join(as_texts(column).dropna()))):
            remedy = f"if it is a code, add --types {name}=category"
            self.notes_.append(f"{name!r}: {code[0]!r} is read as a number: {remedy}")
        steps = np.diff(values.to_numpy(dtype=np.float64)) if kind == "number" else np.zeros(1)
        monotone = (steps > 0).all() or (steps < 0).all()
        if monotone and len(values) > _FEW_VALUES and (values % 1 == 0).all():
            self.notes_.append(
                f"{name!r} changes from row to row as a row number does: if it is one, --drop it"
            )
        if kind == "number" and (mark := _mark_of_missing(distinct)):
            self.notes_.append(f"{name!r}: {mark} is far from all else: if it means missing, leave it empty")


def _values(column: pd.Series, kind: Kind, form: str) -> pd.Series:
    """Return a column as texts, numbers or days; more than 5 % of other values are a ValueError."""
    if kind == "category":
        texts = as_texts(column)
        return texts.where(texts != "")
    if kind == "number" and pd.api.types.is_numeric_dtype(column):
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.where(np.isfinite(numbers), numbers, np.nan), column.index)
    values = parse_dates(column, form) if kind == "date" else _numbers(column, form)
    wrong = values.isna() & column.notna()
    if wrong.any():
        texts = as_texts(column[wrong])
        texts = texts[~texts.str.lower().isin(MISSING)]
        if len(texts) > (1 - SHARE) * column.notna().sum():
            raise ValueError(f"column {column.name!r} should hold {kind}s, but holds {texts.iloc[0]!r:.60}")
    return values


def _numbers(column: pd.Series, form: str) -> pd.Series:
    """Return texts or objects as float64, without infinite values."""
    numbers = parse_numbers(column, form) if form else pd.to_numeric(column, errors="coerce")
    return numbers.astype("float64").replace([np.inf, -np.inf], np.nan)


def _reason_to_leave_out(name: str, values: pd.Series, kind: Kind, distinct: int) -> str | None:
    if distinct == 0:
        return "no value"
    if distinct == 1 and not values.isna().any():
        return "constant"
    unnamed = not name or name.startswith("Unnamed: ")
    if kind == "number" and unnamed and values.is_unique and (values % 1 == 0).all():
        return "row numbers"
    if kind == "category" and distinct > max(_FEW_VALUES, _MOST_DISTINCT * len(values)):
        return f"{distinct:,} different texts in {len(values):,} rows"
    return None


def _mark_of_missing(numbers: np.ndarray) -> str:
    """Return the least or largest number if it is made of nines and farther away than all others spread."""
    if len(numbers) > 2:
        for far, rest in ((numbers[0], numbers[1:]), (numbers[-1], numbers[:-1])):
            if re.fullmatch("-?99+", mark := f"{far:.15g}") and abs(far - rest).min() > np.ptp(rest):
                return mark
    return ""


def _origin_and_unit(numbers: pd.Series, distinct: np.ndarray) -> tuple[float, float]:
    """Return 0 and 1 unless float32 would lose numbers: then the median, and the range of the middle half."""
    spread = float(distinct[-1] / 2 - distinct[0] / 2) or abs(float(distinct[0]))
    if _SPREADS[0] < spread < _SPREADS[1]:
        kept = 1 + np.count_nonzero(np.diff(distinct.astype(np.float32)))
        if kept > 0.99 * len(distinct):
            return 0.0, 1.0
    present = numbers.dropna().to_numpy()
    low, origin, high = np.quantile(present / 2, [0.25, 0.5, 0.75])
    unit = (high - low) or np.abs(present / 2 - origin).max() or 1.0
    return float(2 * origin), float(2 * unit if np.isfinite(2 * unit) else unit)


def _listed(reasons: dict[str, str]) -> str:
    shown = [f"{name!r} ({reason})" for name, reason in list(reasons.items())[:5]]
    more = len(reasons) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
