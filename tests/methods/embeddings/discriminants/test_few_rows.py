"""Where classes have far fewer rows than inputs: the same directions without second moments."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from eigenbench import GEM, ClassMoments, NeighborhoodGEM, PerClassPCA, SubclassGEM
from eigenbench.methods.embeddings.discriminants import pairs
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.moments import second_moments
from eigenbench.methods.moments.second_moments import ClassRows


@pytest.fixture
def few_rows():
    rng = np.random.RandomState(3)
    y = np.repeat(["a", "b", "c"], [25, 18, 21])
    scales = {label: rng.gamma(1.0, size=120) for label in "abc"}
    X = rng.standard_normal((len(y), 120)) * np.array([scales[label] for label in y]) + 0.3
    shuffled = rng.permutation(len(y))
    return X[shuffled], y[shuffled]


@pytest.fixture
def assert_those_of_moments(monkeypatch):
    """Compare all that a method learns from moments and from rows, of which it forms no second moments."""

    def check(method, X, y, weights=None, rtol=1e-8):
        moments = clone(method).fit_moments(ClassMoments.of(X, y, sample_weight=weights))
        monkeypatch.setattr(ClassMoments, "of", lambda *_, **__: pytest.fail("second moments were formed"))
        found = clone(method).fit(X, y, sample_weight=weights)
        for name in (name for name in vars(moments) if name.endswith("_")):
            mine, theirs = getattr(found, name), np.asarray(getattr(moments, name))
            if name == "eigenvalues_":
                np.testing.assert_allclose(mine, theirs, rtol=rtol)
            elif theirs.dtype.kind == "f":
                np.testing.assert_allclose(mine, theirs, atol=rtol * np.abs(theirs).max(), err_msg=name)
            else:
                np.testing.assert_array_equal(mine, theirs, err_msg=name)

    return check


@pytest.mark.parametrize(
    "method",
    [
        GEM(top=3),
        GEM(top=3, denominator="covariance"),
        GEM(top=3, gamma=0.1, absolute_gamma=True),
        GEM(top=3, gamma=1e-5),
        GEM(top=3, pairs="nearest", n_pairs=4),
        GEM(top=3, theta=20.0),
        NeighborhoodGEM(0.5, top=3, n_neighbors=2),
        NeighborhoodGEM(1e-4, top=3, n_neighbors=2),
        PerClassPCA(3),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_they_are_those_of_the_moments(few_rows, method, weighted, assert_those_of_moments):
    X, y = few_rows
    if isinstance(method, NeighborhoodGEM):
        X = np.hstack([X, X[:, ::-1] ** 2])
    weights = np.random.RandomState(1).uniform(0.5, 2, len(y)) if weighted else None
    assert_those_of_moments(method, X, y, weights)


@pytest.mark.parametrize("kind", [np.float32, np.uint8, sparse.csr_matrix])
def test_rows_of_every_kind(few_rows, kind, assert_those_of_moments):
    X, y = few_rows
    X = sparse.csr_matrix(np.maximum(X, 0)) if kind is sparse.csr_matrix else (40 * np.abs(X)).astype(kind)
    assert_those_of_moments(GEM(top=2), X, y, rtol=1e-5)


def test_a_class_without_weight_is_none(few_rows):
    X, y = few_rows
    model = GEM(top=2).fit(X, y, sample_weight=(y != "c").astype(float))
    assert model.classes_.tolist() == ["a", "b"]
    assert np.isfinite(model.detectors_).all()


@pytest.mark.parametrize("method", [PerClassPCA(20), GEM(top=22)], ids=str)
def test_more_directions_than_rows_determine(few_rows, method):
    """The moments then give further ones, with eigenvalues of zero."""
    X, y = few_rows
    found, moments = clone(method).fit(X, y), clone(method).fit_moments(ClassMoments.of(X, y))
    assert np.isfinite(found.transform(X)).all()
    np.testing.assert_allclose(found.eigenvalues_, moments.eigenvalues_, atol=1e-9)


def test_a_class_of_zeros_is_named(few_rows):
    X, y = few_rows
    X = np.where((y == "b")[:, None], 0, X)
    with pytest.raises(ValueError, match=r"the second_moment of class 'b' \(18 examples\) is zero"):
        GEM(top=1).fit(X, y)


def test_rows_of_many_classes_are_not_copied(monkeypatch):
    """Further memory depends on the blocks, not on the number of rows."""
    monkeypatch.setattr(second_moments, "row_slices", partial(row_slices, block_bytes=2**18))
    monkeypatch.setattr(pairs, "row_slices", partial(row_slices, block_bytes=2**18))
    X = np.random.RandomState(0).standard_normal((20_000, 100)).astype(np.float32)
    y = np.arange(len(X)) % 1000
    moments = ClassMoments.of(X, y)
    tracemalloc.start()
    rows = ClassRows(X, y)
    total = rows.total()
    nearest = pairs.nearest_pairs(rows, 0.5, 2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes
    np.testing.assert_allclose(total, moments.total(), rtol=1e-5, atol=1e-2)
    np.testing.assert_array_equal(nearest, pairs.nearest_pairs(moments, 0.5, 2000))


@pytest.mark.parametrize("rows", ["few", "repeated"])
def test_subclasses_of_few_rows(few_rows, rows, monkeypatch):
    X, y = few_rows
    if rows == "repeated":
        X, y = np.repeat(X[::4], 4, axis=0), np.repeat(y[::4], 4)
    few = SubclassGEM(top=2, n_subclasses=3, random_state=0).fit(X, y)
    monkeypatch.setattr(ClassRows, "serve", lambda *_: False)
    moments = SubclassGEM(top=2, n_subclasses=3, random_state=0).fit(X, y)
    np.testing.assert_allclose(few.eigenvalues_, moments.eigenvalues_, rtol=1e-8, atol=1e-9)
    if rows == "few":
        np.testing.assert_allclose(few.detectors_, moments.detectors_, atol=1e-8)
