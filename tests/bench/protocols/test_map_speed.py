"""Steps that are timed; never how long they took."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from eigenbench.bench.protocols.map_speed import MapSpeedSettings, measure

NAMES = ("transform_seconds", "fit_seconds", "gemm_ratio", "gemm_cosine_ratio", "transform_memory_mb")


class Recorder(TransformerMixin, BaseEstimator):
    """Returns zeros, holds a scratch array of known size meanwhile, and keeps what it was given."""

    seen: list = []

    def __init__(self, n_components=4):
        self.n_components = n_components

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def transform(self, X):
        self.seen.append((X, self.n_components))
        scratch = np.zeros((3 * 2**20,), dtype=np.uint8)
        return np.zeros((X.shape[0], self.n_components), dtype=np.float32) + scratch[0]


@pytest.fixture
def seen():
    Recorder.seen.clear()
    return Recorder.seen


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((50, 6))


def test_features_vary(make_trial, rows, seen):
    outcome = measure(make_trial(MapSpeedSettings(sizes=(2, 8), rows=20, repeats=3), rows, rows)(Recorder))
    assert set(outcome.metrics) == {f"{name}_at_{size}" for name in NAMES for size in (2, 8)}
    assert all(value > 0 for value in outcome.metrics.values())
    assert [n_components for _, n_components in seen] == [2] * 4 + [8] * 4
    for X, _ in seen:
        assert X.shape == (20, 6)
        assert X.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-5)


def test_inputs_vary(make_trial, rows, seen):
    settings = MapSpeedSettings(vary="n_inputs", sizes=(3, 40), n_components=5, rows=20, repeats=1)
    outcome = measure(make_trial(settings, rows, rows)(Recorder))
    assert [(X.shape[1], n_components) for X, n_components in seen] == [(3, 5)] * 2 + [(40, 5)] * 2
    assert [size for size, _ in outcome.curves["transform_seconds_by_inputs"]] == [3, 40]


def test_sparse_rows_are_made_dense(make_trial, rows, seen):
    trial = make_trial(MapSpeedSettings(sizes=(2,), rows=20, repeats=1), sparse.csr_array(rows), None)
    measure(trial(Recorder))
    assert all(isinstance(X, np.ndarray) for X, _ in seen)


def test_memory_is_what_the_transform_holds(make_trial, rows, seen):
    trial = make_trial(MapSpeedSettings(sizes=(4,), rows=20, repeats=1), rows, rows)
    metrics = measure(trial(Recorder)).metrics
    assert metrics["transform_memory_mb_at_4"] == pytest.approx(3, abs=0.1)
