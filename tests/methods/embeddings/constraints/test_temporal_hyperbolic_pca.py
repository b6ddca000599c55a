"""Hyperbolic PCA from the order of rows."""

import numpy as np
import pytest

from eigenbench import HyperbolicPCA, TemporalHyperbolicPCA


def turning(n_objects=4, n_views=24, n_features=6, seed=0):
    """Objects that turn: a circle of views each, in one plane, around centres that the seed draws."""
    angle = np.linspace(0, 2 * np.pi, n_views, endpoint=False)
    basis = np.random.default_rng(99).normal(size=(2, n_features))
    centres = np.random.default_rng(seed).normal(size=(n_objects, n_features))
    return np.concatenate([centre + np.c_[np.cos(angle), np.sin(angle)] @ basis for centre in centres])


def recorded_pairs(monkeypatch, X, **params):
    calls = []

    def record(self, X, pairs, r):
        calls.append((np.asarray(pairs), np.asarray(r)))
        return self

    monkeypatch.setattr(TemporalHyperbolicPCA, "fit_pairs", record)
    TemporalHyperbolicPCA(**params).fit(X)
    pairs, r = calls[0]
    return pairs[r == 1], pairs[r == -1]


def test_positive_pairs_are_all_that_are_near_in_time(monkeypatch):
    positive, negative = recorded_pairs(monkeypatch, turning(), lag=3, random_state=0)
    n = len(turning())
    expected = {(i, j) for i in range(n) for j in range(i + 1, min(i + 4, n))}
    assert {tuple(pair) for pair in positive} == expected
    assert len(positive) == len(expected) == len(negative)


@pytest.mark.parametrize("lag", [3, 29, 94])
def test_negative_pairs_are_far_in_time_and_inside_the_sequence(monkeypatch, lag):
    X = turning()
    _, negative = recorded_pairs(monkeypatch, X, lag=lag, random_state=0)
    assert (negative[:, 1] - negative[:, 0]).min() >= lag + 1
    assert negative.min() >= 0
    assert negative.max() < len(X)


def test_every_far_pair_is_equally_likely(monkeypatch):
    X = np.random.default_rng(0).normal(size=(7, 2))
    counts = np.zeros((7, 7))
    for seed in range(400):
        _, negative = recorded_pairs(monkeypatch, X, lag=3, random_state=seed)
        np.add.at(counts, tuple(negative.T), 1)
    possible = [(i, j) for i in range(7) for j in range(i + 4, 7)]
    drawn = np.array([counts[pair] for pair in possible])
    assert counts.sum() == drawn.sum()
    assert np.abs(drawn / drawn.mean() - 1).max() < 0.15


def test_it_is_hyperbolic_pca_of_those_pairs(monkeypatch):
    X = turning()
    with monkeypatch.context() as patch:
        positive, negative = recorded_pairs(patch, X, lag=3, random_state=1)
    r = np.repeat([1, -1], [len(positive), len(negative)])
    plain = HyperbolicPCA(2, eta_negative=0.1).fit_pairs(X, np.concatenate([positive, negative]), r)
    timed = TemporalHyperbolicPCA(2, lag=3, eta_negative=0.1, random_state=1).fit(X)
    assert np.allclose(timed.components_, plain.components_)
    assert timed.threshold_ == plain.threshold_


def test_a_sequence_shorter_than_the_lag_is_an_error():
    with pytest.raises(ValueError, match="24 rows hold no pair at a distance of 30"):
        TemporalHyperbolicPCA(lag=29).fit(turning(n_objects=1))
