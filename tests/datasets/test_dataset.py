"""Opening prepared data: types, splits, scaling, and damage."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from small_table import prepared

from eigenbench.bench.code_hash import import_closure
from eigenbench.datasets import MalformedData, load, open_prepared


def test_digits_are_scikit_learn_digits():
    data = load("digits")
    expected = load_digits()
    X = np.concatenate([data.X_train, data.X_test]) * 16
    y = np.concatenate([data.y_train, data.y_test])
    order, wanted = np.lexsort([*X.T, y]), np.lexsort([*expected.data.T, expected.target])
    np.testing.assert_array_equal(X[order], expected.data[wanted])
    np.testing.assert_array_equal(y[order], expected.target[wanted])
    assert (data.X_train.dtype, data.y_train.dtype) == (np.float32, np.int64)
    assert data.classes == [str(digit) for digit in range(10)]
    assert (len(data.X_train), len(data.X_test)) == (data.card.n_train, data.card.n_test)


def test_seeds_draw_different_splits_of_the_same_rows(make):
    make()
    splits = [open_prepared(prepared(), split_seed=seed) for seed in (0, 0, 1)]
    rows = [np.sort(np.concatenate([data.X_train[:, 0], data.X_test[:, 0]])).tolist() for data in splits]
    assert rows[0] == rows[1] == rows[2] == list(range(30))
    np.testing.assert_array_equal(splits[0].X_test, splits[1].X_test)
    assert splits[0].X_test.tolist() != splits[2].X_test.tolist()
    assert np.bincount(splits[2].y_test).tolist() == [2, 2, 2]


def test_rows_of_official_files_are_sampled_by_the_seed(make):
    make(
        parts={"train": ["table.csv"], "test": ["table.csv"]},
        expect={"rows": {"train": 30, "test": 30}, "features": 2, "classes": 3},
        split={"kind": "sampled", "max_train": 12, "max_test": 6, "stratify": True},
    )
    data = [open_prepared(prepared(), split_seed=seed) for seed in (0, 1)]
    for one in data:
        assert (one.card.n_train, one.card.n_test) == (len(one.X_train), len(one.X_test)) == (12, 6)
        assert np.bincount(one.y_train).tolist() == [4, 4, 4]
        np.testing.assert_array_equal(one.X_train[:, 0].astype(int) % 3, one.y_train)
        np.testing.assert_array_equal(one.X_test[:, 0].astype(int) % 3, one.y_test)
    assert data[0].X_train.tolist() != data[1].X_train.tolist()


def test_float_arrays_of_a_fixed_split_are_read_only_maps(make):
    make(split={"kind": "first", "n_train": 20})
    data = open_prepared(prepared())
    assert isinstance(data.X_train, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        data.X_train[0, 0] = 1


def test_bytes_are_scaled(make):
    make(dtype="uint8", scale=4.0)
    data, stored = open_prepared(prepared()), np.load(prepared() / "X_all.npy")
    assert (data.X_train.dtype, stored.dtype) == (np.float32, np.uint8)
    both = np.concatenate([data.X_train, data.X_test])
    np.testing.assert_array_equal(np.sort(both[:, 0]), np.sort(stored[:, 0] / np.float32(4)))


@pytest.mark.parametrize("name", ["X_all.npy", "y_all.npy"])
def test_a_missing_or_truncated_array_is_named(make, name):
    make()
    path = prepared() / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(MalformedData, match=rf"{name}.*prepare the dataset again"):
        open_prepared(path.parent)
    path.unlink()
    with pytest.raises(MalformedData, match=name):
        open_prepared(path.parent)


def test_code_that_opens_data_does_not_depend_on_how_they_are_made():
    opened = import_closure(["eigenbench.datasets.dataset", "eigenbench.datasets.card"])
    assert "eigenbench.datasets.splits" in opened
    making = [f"eigenbench.datasets.{name}" for name in ("catalogue", "preparing", "readers", "sources")]
    assert not opened & set(making), "else each reader that changes would have all runs made again"


def rows_of(X):
    return {row.tobytes() for row in X}


def test_smaller_training_sets_are_nested_with_their_share_of_each_class():
    data = load("digits")
    parts = [data.smaller(3, train_rows=size) for size in (60, 300)]
    assert [len(part.X_train) for part in parts] == [60, 300]
    assert rows_of(parts[0].X_train) < rows_of(parts[1].X_train) < rows_of(data.X_train)
    assert np.ptp(np.bincount(parts[0].y_train)) <= 2
    assert parts[0].X_test is data.X_test
    assert rows_of(data.smaller(4, train_rows=60).X_train) != rows_of(parts[0].X_train)
    with pytest.raises(ValueError, match=f"'train_rows' is 5000, and there are {len(data.X_train)}"):
        data.smaller(0, train_rows=5000)


def test_fewer_classes_have_all_their_training_and_test_rows():
    data = load("digits")
    few, more = (data.smaller(3, classes=size) for size in (2, 5))
    assert set(few.classes) < set(more.classes) < set(data.classes)
    for part in ("train", "test"):
        y = getattr(data, f"y_{part}")[
            np.isin(getattr(data, f"y_{part}"), [int(name) for name in few.classes])
        ]
        np.testing.assert_array_equal(np.array(few.classes, int)[getattr(few, f"y_{part}")], y)
    np.testing.assert_array_equal(data.X_test[np.isin(data.test_rows, few.test_rows)], few.X_test)
    with pytest.raises(ValueError, match="'classes' is 11, and there are 10 classes"):
        data.smaller(0, classes=11)
