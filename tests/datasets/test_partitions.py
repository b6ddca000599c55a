"""Datasets whose training rows stay in partitions: what is prepared, what is noticed, what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from eigenbench import ClassMoments
from eigenbench.datasets import (
    CatalogueError,
    DatasetUnavailable,
    MalformedData,
    open_prepared,
    verify_prepared,
)

N_TRAIN, N_TEST, D = 240, 80, 4


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N_TRAIN + N_TEST)
    y[:5] = 9
    return (rng.normal(size=(len(y), D)) + np.eye(10, D)[y]).astype(np.float32), y


def files_of(pattern):
    return {part: {"sources": [{"partitions": pattern.format(part)}]} for part in ("train", "test")}


def entry(ending="npy", target=None, **changes):
    form = {"reader": "partitions"} | ({} if target is None else {"target": target})
    return {
        "title": "Own",
        "format": form,
        "parts": {"train": ["train"], "test": ["test"]},
        "expect": {"rows": {"train": N_TRAIN, "test": N_TEST}, "features": D, "classes": 4},
        "files": files_of(f"rows/{{}}-*.{ending}"),
    } | changes


def parts(rows):
    X, y = rows
    for number, part in enumerate(np.split(np.arange(len(y)), 8)):
        yield f"{'train' if number < 6 else 'test'}-{number}", X[part], y[part]


@pytest.fixture
def arrays(rows, own):
    (own.folder / "rows").mkdir()
    for name, X, y in parts(rows):
        np.save(own.folder / "rows" / f"{name}.npy", np.column_stack([X, y]))
    return own.written(own=entry())


def test_the_folder_of_the_catalogue_may_have_any_name(rows, own):
    own.folder /= "run[1]"
    (own.folder / "rows").mkdir(parents=True)
    for name, X, y in parts(rows):
        np.save(own.folder / "rows" / f"{name}.npy", np.column_stack([X, y]))
    assert own.written(own=entry()).prepare().n_train == N_TRAIN


@pytest.fixture
def tables(rows, own):
    (own.folder / "rows").mkdir()
    for name, X, y in parts(rows):
        table = pd.DataFrame(X, columns=list("abcd"))
        table.insert(1, "label", [f"s{label}" for label in y])
        table.to_parquet(own.folder / "rows" / f"{name}.parquet", index=False)
    return own.written(own=entry("parquet", target="label"))


def assert_same_sums(found, rows):
    X, y = rows
    expected = ClassMoments().update(X[:N_TRAIN], np.searchsorted([0, 1, 2, 9], y[:N_TRAIN]))
    assert_array_equal(found.counts, expected.counts)
    np.testing.assert_allclose(found.second_moments, expected.second_moments, rtol=1e-6)


@pytest.mark.parametrize("kind", ["arrays", "tables"])
def test_training_rows_stay_where_they_are_and_test_rows_are_stored(kind, rows, request):
    own = request.getfixturevalue(kind)
    card = own.prepare()
    opened = open_prepared(own.prepared)
    assert (card.n_train, card.n_test, card.n_classes) == (N_TRAIN, N_TEST, 4)
    assert card.classes == (("0", "1", "2", "9") if kind == "arrays" else ("s0", "s1", "s2", "s9"))
    assert sorted(card.arrays) == ["X_test.npy", "X_train.json", "y_test.npy"]
    assert_same_sums(ClassMoments.of_partitions(opened.X_train), rows)
    assert_array_equal(opened.X_test, rows[0][N_TRAIN:])
    assert_array_equal(opened.y_test, rows[1][N_TRAIN:])
    assert opened.y_train is None
    assert f"train ({N_TRAIN}, {D})" in repr(opened)
    assert own.current()


def test_partitions_behind_a_url(rows, own):
    store = pytest.importorskip("fsspec").filesystem("memory")
    for name, X, y in parts(rows):
        with store.open(f"/catalogued/{name}.npy", "wb") as stream:
            np.save(stream, np.column_stack([X, y]))
    own.written(own=entry(files=files_of("memory://catalogued/{}-*.npy"))).prepare()
    assert own.current()
    assert_same_sums(ClassMoments.of_partitions(open_prepared(own.prepared).X_train), rows)
    with store.open("/catalogued/train-0.npy", "ab") as stream:
        stream.write(b" ")
    assert not own.current()


def test_an_edited_partition_is_noticed_and_prepared_again(arrays, rows):
    before = arrays.prepare()
    path = arrays.folder / "rows/train-2.npy"
    changed = np.load(path)
    changed[0, 0] += 1
    np.save(path, changed)
    assert not arrays.current()
    with pytest.raises(MalformedData, match=r"train-2\.npy, partition: changed since it was prepared"):
        verify_prepared(arrays.prepared)
    after = arrays.prepare()
    assert arrays.current()
    assert before.arrays["X_train.json"].sha256 != after.arrays["X_train.json"].sha256
    assert before.arrays["X_test.npy"] == after.arrays["X_test.npy"]


def test_a_new_and_a_missing_partition_are_noticed(arrays):
    arrays.prepare()
    path = arrays.folder / "rows/train-2.npy"
    content = path.read_bytes()
    path.unlink()
    assert not arrays.current()
    with pytest.raises(MalformedData, match=r"train-2\.npy, partition: missing"):
        verify_prepared(arrays.prepared)
    with pytest.raises(MalformedData, match="200 rows in 5 partitions, the catalogue says 240"):
        arrays.prepare()
    assert not (arrays.prepared / "card.json").exists()
    path.write_bytes(content)
    arrays.prepare()
    (arrays.folder / "rows/train-9.npy").write_bytes(content)
    assert not arrays.current()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("train-3", lambda t: t.rename(columns={"c": "e"}), r"train-3\.parquet has other columns"),
        ("test-7", lambda t: t.drop(columns="d"), r"test-7\.parquet has other columns"),
        ("train-4", lambda t: t.assign(c=np.float32(np.nan)), r"train-4\.parquet: .* empty places"),
        ("train-4", lambda t: t.assign(c=np.float32(np.inf)), r"train-4\.parquet: a value is NaN, infinite"),
        ("test-6", lambda t: t.assign(label="s8"), r"test-6\.parquet: class 's8' has no training row"),
        ("train-1", lambda t: t.assign(label="new"), "5 classes in the training partitions"),
        ("train-1", lambda t: t[:-1], "239 rows in 6 partitions"),
        ("test-6", lambda t: t[:-1], "79 rows in 2 partitions"),
    ],
)
def test_a_partition_of_another_kind_is_named_and_leaves_no_card(tables, name, change, message):
    path = tables.folder / "rows" / f"{name}.parquet"
    change(pd.read_parquet(path)).to_parquet(path, index=False)
    with pytest.raises(MalformedData, match=message):
        tables.prepare()
    left = [file.name for file in tables.prepared.iterdir()]
    assert not [file for file in left if file == "card.json" or file.startswith(".")]


def test_fractions_as_labels_are_refused(arrays):
    path = arrays.folder / "rows/train-0.npy"
    np.save(path, np.load(path) + 0.25)
    with pytest.raises(MalformedData, match=r"train-0\.npy: label .* is not a whole number"):
        arrays.prepare()


def test_a_file_in_both_parts_is_refused(arrays):
    files = files_of("rows/{}-*.npy") | {"train": {"sources": [{"partitions": "rows/*.npy"}]}}
    with pytest.raises(MalformedData, match=r"test-6\.npy is for training and for the test"):
        arrays.written(own=entry(files=files)).prepare()


def test_a_pattern_without_files_makes_the_dataset_unavailable(arrays):
    with pytest.raises(DatasetUnavailable, match=r"no file .*elsewhere"):
        arrays.written(own=entry(files=files_of("elsewhere/{}-*"))).prepare()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sparse": True}, "dense float32 rows"),
        ({"target": "multilabel"}, "dense float32 rows"),
        ({"missing": True}, "dense float32 rows"),
        ({"format": {"reader": "arrays"}}, "go together"),
        ({"files": {part: {"sources": [{"path": part}]} for part in ("train", "test")}}, "together"),
        ({"files": {"train": {"sources": [{"partitions": "../x"}]}}}, "neither a path"),
    ],
)
def test_what_the_catalogue_refuses(arrays, changes, message):
    with pytest.raises(CatalogueError, match=message):
        arrays.written(own=entry() | changes)
