"""Selections of ordered class pairs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from eigenbench import ClassMoments
from eigenbench.methods.embeddings.discriminants import pairs as pairs_module
from eigenbench.methods.embeddings.discriminants.pairs import (
    all_pairs,
    hypercube_pairs,
    hypercube_size,
    nearest_classes,
    nearest_pairs,
    select_pairs,
    stratified_pairs,
)

SELECTIONS = ("all", "hypercube", "uniform", "stratified")


@given(st.sampled_from(SELECTIONS), st.integers(2, 40), st.integers(0, 1000))
def test_pairs_are_different_ordered_and_of_two_classes(how, k, seed):
    pairs = select_pairs(how, k, None, np.random.RandomState(seed))
    assert len(pairs) > 0
    assert len({tuple(pair) for pair in pairs}) == len(pairs)
    assert np.all(pairs[:, 0] != pairs[:, 1])
    assert pairs.min() >= 0
    assert pairs.max() < k


@given(st.integers(2, 40), st.integers(0, 1000))
def test_random_selections_have_the_budget_of_the_hypercube(k, seed):
    sizes = {how: len(select_pairs(how, k, None, np.random.RandomState(seed))) for how in SELECTIONS}
    assert sizes["hypercube"] == sizes["uniform"] == sizes["stratified"] <= k * math.ceil(math.log2(k))
    assert sizes["all"] == len(all_pairs(k)) == k * (k - 1)


@given(st.integers(2, 64), st.integers(0, 1000))
def test_hypercube_neighbours_come_in_both_orders(k, seed):
    pairs = {tuple(pair) for pair in hypercube_pairs(k, np.random.RandomState(seed)).tolist()}
    assert pairs == {(j, i) for i, j in pairs}


def test_a_full_hypercube_joins_every_class_to_one_neighbour_per_dimension():
    pairs = hypercube_pairs(16, np.random.RandomState(0))
    assert len(pairs) == 16 * 4
    assert np.all(np.bincount(pairs[:, 0]) == 4)


@given(st.integers(2, 30), st.integers(1, 200), st.integers(0, 1000))
def test_stratified_pairs_use_classes_equally_on_both_sides(k, budget, seed):
    pairs = stratified_pairs(k, min(budget, k * (k - 1)), np.random.RandomState(seed))
    for side in (0, 1):
        counts = np.bincount(pairs[:, side], minlength=k)
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("how", ["uniform", "stratified"])
def test_the_budget_is_capped_at_all_pairs(how):
    assert len(select_pairs(how, 4, 1000, np.random.RandomState(0))) == 12


@given(st.integers(2, 30), st.integers(1, 200), st.integers(0, 1000))
def test_nearest_pairs_go_round_by_round_from_near_to_far(k, budget, seed):
    budget = min(budget, k * (k - 1))
    means = np.random.RandomState(seed).randn(k, 3)
    distances = cdist(means, means)
    moments = ClassMoments().update(means, np.arange(k))
    pairs = nearest_pairs(moments, 1e9, budget)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs) == budget
    assert np.all(pairs[:, 0] != pairs[:, 1])
    counts = np.bincount(pairs[:, 0], minlength=k)
    assert counts.max() - counts.min() <= 1
    for i in range(k):
        mine = pairs[pairs[:, 0] == i, 1]
        others = np.delete(np.arange(k), i)
        expected = others[np.argsort(distances[i, others])][: len(mine)]
        assert mine.tolist() == expected.tolist()


def test_the_last_round_goes_to_the_classes_with_the_closest_neighbours():
    positions = np.array([[0.0], [1.0], [5.0], [5.5]])
    moments = ClassMoments().update(positions, np.arange(4))
    assert nearest_pairs(moments, 0.0, 2).tolist() == [[2, 3], [3, 2]]
    whole = [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert nearest_pairs(moments, 0.0, 6).tolist() == [*whole, [1, 2], [2, 1]]


def test_distances_are_those_of_the_means_in_the_metric_of_the_second_moment(monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(300, 5) @ rng.randn(5, 5) + 1, np.arange(300) % 4
    classes, found = nearest_classes(ClassMoments.of(X, y), 0.2, 3)
    N = X.T @ X / 300
    N += 0.2 * np.trace(N) / 5 * np.eye(5)
    means = np.stack([X[y == i].mean(axis=0) for i in range(4)])
    distances = cdist(means, means, "mahalanobis", VI=np.linalg.inv(N))
    assert_allclose(found, np.sort(distances, axis=1)[:, 1:])
    assert_allclose(np.take_along_axis(distances, classes, axis=1), found)
    monkeypatch.setattr(pairs_module, "row_slices", lambda n, _: [slice(0, 1), slice(1, n)])
    assert_array_equal(nearest_classes(ClassMoments.of(X, y), 0.2, 3)[0], classes)
    A = rng.randn(5, 5)
    _, mapped = nearest_classes(ClassMoments.of(X @ A, y), 0.0, 3)
    assert_allclose(mapped, nearest_classes(ClassMoments.of(X, y), 0.0, 3)[1], rtol=1e-6)
    with pytest.raises(ValueError, match=r"300 examples, 6 features\) is singular.*increase gamma"):
        nearest_classes(ClassMoments.of(np.column_stack([X, X[:, 0]]), y), 0.0, 3)


@settings(max_examples=20)
@given(st.integers(2, 20))
def test_the_size_of_a_hypercube_is_the_mean_over_its_placements(k):
    sizes = [len(hypercube_pairs(k, np.random.RandomState(seed))) for seed in range(200)]
    spread = np.std(sizes) / 200**0.5
    assert abs(np.mean(sizes) - hypercube_size(k)) <= 0.5 + 5 * spread
