import numpy as np
import pandas as pd
import pytest

from eigenbench.own_data.table_encoder import TableEncoder

TABLE = pd.DataFrame(
    {
        "size": [1.0, np.inf, None, 4.0],
        "flag": [True, False, True, True],
        "shop": ["b", "a", None, "b"],
        "day": pd.to_datetime(["2024-01-01", "2024-01-03", None, "2024-01-02"]),
        "level": pd.Categorical(["low", "high", "low", "low"]),
        "count": pd.array([1, None, 3, 4], dtype="Int64"),
    }
)


def test_numbers_stay_texts_become_codes_and_dates_days():
    rows = TableEncoder().fit_transform(TABLE)
    assert rows.dtype == np.float32
    expected = [[1, np.nan, np.nan, 4], [1, 0, 1, 1], [1, 0, np.nan, 1], [1, 0, 1, 1], [1, np.nan, 3, 4]]
    np.testing.assert_array_equal(rows[:, [0, 1, 2, 4, 5]].T, expected)
    np.testing.assert_allclose(np.diff(rows[[0, 3, 1], 3]), np.diff(rows[[0, 3, 1], 3])[0])


def test_numbers_far_from_zero_keep_their_differences():
    times = pd.DataFrame({"t": 1.7e9 + np.arange(100.0), "huge": np.linspace(1e200, 9e200, 100)})
    rows = TableEncoder().fit_transform(times)
    assert np.isfinite(rows).all()
    for column in rows.T:
        np.testing.assert_allclose(np.diff(column), np.diff(column).mean(), rtol=1e-3)


def test_columns_that_say_nothing_are_left_out_with_the_reason():
    table = TABLE.assign(unit="cm", empty=None)
    assert TableEncoder().fit(table).left_out_ == {"unit": "constant", "empty": "no value"}
    names = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "x": range(40)})
    assert "40 different texts" in TableEncoder().fit(names).left_out_["name"]
    with pytest.raises(ValueError, match=r"'unit' \(constant\)"):
        TableEncoder().fit(table[["unit"]])


@pytest.mark.parametrize("ids", [np.arange(40), 2 * np.arange(40) + 7, -np.arange(40.0)])
def test_row_numbers_are_left_out_or_said(ids):
    table = pd.DataFrame({"": np.roll(ids, 7), "id": ids, "x": np.arange(40) ** 2 % 11})
    encoder = TableEncoder().fit(table)
    assert encoder.left_out_ == {"": "row numbers"}
    assert len(encoder.notes_) == 1
    assert "'id' changes from row to row as a row number does" in encoder.notes_[0]


@pytest.mark.parametrize(("values", "said"), [([-999, 1, 2, 3], 1), ([5, 99, 40, 70], 0), ([1, 2, 9998], 0)])
def test_a_number_that_may_mean_missing_is_said(values, said):
    notes = TableEncoder().fit(pd.DataFrame({"x": values})).notes_
    assert ["-999 is far from all else" in note for note in notes] == [True] * said


@pytest.mark.parametrize(
    ("table", "kinds", "told"),
    [
        (TABLE, {"sise": "number"}, "no input column 'sise', whose kind is given"),
        (TABLE, {"shop": "number"}, "'shop' holds no numbers of one form"),
        (TABLE.assign(tags=[[1, 2]] * 4), None, "'tags' holds no single values: leave it out"),
    ],
)
def test_what_cannot_be_encoded_is_named(table, kinds, told):
    with pytest.raises(ValueError, match=told):
        TableEncoder(kinds=kinds).fit(table)


def test_a_new_table_may_have_other_columns_and_new_categories():
    encoder = TableEncoder().fit(TABLE)
    new = TABLE.assign(shop="new", extra=1)[reversed([*TABLE.columns, "extra"])]
    rows = encoder.transform(new)
    np.testing.assert_array_equal(rows[:, 2], -1)
    np.testing.assert_array_equal(rows[:, 0], encoder.transform(TABLE)[:, 0])
    with pytest.raises(ValueError, match="no column 'size'"):
        encoder.transform(TABLE.drop(columns="size"))
    with pytest.raises(ValueError, match="'size' should hold numbers"):
        encoder.transform(TABLE.assign(size="large"))


def test_arrays_have_columns_by_number():
    X = np.arange(8.0).reshape(4, 2)
    encoder = TableEncoder().fit(X)
    np.testing.assert_array_equal(encoder.transform(X), X)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame(X)), X)
