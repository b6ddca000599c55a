"""Row blocks cover the rows, stay in their budget and repeat exactly."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

import eigenbench.methods.linalg.row_blocks as module
from eigenbench import RandomDirections
from eigenbench.methods.linalg.row_blocks import FeatureBlocks, row_slices


@given(st.integers(0, 300), st.integers(1, 5000), st.integers(1, 10**6))
def test_slices_cover_all_rows_within_the_budget(n, bytes_per_row, budget):
    slices = row_slices(n, bytes_per_row, budget)
    assert_array_equal(np.concatenate([np.arange(n)[s] for s in slices] or [np.arange(0)]), np.arange(n))
    assert all((s.stop - s.start) * bytes_per_row <= max(budget, bytes_per_row) for s in slices)


class Counting(RandomDirections):
    """Counts how many rows it transforms."""

    rows = 0

    def transform(self, X):
        self.rows += X.shape[0]
        return super().transform(X)


def test_kept_blocks_are_not_computed_again(monkeypatch):
    monkeypatch.setattr(module, "row_slices", lambda n, _: [slice(i, i + 10) for i in range(0, n, 10)])
    X = np.random.RandomState(0).rand(100, 5)
    block_mb = 10 * 16 * 8 / 2**20
    for budget, kept_rows in ((0, 0), (3.5 * block_mb, 30), (1, 100)):
        features = Counting(16, random_state=0).fit(X)
        blocks = FeatureBlocks(X, features, cache_size=budget)
        first, second = (np.vstack([block for _, block in blocks]) for _ in range(2))
        assert_array_equal(first, second)
        assert_array_equal(first, np.vstack([features.transform(X[i : i + 10]) for i in range(0, 100, 10)]))
        assert features.rows == 1 + 2 * 100 - kept_rows + 100


def test_blocks_of_data_are_dense_floats():
    counts = np.arange(12, dtype=np.uint8).reshape(4, 3)
    for X in (counts, sparse.csr_matrix(counts)):
        ((rows, block),) = FeatureBlocks(X, None)
        assert rows == slice(0, 4)
        assert block.dtype == np.float32
        assert_array_equal(block, counts)
    assert FeatureBlocks(counts.astype(float), None).dtype == np.float64
