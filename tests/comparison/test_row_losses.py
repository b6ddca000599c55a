import numpy as np
import pytest

from eigenbench.comparison.row_losses import sum_over_splits

TEST_ROWS = {0: [10, 30, 20], 1: [20, 40, 10]}


def test_losses_are_summed_by_row_over_overlapping_test_sets():
    runs = {"b": {0: [1, 0, 1], 1: [1, 0, 0]}, "a": {0: [0.5, 0, 0], 1: [0, 0, 0.25]}}
    losses = sum_over_splits(runs, TEST_ROWS)
    assert losses.methods == ("a", "b")
    np.testing.assert_array_equal(losses.n_tests, [2, 2, 1, 1])
    np.testing.assert_array_equal(losses.totals, [[0.75, 0, 0, 0], [1, 2, 0, 0]])
    assert losses.means.to_dict() == {"a": 0.75 / 6, "b": 0.5}


def test_order_of_methods_rows_and_splits_changes_nothing():
    generator = np.random.default_rng(0)
    rows = {split: generator.permutation(50)[:20] for split in range(3)}
    runs = {m: {split: generator.random(20) < 0.3 for split in rows} for m in "abc"}
    losses = sum_over_splits(runs, rows)
    orders = {split: generator.permutation(20) for split in (2, 0, 1)}
    shuffled = {m: {split: runs[m][split][order] for split, order in orders.items()} for m in "cab"}
    again = sum_over_splits(shuffled, {split: rows[split][order] for split, order in orders.items()})
    assert again.methods == losses.methods
    np.testing.assert_array_equal(again.totals, losses.totals)
    np.testing.assert_array_equal(again.n_tests, losses.n_tests)


def test_a_method_that_lacks_a_split_is_named():
    losses = sum_over_splits({"a": {0: [1, 0, 1], 1: [1, 0, 0]}, "b": {1: [0, 0, 0]}, "c": {}}, TEST_ROWS)
    assert losses.methods == ("a",)
    assert losses.missing == {"b": (0,), "c": (0, 1)}


@pytest.mark.parametrize(
    ("runs", "rows", "match"),
    [
        ({"a": {0: [1, 0]}}, {0: [1, 2, 3]}, r"'a', split 0: expected 3 finite losses"),
        ({"a": {0: [1, np.nan]}}, {0: [1, 2]}, "leave a failed run out"),
        ({"a": {7: [1, 0]}}, {0: [1, 2]}, "split 7, whose test rows are not given"),
        ({"a": {0: [1, 0]}}, {0: [1, 1]}, "split 0 tests no row, or one row twice"),
        ({"a": {0: []}}, {0: []}, "split 0 tests no row"),
        ({"a": {}}, {}, "no split"),
    ],
)
def test_what_does_not_fit_is_refused(runs, rows, match):
    with pytest.raises(ValueError, match=match):
        sum_over_splits(runs, rows)
