"""Numbers and dates that a table holds as text: their forms, found once, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

Kind = Literal["number", "date", "category"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Texts that stand for a missing number or date, in small letters.
MISSING = frozenset(
    {
        *("", "?", "-", "--", "–", "—", "*", ".", "..", "...", "x", "na", "n/a", "n.a.", "na.", "n.d.", "nd"),
        *("nan", "-nan", "null", "(null)", "nil", "none", "missing", "unknown", "tbd", "blank", "(blank)"),
        *("not available", "not applicable", "no data", "undefined", "<na>", r"\n", "#n/a", "#n/a n/a"),
        *("#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!", "1.#ind", "-1.#ind", "1.#qnan"),
        *("inf", "+inf", "-inf", "infinity", "-infinity", "0000-00-00", "0000-00-00 00:00:00"),
    }
)

#: Share of the present values that must have a form.
SHARE = 0.95

_CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY)"
_GROUPS = {".": r"(?:,\d\d)*(?:[,\s'’]\d{3})+", ",": r"(?:[.\s'’]\d{3})+"}
#: By decimal sign: a number with sign, currency or percent, and thousands, also lakhs, in groups of digits.
_NUMBER = {
    sign: re.compile(
        rf"(?P<open>\()?(?P<minus>[-+−])?\s*{_CURRENCY}?\s*(?P<minus2>[-+−])?"
        rf"(?P<digits>[1-9]\d{{0,2}}{groups}(?:{re.escape(sign)}\d*)?"
        rf"|\d+{re.escape(sign)}?\d*|{re.escape(sign)}\d+)"
        rf"(?P<power>[eE][-+]?\d+)?\s*(?:%|{_CURRENCY})?\)?",
        re.IGNORECASE,
    )
    for sign, groups in _GROUPS.items()
}
#: Codes rather than numbers: zeros in front, or more digits than float64 holds.
CODE = re.compile(r"^[-+]?(?:0\d+(?:[.,]\d+)?|\d{16,})$", re.MULTILINE)

#: Days written as whole numbers, such as 20240229.
_DAY_NUMBER, _DAY_FORM = r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", "%Y%m%d"

#: Days and months in either order; with names of months; the year first is ISO's if it has four digits.
_ORDERS = ("%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d")
_DAYS = [order.replace("-", sep) for sep in "/.-" for order in _ORDERS]
_NAMED = ["%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"]
_TIMES = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"]
_CLOCK = ["%H:%M", "%H:%M:%S", "%I:%M %p"]
_ISO = "ISO8601"

#: Different texts that a format is tried on before all are.
_SAMPLE = 200

#: So many numbers with three digits after a point, beside others without one, have thousands.
_MANY = 30


def infer_kind(column: pd.Series, wanted: Kind | None = None) -> tuple[Kind, list[str]]:
    """Find what a column holds, and in which forms it may be written.

    Texts are tried as numbers, then as dates: a form counts if at least 95 % of the values that are present
    have it; other text is a category. Zeros in front, as in ``00042``, and more than 15 digits are codes
    if more than 5 % of the values have them or 95 % are as long; ``20240229`` is a date. Neither is if
    numbers are ``wanted``. Times of day are parts of a day. Forms are the possible decimal signs of numbers
    written as text, or one format of `pandas.to_datetime`; else there are none.
    """
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "date", []
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_complex_dtype(column):
        return "number", []
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category", []
    codes, distinct = pd.factorize(column)
    of_types: tuple[tuple[Kind, Any], ...] = (("number", (Real, Decimal)), ("date", date))
    for kind, types in of_types:
        if len(distinct) and all(isinstance(value, types) for value in distinct):
            return kind, []
    texts = pd.Index([_number_text(value) for value in distinct], dtype=object)
    counts = pd.Series(np.bincount(codes[codes >= 0], minlength=len(texts)), texts)
    counts = counts[~texts.str.lower().isin(MISSING)] if len(texts) else counts
    joined = "\n".join(counts.index)
    if counts.empty or (wanted != "number" and CODE.search(joined) and _are_codes(counts)):
        return "category", []
    if wanted != "number" and _share(counts, counts.index.str.fullmatch(_DAY_NUMBER)):
        return "date", [_DAY_FORM]
    tried = list(_NUMBER) if "," in joined or "." in joined else ["."]
    signs = [sign for sign in tried if _fits(counts, partial(parse_numbers, decimal=sign))]
    if signs and len(tried) == 1:
        return "number", list(_NUMBER)
    if signs:
        return "number", [","] if len(signs) > 1 and _points_are_thousands(counts.index) else signs
    form = _date_format(counts)
    return ("date", [form]) if form else ("category", [])


def decimal_sign(columns: Iterable[tuple[Kind, list[str]]]) -> str | None:
    """Return the decimal sign of a table, from what `infer_kind` finds of its columns; None if they differ.

    It is also None if every column allows both signs.
    """
    only = {forms[0] for kind, forms in columns if kind == "number" and len(forms) == 1}
    return only.pop() if len(only) == 1 else None


def parse_numbers(values: Iterable[Any], decimal: str) -> pd.Series:
    """Return the numbers that texts and floats are, as float64, NaN for those that are none.

    Texts such as ``-1,234.50``, ``$12``, ``5 %`` (5), ``(3)`` (-3), ``1e-3``; the sign ``.`` or ``,`` that is
    not the decimal one may separate thousands.
    """
    found = as_texts(pd.Series(values, dtype=object), _number_text)
    if decimal == ".":
        plain = pd.to_numeric(found, errors="coerce")
        return plain.fillna(found[plain.isna()].map(lambda text: _number(text, decimal))).astype("float64")
    return found.map(lambda text: _number(text, decimal)).astype("float64")


def parse_dates(column: pd.Series, form: str) -> pd.Series:
    """Return days since 1970 as float64, NaN where a value is no date in this form.

    The form of texts is that of `infer_kind`; it is empty for a column of dates, and texts are then ISO's.
    """
    if pd.api.types.is_timedelta64_dtype(column):
        return (column / pd.Timedelta(days=1)).astype("float64")
    values = as_texts(column) if form and not pd.api.types.is_datetime64_any_dtype(column) else column
    dates = pd.to_datetime(values, format=form or _ISO, errors="coerce", utc=True)
    return ((dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)).astype("float64")


def as_text(value: object) -> str:
    """Return a value as text without blanks around it; a whole float without a point."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _number_text(value: object) -> str:
    """Return a value as text that is the same number with either decimal sign: the float 1.5 as 15e-1."""
    if not isinstance(value, float | np.floating) or not np.isfinite(value) or value.is_integer():
        return as_text(value)
    sign, digits, power = Decimal(str(value)).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{power}"


