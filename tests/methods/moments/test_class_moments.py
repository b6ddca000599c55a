"""ClassMoments: exact sums, merging, files and bad input."""

import io
import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from eigenbench import ClassMoments
from eigenbench.methods.moments import class_moments, class_sums

FIELDS = ("classes", "counts", "sums", "second_moments")


@st.composite
def labelled_rows(draw, max_rows=40):
    n = draw(st.integers(1, max_rows))
    d = draw(st.integers(1, 6))
    rng = np.random.RandomState(draw(st.integers(0, 2**31)))
    X = rng.randint(-9, 10, size=(n, d)).astype(draw(st.sampled_from([np.float32, np.float64])))
    y = rng.randint(0, 5, size=n)
    return X, np.array(["e", "d", "c", "b", "a"])[y] if draw(st.booleans()) else y


def assert_equal(a, b):
    for name in FIELDS:
        assert_array_equal(getattr(a, name), getattr(b, name))


@given(labelled_rows())
def test_equals_the_definition(data):
    X, y = data
    moments = ClassMoments().update(X, y)
    assert_array_equal(moments.classes, np.unique(y))
    for i, label in enumerate(np.unique(y)):
        rows = X[y == label].astype(float)
        assert moments.counts[i] == len(rows)
        assert_array_equal(moments.sums[i], rows.sum(axis=0))
        assert_array_equal(moments.second_moments[i], rows.T @ rows)
        assert_allclose(moments.conditional(i), rows.T @ rows / len(rows))
        assert_allclose(
            moments.covariance(i), np.cov(rows.T, bias=True).reshape(moments.covariance(i).shape), atol=1e-9
        )
    assert_array_equal(moments.total(), X.T.astype(float) @ X)


@given(labelled_rows(), st.integers(0, 40), st.integers(0, 40))
def test_shards_merge_to_one_pass_in_any_order(data, cut1, cut2):
    X, y = data
    a, b = sorted((cut1 % (len(y) + 1), cut2 % (len(y) + 1)))
    parts = [
        ClassMoments().update(X[s], y[s]) for s in (slice(0, a), slice(a, b), slice(b, None)) if len(y[s])
    ]
    whole = ClassMoments().update(X, y)
    assert_equal(sum(parts, start=ClassMoments()), whole)
    assert_equal(sum(parts[::-1], start=ClassMoments()), whole)
    streamed = ClassMoments()
    for s in (slice(b, None), slice(0, a), slice(a, b)):
        if len(y[s]):
            streamed.update(X[s], y[s])
    assert_equal(streamed, whole)


def test_merging_leaves_the_parts_alone():
    a, b = ClassMoments().update([[1.0]], [0]), ClassMoments().update([[2.0]], [0])
    merged = a + b
    merged.update([[5.0]], [0])
    assert a.second_moments[0, 0, 0] == 1
    assert b.second_moments[0, 0, 0] == 4


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.empty((0, 2)), [], "0 sample"),
        (np.ones((3, 2)), [0, 1], "inconsistent numbers of samples"),
        (np.ones((2, 3)), [0, 1], "3 features, but the moments so far have 2"),
        (np.ones((2, 2)), ["a", "b"], "either strings or numbers"),
        (np.ones((2, 2)), [0.0, np.nan], "NaN"),
        (np.ones((2, 2)), [None, None], "None"),
        ([[1.0, 1.0], [1.0, np.nan], [1.0, 1.0]], [0, 1, 2], "(?i)nan"),
        ([[1.0, 1.0], [1.0, np.inf], [1.0, 1.0]], [0, 1, 2], "infinity"),
    ],
)
def test_bad_rows_give_clear_errors_and_nothing_is_added(X, y, message):
    moments = ClassMoments().update(np.ones((2, 2)), [0, 1])
    with pytest.raises((ValueError, TypeError), match=message):
        moments.update(X, y)
    assert_array_equal(moments.counts, [1, 1])


def test_merging_different_widths_is_refused():
    with pytest.raises(ValueError, match="3 features"):
        ClassMoments().update(np.ones((2, 2)), [0, 1]) + ClassMoments().update(np.ones((2, 3)), [0, 1])


@settings(max_examples=10)
@given(labelled_rows())
def test_files_round_trip(tmp_path_factory, data):
    X, y = data
    path = tmp_path_factory.mktemp("moments") / "m.npz"
    moments = ClassMoments().update(X, y)
    moments.save(path)
    assert_equal(ClassMoments.load(path), moments)
    assert [p.name for p in path.parent.iterdir()] == ["m.npz"]


def test_other_and_damaged_files_are_named(tmp_path):
    good = tmp_path / "good.npz"
    ClassMoments().update(np.arange(200.0).reshape(4, 50), np.array(list("dcba"), dtype=object)).save(good)
    assert ClassMoments.load(good).classes.tolist() == list("abcd")
    content, stream, pickled = good.read_bytes(), io.BytesIO(), io.BytesIO()
    np.savez(stream, classes=np.arange(2), counts=np.arange(3), sums=np.ones(2), triangles=np.ones(1))
    np.savez(pickled, classes=np.array([{}], dtype=object))
    cases = {
        "truncated.npz": content[: len(content) // 2],
        "altered.npz": content[:5000] + bytes([content[5000] ^ 255]) + content[5001:],
        "empty.npz": b"",
        "text.npz": b"hello",
        "other.npz": stream.getvalue(),
        "pickled.npz": pickled.getvalue(),
    }
    for name, data in cases.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=f"{name} is not a moments file"):
            ClassMoments.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        ClassMoments.load(tmp_path / "absent.npz")


