"""Moments cut by classes give what all of them at once give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from eigenbench import GEM, SIR, VCA, ClassMoments, FisherLDA, NeighborhoodGEM, OrientedPCA, PerClassPCA
from eigenbench.methods.moments import PooledMoments, StreamedMoments, streamed_moments
from eigenbench.methods.moments.streamed_moments import class_groups, held_classes

N_CLASSES, D = 30, 12

METHODS = [
    GEM(top=3),
    GEM(n_components=40),
    GEM(top=2, pairs="nearest", denominator="covariance"),
    GEM(top=1, pairs="hypercube", random_state=0),
    NeighborhoodGEM(top=2),
    FisherLDA(),
    SIR(n_components=4),
    VCA(),
    OrientedPCA(noise_label=3),
    PerClassPCA(n_components=2),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    y = rng.permutation(np.arange(1500) % N_CLASSES)
    mixing = np.eye(D) + rng.randn(N_CLASSES, D, D) / 3
    X = np.einsum("nd,nde->ne", rng.randn(1500, D), mixing[y]) + rng.randn(N_CLASSES, D)[y]
    return X, y


@pytest.fixture
def five_classes(monkeypatch):
    """Memory for the second moments of five classes."""
    monkeypatch.setattr(streamed_moments, "HELD_MEGABYTES", 5.5 * 8 * D * (D + 1) / 2 / 2**20)
    assert held_classes(D, streamed_moments.HELD_MEGABYTES) == 5


def attributes(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_every_method_finds_the_same_with_memory_for_a_few_classes(rows, five_classes, method, convert):
    X, y = rows
    whole = attributes(type(method)(**method.get_params()).fit_moments(ClassMoments().update(X, y)))
    found = attributes(method.fit(convert(X), y))
    assert found.keys() == whole.keys()
    for name, value in whole.items():
        if np.asarray(value).dtype.kind == "f":
            assert_allclose(found[name], value, rtol=1e-7, atol=1e-8, err_msg=name)
        else:
            assert_array_equal(found[name], value, err_msg=name)


def test_no_more_classes_are_held_than_memory_is_given_for(rows, monkeypatch):
    X, y = rows
    held = []
    original = streamed_moments.HeldMoments.__init__

    def counting(self, every, triangles):
        held.append(sum(triangle.nbytes for triangle in triangles.values()))
        original(self, every, triangles)

    monkeypatch.setattr(streamed_moments.HeldMoments, "__init__", counting)
    megabytes = 7 * 4 * D * (D + 1) / 2**20
    NeighborhoodGEM(top=1).fit_moments(StreamedMoments.of(X, y, megabytes=megabytes))
    assert len(held) >= N_CLASSES / 7
    assert max(held) <= megabytes * 2**20


def test_weights_count_rows(rows, five_classes):
    X, y = rows
    w = np.random.RandomState(1).randint(0, 3, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    for method in (GEM(top=2), FisherLDA(), PerClassPCA()):
        found = method.fit(X, y, sample_weight=w).transform(X)
        assert_allclose(found, method.fit(X[repeated], y[repeated]).transform(X), atol=1e-6)


def test_rows_that_change_between_passes_are_noticed(rows):
    X, y = rows[0], rows[1].copy()
    moments = StreamedMoments.of(X, y, megabytes=0.01)
    y[y == 17] = 18
    with pytest.raises(ValueError, match="class 17 is gone"):
        GEM(top=1).fit_moments(moments)


def test_pooled_moments_are_not_enough_to_compare_classes(rows):
    with pytest.raises(TypeError, match="give it ClassMoments"):
        GEM(top=1).fit_moments(PooledMoments.of(*rows))


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 1000))
def test_groups_have_every_problem_once_and_few_classes(n_problems, r, seed):
    rng = np.random.RandomState(seed)
    needs = np.array([rng.permutation(15)[:r] for _ in range(n_problems)])
    capacity = rng.randint(r, 16)
    groups = list(class_groups(needs, capacity))
    assert sorted(np.concatenate(groups).tolist()) == list(range(n_problems))
    assert all(len(np.unique(needs[group])) <= capacity for group in groups)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 3e3])
@pytest.mark.parametrize("weighted", [False, True])
def test_pooled_moments_are_sums_of_those_of_classes(dtype, offset, weighted):
    rng = np.random.RandomState(3)
    y = rng.randint(0, 40, 4000)
    X = (rng.randn(4000, 6) + offset * rng.randn(40, 6)[y]).astype(dtype)
    w = rng.rand(4000) if weighted else None
    classes = ClassMoments().update(X.astype(np.float64), y, w)
    parts = [slice(0, 1500), slice(1500, None)]
    pooled = sum(
        (PooledMoments().update(X[s], y[s], None if w is None else w[s]) for s in parts),
        start=PooledMoments(),
    )
    assert_array_equal(pooled.classes, classes.classes)
    assert_allclose(pooled.counts, classes.counts)
    assert_allclose(pooled.sums, classes.sums, rtol=1e-6, atol=1e-2)
    means = classes.sums / classes.counts[:, None]
    between = (means * classes.counts[:, None]).T @ means
    within, exact = pooled.total() - between, classes.total() - between
    assert_allclose(within, exact, atol=1e-5 * np.abs(exact).max() + 1e-12 * np.abs(between).max())
