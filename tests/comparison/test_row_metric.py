import numpy as np
import pytest
from scipy.sparse import csr_array

from eigenbench.comparison.row_metric import RowMetric


def macro_f1(means):
    right, both = np.split(means, 2, axis=-1)
    return (right / np.where(both == 0, 1.0, both)).mean(axis=-1)


def test_influence_on_a_mean_is_the_deviation_of_the_row():
    values = np.random.default_rng(0).normal(size=50)
    found = RowMetric(values[:, None], scale=3.0).influence
    np.testing.assert_allclose(found, 3 * (values - values.mean()) / 50)


def test_influence_gives_the_variance_of_a_ratio():
    """Against the bootstrap of rows."""
    generator = np.random.default_rng(1)
    values = np.column_stack([generator.gamma(2.0, 1.0, 400), generator.gamma(5.0, 1.0, 400)])
    metric = RowMetric(values, lambda means: means[..., 0] / means[..., 1])
    weights = generator.multinomial(400, np.full(400, 1 / 400), size=3000)
    resampled = (weights @ values)[:, 0] / (weights @ values)[:, 1]
    assert np.sqrt(np.sum(metric.influence**2)) == pytest.approx(resampled.std(), rel=0.05)


def test_sparse_and_dense_rows_have_the_same_influence(monkeypatch):
    generator = np.random.default_rng(2)
    values = (generator.random((60, 8)) < 0.3) * 1.0
    dense = RowMetric(values, macro_f1)
    monkeypatch.setattr("eigenbench.comparison.row_metric._BLOCK", 100)
    sparse = RowMetric(csr_array(values), macro_f1)
    assert sparse.value == pytest.approx(dense.value)
    np.testing.assert_allclose(sparse.influence, dense.influence)
