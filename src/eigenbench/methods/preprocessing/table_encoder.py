"""From a table of a user, with texts and dates, to a matrix of numbers and category codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

#: Texts with more different values than this share of the rows, and than this number, are names or free text.
_MOST_DISTINCT, _FEW_VALUES = 0.5, 30

#: Numbers further from zero than this many of their spreads would lose digits in float32.
_FAR = 1e3

_DAY = pd.Timedelta(days=1)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn the columns of a table into float32 numbers: texts into codes, dates into days.

    It learns of each column only what kind it is, its categories and, where its numbers are too large for
    float32, an origin and a unit; nothing of the target. So it may see all rows, those of a test included.

    Columns are left out where all values are equal or missing, and texts where nearly every row has its own.

    Attributes
    ----------
    columns_ : list of str
        Names of the columns that are used.
    kinds_ : list of {"number", "date", "category"}
        What each is.
    categories_ : list of list of str
        Of each column that is a category, in the order of the codes; empty for others.
    origins_, units_ : list of float
        What is subtracted from the numbers of a column, and what they are divided by: 0 and 1 for most.
    left_out_ : dict
        Why, by the name of a column that isn't used.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.5, 2.0, None], "colour": ["red", "blue", "red"], "unit": "cm"})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
    array([[1.5, 1. ],
           [2. , 0. ],
           [nan, 1. ]], dtype=float32)
    >>> encoder.left_out_
    {'unit': 'constant'}
    """

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Find the kind of every column.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, d)
            The table.
        y : None
            Ignored.

        Returns
        -------
        TableEncoder
            The estimator itself.

        Raises
        ------
        ValueError
            If no column can be used.
        """
        table = _table(X)
        self.columns_, self.kinds_, self.categories_ = [], [], []
        self.origins_, self.units_, self.left_out_ = [], [], {}
        for name in table.columns:
            column = table[name]
            kind = _kind(column)
            values = _texts(column) if kind == "category" else _numbers(column, kind)
            if reason := _useless(values, kind):
                self.left_out_[name] = reason
                continue
            origin, unit = (0.0, 1.0) if kind == "category" else _origin_and_unit(values)
            self.columns_.append(name)
            self.kinds_.append(kind)
            self.categories_.append(sorted(values.dropna().unique()) if kind == "category" else [])
            self.origins_.append(origin)
            self.units_.append(unit)
        if not self.columns_:
            raise ValueError(f"no column to predict from: {_listed(self.left_out_)}")
        self.n_features_in_ = table.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers and codes of a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, d)
            A table with the columns that are used; others don't matter.

        Returns
        -------
        ndarray of float32, shape (n_samples, number of columns that are used)
            NaN for missing and infinite values, -1 for a category that `fit` did not see.

        Raises
        ------
        ValueError
            If a column is missing, or holds texts in place of numbers.
        """
        check_is_fitted(self)
        table = _table(X)
        out = np.empty((len(table), len(self.columns_)), dtype=np.float32)
        for place, (name, kind) in enumerate(zip(self.columns_, self.kinds_, strict=True)):
            if name not in table.columns:
                raise ValueError(f"the table has no column {name!r}")
            if kind == "category":
                texts = _texts(table[name])
                codes = pd.Index(self.categories_[place]).get_indexer(texts).astype(np.float32)
                out[:, place] = np.where(texts.isna(), np.nan, codes)
            else:
                numbers = _numbers(table[name], kind).to_numpy(dtype=np.float64, na_value=np.nan)
                out[:, place] = (numbers - self.origins_[place]) / self.units_[place]
        return out

    @property
    def categorical(self) -> list[int]:
        """The places of the columns that hold codes."""
        return [place for place, kind in enumerate(self.kinds_) if kind == "category"]


def _table(X: Any) -> pd.DataFrame:
    """Return a table whose columns are named by texts; those of an array by their numbers."""
    table = pd.DataFrame(X)
    return table.set_axis([str(name) for name in table.columns], axis=1)


def _kind(column: pd.Series) -> str:
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "date"
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return "number"
    return "category"


def _numbers(column: pd.Series, kind: str) -> pd.Series:
    """Return a column as float64, dates as days since 1970, without infinite values."""
    if kind == "date":
        if pd.api.types.is_timedelta64_dtype(column):
            return (column / _DAY).astype("float64")
        dates = pd.to_datetime(column, errors="coerce", utc=True)
        return ((dates - pd.Timestamp(0, tz="UTC")) / _DAY).astype("float64")
    try:
        numbers = pd.to_numeric(column).astype("float64")
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {column.name!r} should hold numbers: {error}") from error
    return numbers.where(np.isfinite(numbers))


def _texts(column: pd.Series) -> pd.Series:
    """Return the values as texts; whole numbers without a point, so that 1 and 1.0 are one category."""
    present = column.dropna().map(_text)
    return present.reindex(column.index).astype(object) if len(present) < len(column) else present


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _useless(values: pd.Series, kind: str) -> str | None:
    distinct = values.nunique()
    if distinct == 0:
        return "no value"
    if distinct == 1 and not values.isna().any():
        return "constant"
    if kind == "category" and distinct > max(_FEW_VALUES, _MOST_DISTINCT * len(values)):
        return f"{distinct:,} different texts in {len(values):,} rows"
    return None


def _origin_and_unit(numbers: pd.Series) -> tuple[float, float]:
    """Return 0 and 1 unless float32 would blur or lose the numbers."""
    present = numbers.dropna().to_numpy()
    lowest, highest = float(present.min()), float(present.max())
    largest, spread = max(abs(lowest), abs(highest)), highest / 2 - lowest / 2
    if 1e-30 < spread < 1e30 and largest <= _FAR * spread:
        return 0.0, 1.0
    return (lowest / 2 + highest / 2), (spread or 1.0)


def _listed(reasons: dict[str, str]) -> str:
    shown = [f"{name!r}: {reason}" for name, reason in list(reasons.items())[:5]]
    more = len(reasons) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
