"""Recognition of targets, and targets that cannot be scored."""

import numpy as np
import pandas as pd
import pytest

from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.target import infer_target


def of(*values, **columns):
    return infer_target(pd.DataFrame(columns or {"kind": values}))


@pytest.mark.parametrize(
    ("values", "imbalanced", "told"),
    [
        ([0, 1] * 10, False, "binary"),
        ([True, False] * 10, False, "binary"),
        (["x"] * 39 + ["y"], True, "imbalanced"),
        (["pos", "POS ", "neg"] * 5, False, "labels 'POS ', 'pos' differ by spelling only"),
        (["é", "e\u0301", "n"] * 5, False, "differ by spelling only"),
        (["1", "1.0", "x"] * 5, False, "labels '1', '1.0' differ by spelling only"),
        (["2e5", "2E5", "200000"] * 5, False, "labels '200000', '2E5', '2e5' differ by spelling only"),
        ([2**60, 2**60 + 1] * 10, False, "binary"),
        ([str(2**100), str(2**100 + 1)] * 10, False, "binary"),
        (["3e7654321", "1e99999999999999999999", "red"] * 5, False, "3 classes"),
        (list("abc") * 5, False, "3 classes"),
        ([1.0, 2.0, 3.0] * 5, False, "3 classes"),
        ([*range(60)] * 3, False, "60 classes"),
        ([*"aabbbb", "c"], False, "single row"),
        (["a", "b", None] * 4, False, "4 rows without a target are left out"),
        (["a", "b", "NA"] * 4, False, "'NA' counts as a class: leave it empty if it means missing"),
    ],
)
def test_classes(values, imbalanced, told):
    target = of(*values)
    assert (target.kind, target.imbalanced) == ("multiclass", imbalanced)
    assert told in target.description
    assert "spelling" in told or "spelling" not in target.description
    assert len(target.labels) == target.present.sum()


def test_whole_numbers_of_a_float_column_are_the_classes_that_texts_name():
    target = of(*[1.0, 2.0, None] * 4, *["1", "2"] * 3)
    assert sorted(set(target.labels)) == [1, 2]


def test_several_columns_are_labels():
    target = of(a=[0, 1, 1, 0], b=["yes", "no", "no", "yes"], c=[True, False, True, True])
    assert target.kind == "multilabel"
    assert target.labels.tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 1], [0, 1, 1]]
    assert target.names == ("a", "b", "c")


@pytest.mark.parametrize(
    "values", [[0.5, 1.25, 2.0, 1.0], ["0,5", "1,25", "2,0", "1,0"], ["$0.50", "1.25", "2", "1"]]
)
def test_fractions_are_a_regression(values):
    target = of(*values)
    assert (target.kind, target.labels.tolist()) == ("regression", [0.5, 1.25, 2.0, 1.0])
    assert "numbers from 0.5 to 2" in target.description


def test_whole_numbers_are_a_regression_if_many_differ_or_if_asked_for():
    assert of(*np.arange(500) % 200).kind == "regression"
    few = pd.DataFrame({"kind": [1, 2, 3] * 5})
    assert infer_target(few).kind == "multiclass"
    assert infer_target(few, regression=True).labels.dtype == np.float64
    with pytest.raises(OwnDataError, match="does not hold numbers"):
        infer_target(pd.DataFrame({"kind": list("abab")}), regression=True)
    assert of("007", "07", "7", "007").kind == "multiclass"


def test_a_blank_among_marks_says_that_a_row_has_not_the_label():
    target = of(a=["1.0", None, "1.0", None, None], b=[0, 1, 0, None, 1])
    assert target.labels.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert target.present.tolist() == [True, True, True, False, True]
    assert "a blank in 'a' counts as 0" in target.description
    assert "1 rows with a blank among their labels are left out" in target.description


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"kind": ["x"] * 9}, "one class"),
        ({"kind": [None] * 9}, "no value"),
        ({"kind": [f"name {i}" for i in range(30)]}, "too many for classes: name another"),
        ({"kind": range(30)}, "too many for classes: add --regression"),
        ({"kind": [*"aab"]}, "too few"),
        ({"kind": [*"abcd"]}, "single row"),
        ({"kind": [np.inf, 1.0, 2.0, 1.0]}, "infinite"),
        ({"kind": [1.5, 1.5, 1.5, 1.5]}, "one value"),
        ({"kind": ["0.5", "1.25", "NA", "2"]}, "holds numbers, and in 1 rows other texts such as 'NA'"),
        ({"kind": pd.to_datetime(["2024-01-01", "2024-01-02"] * 3)}, "no class"),
        ({"a": [0, 1, 2, 1], "b": [0, 1, 1, 0]}, "'a' holds '2'"),
        ({"a": [None] * 5, "b": [0, 1, 1, 0, 1]}, "target 'a' is blank in all rows"),
        ({"a": [0, 0, 0, 0], "b": [0, 0, 0, 0]}, "no row has any"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(columns, told):
    with pytest.raises(OwnDataError, match=told) as caught:
        of(**columns)
    assert "\n" not in str(caught.value)
