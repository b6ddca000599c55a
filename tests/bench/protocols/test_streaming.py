"""Learning curves on streams, against the learner fed by hand."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import StandardScaler

from eigenbench.bench.protocols.streaming import StreamingSettings, measure
from eigenbench.datasets.deformed_digits import deformed_digits
from eigenbench.methods.classifiers.doubly_stochastic import DoublyStochasticLogistic

MAP = partial(RBFSampler, gamma=0.05)
LEARNER = {"n_components": 64, "block_size": 32, "batch_size": 100}


@pytest.fixture(scope="module")
def rows(digits):
    X, V, y, v = digits
    return X.astype(np.float32), V.astype(np.float32), y, v


def trial_of(make_trial, rows, **settings):
    return make_trial(StreamingSettings(**{**LEARNER, **settings}), *rows)


def test_the_curve_is_that_of_the_learner_fed_by_hand(make_trial, rows):
    X, V, y, v = rows
    outcome = measure(trial_of(make_trial, rows, stream="deformed", checkpoints=(200, 500))(MAP))
    learner = DoublyStochasticLogistic(MAP(random_state=0), **LEARNER, damping=0.1, random_state=0)
    errors = []
    for made, labels in deformed_digits(X, y, n=500, block=100, seed=0):
        learner.partial_fit(made, labels, classes=np.arange(10))
        errors.append(1 - learner.score(V, v))
    assert outcome.curves["test_error_by_examples_seen"] == [
        (200, pytest.approx(errors[1])),
        (500, pytest.approx(errors[4])),
    ]
    progressive = [np.mean(learner.error_curve_[:2]), np.mean(learner.error_curve_[2:])]
    assert outcome.curves["progressive_error_by_examples_seen"] == [
        (200, pytest.approx(progressive[0])),
        (500, pytest.approx(progressive[1])),
    ]
    assert outcome.metrics["test_error_at_200"] == pytest.approx(errors[1])
    assert outcome.metrics["test_error"] == pytest.approx(errors[4])
    assert outcome.dimension == 64


def test_a_pass_takes_every_row_once(make_trial, rows, monkeypatch):
    X, V, y, v = rows
    marked = np.column_stack([np.arange(1000, dtype=np.float32), X])
    taken = []
    original = DoublyStochasticLogistic.partial_fit

    def partial_fit(self, X, y, classes):
        taken.append((X[:, 0], y))
        return original(self, X, y, classes=classes)

    monkeypatch.setattr(DoublyStochasticLogistic, "partial_fit", partial_fit)
    test_rows = np.column_stack([np.zeros(len(V), dtype=np.float32), V])
    measure(trial_of(make_trial, (marked, test_rows, y, v), checkpoints=(2000,))(MAP))
    order = np.concatenate([numbers for numbers, _ in taken]).astype(int)
    assert np.array_equal(np.sort(order[:1000]), np.arange(1000))
    assert np.array_equal(np.sort(order[1000:]), np.arange(1000))
    assert not np.array_equal(order[:1000], order[1000:])
    assert np.array_equal(np.concatenate([labels for _, labels in taken]), y[order])


def test_steps_before_the_map_see_the_first_rows_only(make_trial, rows, monkeypatch):
    fitted = []
    original = StandardScaler.fit
    monkeypatch.setattr(StandardScaler, "fit", lambda self, X, y=None: fitted.append(X) or original(self, X))
    trial = trial_of(make_trial, rows, checkpoints=(1000,), preparation_rows=250)
    scaled = measure(trial(MAP, StandardScaler()))
    assert [X.shape[0] for X in fitted] == [300]
    assert scaled.metrics["test_error"] < 0.9


def test_a_short_stream_prepares_on_all_of_it(make_trial, rows):
    trial = trial_of(make_trial, rows, checkpoints=(200,), preparation_rows=5_000)
    assert measure(trial(MAP, StandardScaler())).metrics["test_error"] < 1


def test_sparse_rows_are_streamed_as_they_are(make_trial, rows):
    X, V, *labels = rows
    sparse_rows = (sparse.csr_array(X), sparse.csr_array(V), *labels)
    dense, from_sparse = (
        measure(trial_of(make_trial, made, checkpoints=(500,))(MAP)) for made in (rows, sparse_rows)
    )
    assert from_sparse.metrics["test_error"] == pytest.approx(dense.metrics["test_error"], abs=0.005)