def shifted_rows(mean, n=6000):
    """Three classes of 20 features with a spread of about one around a mean, in float32."""
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=n)
    X = rng.randn(n, 20) * np.linspace(0.5, 1.5, 20) + rng.randn(3, 20)[y] + mean
    X[:, 3] -= mean
    return X.astype(np.float32), y


@pytest.mark.parametrize("mean", [0.0, 1e3, -3e3, 1e5])
def test_single_precision_keeps_the_covariance_whatever_the_mean(mean, monkeypatch):
    X, y = shifted_rows(mean)
    monkeypatch.setattr(class_sums, "row_slices", lambda n, *_: [slice(0, 2500), slice(2500, n)])
    found, exact = ClassMoments().update(X, y), ClassMoments().update(X.astype(np.float64), y)
    assert_array_equal(found.counts, exact.counts)
    assert_allclose(found.second_moments, exact.second_moments, rtol=1e-6, atol=1e-6 * len(X))
    for i in range(3):
        rows = X[y == i].astype(np.float64)
        # What float64 itself loses of a raw second moment grows with the square of the mean.
        tolerance = 1e-5 + 1e-15 * mean**2
        assert_allclose(found.covariance(i), np.cov(rows.T, bias=True), atol=tolerance)


def test_constant_features_and_single_rows_are_exact_in_single_precision():
    X = np.array([[1e6 + 1, 0.1, 0], [1e6 + 3, 0.1, 0], [7, 0.1, 5]], dtype=np.float32)
    found = ClassMoments().update(X, [0, 0, 1])
    exact = ClassMoments().update(X.astype(np.float64), [0, 0, 1])
    assert_allclose(found.second_moments, exact.second_moments, rtol=1e-14)


@pytest.fixture
def little_room(monkeypatch):
    """Rows of many classes wait in a buffer that holds 100 of them."""
    monkeypatch.setattr(class_moments, "WAITING_BYTES", 100 * 5 * 4)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_wait_for_others_of_their_class_are_all_added(little_room, dtype, weighted):
    rng = np.random.RandomState(0)
    X, y = rng.randint(0, 9, size=(700, 5)).astype(dtype), rng.randint(0, 60, size=700)
    w = rng.randint(1, 4, size=700).astype(float) if weighted else None
    moments = ClassMoments()
    for start in range(0, 700, 70):
        here = slice(start, start + 70)
        moments.update(X[here], y[here], None if w is None else w[here])
    repeated = np.repeat(np.arange(700), 1 if w is None else w.astype(int))
    for i, label in enumerate(moments.classes):
        rows = X[repeated[y[repeated] == label]].astype(float)
        assert moments.counts[i] == len(rows)
        assert_array_equal(moments.sums[i], rows.sum(axis=0))
        assert_allclose(moments.second_moment(i), rows.T @ rows, rtol=1e-6)


def test_blocks_of_several_types_with_and_without_weights_add_up(little_room):
    rng = np.random.RandomState(1)
    X, y = rng.randint(0, 9, size=(90, 5)), rng.randint(0, 7, size=90)
    found = ClassMoments().update(X[:30].astype(np.uint8), y[:30])
    found.update(sparse.csr_array(X[30:60].astype(float)), y[30:60], np.ones(30)).update(X[60:], y[60:])
    assert_equal(found, ClassMoments().update(X.astype(float), y))


def test_sums_that_are_sent_take_waiting_rows_along():
    moments = ClassMoments().update(np.eye(3), [0, 1, 1])
    arrived = pickle.loads(pickle.dumps(moments.update(np.ones((1, 3)), [2])))
    assert_array_equal(arrived.counts, [1, 2, 1])
    assert_equal(arrived, moments)


def test_moments_that_are_done_can_be_read_by_threads():
    rng = np.random.RandomState(0)
    X, y = rng.randn(3000, 30).astype(np.float32), rng.randint(0, 300, size=3000)
    moments = ClassMoments.of(X, y)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(moments.second_moment, list(range(300)) * 4))
    for i, second_moment in enumerate(found):
        rows = X[y == i % 300].astype(float)
        assert_allclose(second_moment, rows.T @ rows, rtol=1e-5, atol=1e-4)


def test_few_rows_of_a_class_wait():
    rng = np.random.RandomState(0)
    moments, rows = ClassMoments(), rng.randn(200, 50)
    for _ in range(100):
        moments.update(rows, np.arange(200) % 4)
    assert len(pickle.dumps(moments)) < 2**18
    tracemalloc.start()
    for _ in range(100):
        moments.update(rows, np.arange(200) % 4)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 5 * 256 * 4 * rows[0].nbytes
