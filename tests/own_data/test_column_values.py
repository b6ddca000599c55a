"""Texts as numbers and dates: every form of a table's values, and what stays a category."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.own_data.column_values import as_texts, infer_kind, parse_dates, parse_numbers
from eigenbench.own_data.table_encoder import TableEncoder


def column(*values):
    return pd.Series(values, dtype=object)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1,5", "2,25", "3"], [1.5, 2.25, 3]),
        (["1,234.50", "12"], [1234.5, 12]),
        (["12,34,567.5", "12"], [1234567.5, 12]),
        (["1.234,50", "3"], [1234.5, 3]),
        (["00042", "00043"], [42, 43]),
        (["20240101", "20240102"], [20240101, 20240102]),
        (["1 234,5", "12"], [1234.5, 12]),
        (["1'234.5", "12"], [1234.5, 12]),
        ([*(f"{place}.500" for place in range(1, 31)), "7"], [*range(1500, 31_000, 1000), 7]),
        (["1.500", "0.500"], [1.5, 0.5]),
        (["$12.50", "-$3", "€ 4"], [12.5, -3, 4]),
        (["5%", "7 %", "12 EUR"], [5, 7, 12]),
        (["(12.50)", "−3", "+4"], [-12.5, -3, 4]),
        (["1e-3", "2E5"], [1e-3, 2e5]),
        (["?", "1", "-", ".", "missing", r"\N", "#DIV/0!", ""], [np.nan, 1, *[np.nan] * 6]),
    ],
)
def test_forms_of_numbers(values, numbers):
    found = TableEncoder(kinds={"x": "number"}).fit_transform(
        pd.DataFrame({"x": values, "y": range(len(values))})
    )
    if len(set(numbers)) > 1:
        np.testing.assert_allclose(found[:, 0], numbers, rtol=1e-6)
    assert infer_kind(column(*values), "number")[0] == "number"


@pytest.mark.parametrize(
    ("values", "days"),
    [
        (["2024-01-05", "2024-02-13"], 39),
        (["2024-01-05 10:00:00", "2024-02-13T10:00:00"], 39),
        (["05/01/2024", "13/02/2024"], 39),
        (["01/05/2024", "02/13/2024"], 39),
        (["5.1.2024 10:00", "13.2.2024 10:00"], 39),
        (["5/1/2024 10:00:00.250", "13/2/2024 10:00:00.250"], 39),
        (["5 Jan 2024", "13 Feb 2024"], 39),
        (["Jan 5, 2024", "Feb 13, 2024"], 39),
        (["20240105", "20240213"], 39),
        (["01/05/24", "02/13/24"], 39),
        (["2024-01-05", "0000-00-00", "2024-01-06"], np.nan),
        (["2024-01-05", "9999-12-31"], 2_913_169),
        (["06:00", "18:00"], 0.5),
        ([date(2024, 1, 5), date(2024, 2, 13)], 39),
    ],
)
def test_forms_of_dates(values, days):
    kind, forms = infer_kind(column(*values))
    assert kind == "date"
    found = parse_dates(column(*values), forms[0] if forms else "")
    assert found.diff().iloc[1] == pytest.approx(days, nan_ok=True)


@pytest.mark.parametrize(
    "values",
    [
        ["00042", "00043"],
        ["01001", "02139", "K1A"],
        ["12345678901234567", "2"],
        ["01/02/2024", "03/04/2024"],
        ["24/05/13", "23/06/14"],
        ["1.2.3", "1.2.4"],
        ["10-20", "20-30"],
        ["None", "Mild", "Severe"],
    ],
)
def test_codes_versions_ranges_and_ambiguous_dates_are_categories(values):
    assert infer_kind(column(*values)) == ("category", [])


def test_few_codes_leave_numbers_that_are_shorter_and_are_said():
    numbers = list(map(str, range(50)))
    assert infer_kind(column(*numbers, "007")) == infer_kind(column(*numbers, "1" + 15 * "0"))
    encoder = TableEncoder().fit(pd.DataFrame({"x": [*numbers, "007"]}))
    assert "'x': '007' is read as a number: if it is a code, add --types x=category" in encoder.notes_
    zips = [f"{place}" for place in range(10_000, 10_050)]
    assert infer_kind(column(*zips, "02139")) == ("category", [])
    assert infer_kind(column(*numbers[10:], "007", "008", "009")) == ("category", [])


def test_floats_beside_texts_keep_their_value_with_either_decimal_sign():
    """A column of a workbook or of JSON lines with one word in it."""
    floats = [place + 0.125 for place in range(1, 40)]
    mixed = pd.DataFrame({"x": [*floats, "none", "7"], "y": [f"{place},5" for place in range(41)]})
    for columns in (["x"], ["x", "y"]):
        found = TableEncoder().fit_transform(mixed[columns])
        np.testing.assert_allclose(found[:, 0], [*floats, np.nan, 7])
    fitted = TableEncoder().fit(pd.DataFrame({"x": ["1,5", "2,25"]}))
    np.testing.assert_allclose(fitted.transform(mixed)[:39, 0], floats)


@pytest.mark.parametrize(
    "values", [[1, None, 2.5], [Decimal("1.5"), Decimal(2)], [np.float32(1), 2], [True, False]]
)
def test_objects_that_are_numbers_are_numbers(values):
    assert infer_kind(column(*values)) == ("number", [])


def test_one_column_shows_the_decimal_sign_of_all():
    table = pd.DataFrame({"price": ["1,5", "2,25"], "number": ["1.234", "5.678"]})
    np.testing.assert_allclose(TableEncoder().fit_transform(table), [[1.5, 1234], [2.25, 5678]])
    np.testing.assert_allclose(TableEncoder().fit_transform(table[["number"]])[:, 0], [1.234, 5.678])
    with pytest.raises(ValueError, match="'price' holds no numbers with the decimal sign"):
        TableEncoder(decimal=".").fit(table)


def test_whole_numbers_allow_both_signs_and_what_stays_open_is_said():
    table = pd.DataFrame({"n": ["3", "8"], "price": ["1,100", "2,250"], "size": ["0,5", "1,5"]})
    np.testing.assert_allclose(TableEncoder().fit_transform(table)[0], [3, 1.1, 0.5])
    open_ones = table[["n", "price"]]
    np.testing.assert_allclose(TableEncoder(decimal=",").fit_transform(open_ones)[0], [3, 1.1])
    (note,) = TableEncoder().fit(open_ones).notes_
    assert note.startswith("'price': '1,100' is read as 1100: if it means 1.1, set the decimal sign")


@given(number=st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), decimal=st.sampled_from(".,"))
def test_what_is_written_with_thousands_is_read_again(number, decimal):
    text = f"{number:,.2f}"
    if decimal == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    assert parse_numbers([text], decimal).iloc[0] == pytest.approx(number)


@given(st.lists(st.text(max_size=8) | st.none() | st.floats() | st.integers(), min_size=1, max_size=20))
def test_any_values_have_a_kind_and_its_values(values):
    found = column(*values)
    kind, forms = infer_kind(found)
    if kind == "number" and forms:
        assert len(parse_numbers(as_texts(found).dropna(), forms[0])) == found.notna().sum()
    elif kind == "date" and forms:
        assert len(parse_dates(found, forms[0])) == len(found)
