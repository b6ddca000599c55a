"""Sums over row blocks give the same wherever they run."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal

from eigenbench import GEM, CalibratedLeastSquares, ClassMoments, SecondOrderLogistic
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.row_blocks import FeatureBlocks

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 900)
    X = rng.normal(size=(900, 12)) + np.eye(4, 12)[y]
    return X.astype(np.float32), y


class Order:
    """Remembers what it was given, in order."""

    def __init__(self):
        self.seen = []

    def add(self, block, index):
        self.seen += index.tolist()
        assert_array_equal(block[:, 0], index)

    def merge(self, other):
        self.seen += other.seen


@pytest.fixture(params=["threading", "loky", "dask"])
def workers(request):
    """Two or three workers of each kind."""
    if request.param == "dask":
        request.getfixturevalue("dask_cluster")
        config = parallel_config("dask")
    else:
        config = parallel_config(request.param, n_jobs=3 if request.param == "threading" else 2)
    with config:
        yield


@pytest.mark.parametrize("workers", [1, 3])
def test_every_row_comes_once_in_order_with_its_part_of_other_arrays(workers):
    index = np.arange(101)
    blocks = FeatureBlocks(np.column_stack([index, index]).astype(float), None)
    with parallel_config("threading", n_jobs=workers):
        assert accumulate(blocks, Order, index).seen == index.tolist()


def test_more_workers_than_rows():
    with parallel_config("threading", n_jobs=8):
        found = ClassMoments.of(np.eye(3), [0, 1, 1])
    assert_array_equal(found.counts, [1, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_moments_are_those_of_one_pass(rows, workers, dtype):
    X, y = rows
    X = (10 * np.abs(X)).astype(dtype)
    once = ClassMoments().update(X, y)
    found = ClassMoments.of(X, y)
    assert_array_equal(found.counts, once.counts)
    assert_allclose(found.sums, once.sums, rtol=1e-6)
    assert_allclose(
        found.second_moments, once.second_moments, rtol=1e-6, atol=1e-6 * once.second_moments.max()
    )


CLASSIFIERS = [
    CalibratedLeastSquares(feature_map=GEM(top=2)),
    SecondOrderLogistic(feature_map=GEM(top=2), random_state=0, max_iter=15),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: type(c).__name__)
def test_classifiers_learn_the_same_from_shards(rows, classifier, workers):
    X, y = rows
    together = classifier.fit(X, y).predict_proba(X)
    with parallel_config("sequential"):
        alone = classifier.fit(X, y).predict_proba(X)
    assert_allclose(together, alone, atol=2e-4)


def test_mapped_rows_travel_as_a_place_in_the_file(tmp_path):
    class IsMapped:
        """One feature: whether the rows lie in a mapped file."""

        def transform(self, rows):
            root = rows
            while isinstance(root, np.ndarray) and not isinstance(root, np.memmap):
                root = root.base
            return np.full((len(rows), 1), float(isinstance(root, np.memmap)))

    X = np.arange(40_000.0).reshape(-1, 4)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    with parallel_config("loky", n_jobs=2):
        assert_allclose(ClassMoments.of(mapped, X[:, 0] > 9).second_moments.sum(0), X.T @ X)
        found = accumulate(FeatureBlocks(np.asarray(mapped), IsMapped()), ClassMoments, X[:, 0] > 9)
    assert_array_equal(found.sums.sum(axis=0), [len(X)])