def as_texts(column: pd.Series, text: Callable[[object], str] = as_text) -> pd.Series:
    """Return values as texts; missing ones stay."""
    codes, distinct = pd.factorize(column)
    texts = np.array([*map(text, distinct), np.nan], dtype=object)
    return pd.Series(texts[codes], column.index, name=column.name)


def _number(text: Any, decimal: str) -> float:
    found = _NUMBER[decimal].fullmatch(text) if isinstance(text, str) else None
    if not found:
        return np.nan
    digits = re.sub(rf"[^\d{re.escape(decimal)}]", "", found["digits"]).replace(decimal, ".")
    negative = found["open"] or "-" in (found["minus"] or found["minus2"] or "").replace("−", "-")
    return float(digits + (found["power"] or "")) * (-1.0 if negative else 1.0)


def _fits(counts: pd.Series, parse: Callable[[pd.Index], Any]) -> bool:
    """Return whether enough rows have a value; a few different texts are tried before all are."""
    tried = (counts.iloc[:_SAMPLE], counts)[len(counts) <= _SAMPLE :]
    return all(_share(some, np.asarray(pd.notna(parse(some.index)))) for some in tried)


def _are_codes(counts: pd.Series) -> bool:
    """Return whether values like codes are many, or have no more digits than the others."""
    codes, lengths = counts.index.str.fullmatch(CODE), counts.index.str.len()
    return not _share(counts, ~codes) or _share(counts, lengths >= lengths[codes].max())


def _share(counts: pd.Series, fits: np.ndarray) -> bool:
    return bool(counts.to_numpy()[fits].sum() >= SHARE * counts.sum())


def _points_are_thousands(texts: pd.Index) -> bool:
    """Return whether the only signs are points, and numbers below 1,000 have none."""
    whole = [text for text in texts if "." not in text]
    short = [len(text) <= 3 for text in whole]
    return "," not in "".join(texts) and len(texts) - len(whole) >= _MANY and any(short) and all(short)


def _date_format(counts: pd.Series) -> str | None:
    """Return the only format that the dates have; None where there is none, or day and month may swap."""
    forms = [_ISO, *(day + time for day in (*_DAYS, *_NAMED) for time in _TIMES), *_CLOCK]
    signs = set("".join(counts.index))
    possible = [form for form in forms if form == _ISO or signs.issuperset(re.sub("%.", "", form))]
    parse = partial(pd.to_datetime, errors="coerce", utc=True)
    fitting = [form for form in possible if _fits(counts, partial(parse, format=form))]
    if fitting and (len(fitting) == 1 or fitting[0] == _ISO or "%b" in fitting[0]):
        return fitting[0]
    return None
