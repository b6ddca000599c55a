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
def from_rows(monkeypatch):
    """Fail where second moments of all classes are formed."""
    monkeypatch.setattr(ClassMoments, "of", lambda *_, **__: pytest.fail("second moments were formed"))


def detectors_agree(found, moments, rtol=1e-7):
    np.testing.assert_allclose(found.eigenvalues_, moments.eigenvalues_, rtol=rtol)
    np.testing.assert_array_equal(found.pairs_, moments.pairs_)
    np.testing.assert_allclose(
        found.detectors_, moments.detectors_, atol=rtol * np.abs(moments.detectors_).max()
    )
    np.testing.assert_allclose(found.offsets_, moments.offsets_, atol=rtol * np.abs(moments.offsets_).max())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"denominator": "covariance"},
        {"gamma": 0.1, "absolute_gamma": True},
        {"gamma": 1e-5},
        {"pairs": "nearest", "n_pairs": 4},
        {"theta": 20.0},
    ],
)
def test_they_are_those_of_the_moments(few_rows, options, request):
    moments = GEM(top=3, **options).fit_moments(ClassMoments.of(*few_rows))
    request.getfixturevalue("from_rows")
    detectors_agree(GEM(top=3, **options).fit(*few_rows), moments)


@pytest.mark.parametrize("kind", [np.float32, np.uint8, sparse.csr_matrix])
def test_rows_of_every_kind(few_rows, kind, request):
    X, y = few_rows
    X = sparse.csr_matrix(np.maximum(X, 0)) if kind is sparse.csr_matrix else (40 * np.abs(X)).astype(kind)
    moments = GEM(top=2).fit_moments(ClassMoments.of(X, y))
    request.getfixturevalue("from_rows")
    detectors_agree(GEM(top=2).fit(X, y), moments, rtol=1e-5)


def test_a_class_without_weight_is_none(few_rows):
    X, y = few_rows
    model = GEM(top=2).fit(X, y, sample_weight=(y != "c").astype(float))
    assert model.classes_.tolist() == ["a", "b"]
    assert np.isfinite(model.detectors_).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 1e-4])
def test_detectors_of_a_class_under_its_neighbors(few_rows, gamma, weighted, request):
    X, y = few_rows
    X = np.hstack([X, X[:, ::-1] ** 2])
    weights = np.random.RandomState(1).uniform(0.5, 2, len(y)) if weighted else None
    method = NeighborhoodGEM(gamma, top=3, n_neighbors=2)
    moments = clone(method).fit_moments(ClassMoments.of(X, y, sample_weight=weights))
    request.getfixturevalue("from_rows")
    found = method.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found.neighbors_, moments.neighbors_)
    np.testing.assert_array_equal(found.denominators_, moments.denominators_)
    np.testing.assert_allclose(found.eigenvalues_, moments.eigenvalues_, rtol=1e-7)
    np.testing.assert_allclose(
        found.detectors_, moments.detectors_, atol=1e-7 * np.abs(moments.detectors_).max()
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_components_of_a_class(few_rows, weighted, request):
    X, y = few_rows
    weights = np.random.RandomState(1).uniform(0.5, 2, len(y)) if weighted else None
    moments = PerClassPCA(3).fit_moments(ClassMoments.of(X, y, sample_weight=weights))
    request.getfixturevalue("from_rows")
    found = PerClassPCA(3).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(found.component_classes_, moments.component_classes_)
    np.testing.assert_allclose(found.eigenvalues_, moments.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(found.components_, moments.components_, atol=1e-8)


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
    """What is in memory beside them follows from the blocks, not from the number of rows."""
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
