"""The expected error over all choices of one example per class, against enumeration."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from eigenbench.methods.classifiers import one_example
from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour


def enumerated(distances, y, tested):
    """Mean over all choices of the error rate on ``tested(choice)``, ties shared."""
    classes = np.unique(y)
    rates = []
    for choice in itertools.product(*(np.flatnonzero(y == label) for label in classes)):
        rows, labels = tested(np.array(choice))
        near = distances[rows][:, choice]
        nearest = near == near.min(axis=1, keepdims=True)
        right = (nearest & (labels[:, None] == classes)).sum(axis=1) / nearest.sum(axis=1)
        rates.append(1 - right.mean())
    return np.mean(rates)


LABELS = np.array([2, 0, 0, 1, 0, 2, 1, 2, 5])


@pytest.mark.parametrize("levels", [None, 3, 1])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_leave_rest_out_error_is_the_mean_over_all_choices(levels, metric):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((9, 2)) if levels is None else rng.randint(levels, size=(9, 2)).astype(float)

    def rest(choice):
        rows = np.setdiff1d(np.arange(9), choice)
        return rows, LABELS[rows]

    expected = enumerated(pairwise_distances(X, metric=metric), LABELS, rest)
    found = OneExampleNearestNeighbour(metric).fit(X, LABELS).leave_rest_out_error()
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("levels", [None, 3])
def test_expected_error_on_queries(levels):
    rng = np.random.RandomState(1)
    draw = (
        rng.standard_normal if levels is None else lambda shape: rng.randint(levels, size=shape).astype(float)
    )
    X, queries = draw((9, 2)), draw((12, 2))
    labels = rng.choice([0, 1, 2, 5, 7], size=12)
    distances = pairwise_distances(queries, X)
    expected = enumerated(distances, LABELS, lambda choice: (np.arange(12), labels))
    model = OneExampleNearestNeighbour().fit(X, LABELS)
    probabilities = model.predict_proba(queries)
    right = probabilities[labels[:, None] == model.classes_].sum()
    assert 1 - right / len(labels) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-12)


def test_blocks_do_not_change_the_result(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randint(4, size=(60, 2)).astype(float), rng.randint(5, size=60)
    whole = OneExampleNearestNeighbour().fit(X, y).leave_rest_out_error()
    cut = one_example.row_slices
    monkeypatch.setattr(one_example, "row_slices", lambda n, size: cut(n, size, block_bytes=3 * size))
    assert OneExampleNearestNeighbour().fit(X, y).leave_rest_out_error() == pytest.approx(whole, abs=1e-13)


def test_no_error_is_exactly_zero_in_spite_of_ties():
    X = np.repeat(np.eye(10), 30, axis=0) * np.tile([5.0, 6.0, 7.0], 100)[:, None]
    assert OneExampleNearestNeighbour().fit(X, np.arange(10).repeat(30)).leave_rest_out_error() == 0


def test_bad_input():
    with pytest.raises(ValueError, match="two classes or more, got 1 class"):
        OneExampleNearestNeighbour().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="no row is left"):
        OneExampleNearestNeighbour().fit(np.eye(3), [1, 2, 3]).leave_rest_out_error()
    with pytest.raises(ValueError, match="metric"):
        OneExampleNearestNeighbour("no such metric").fit(np.eye(3), [1, 2, 2])
