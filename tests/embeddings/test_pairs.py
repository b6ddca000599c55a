"""Selections of ordered class pairs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigenbench.embeddings.pairs import all_pairs, hypercube_pairs, select_pairs, stratified_pairs

SELECTIONS = ("all", "hypercube", "uniform", "stratified")


@settings(deadline=None)
@given(st.sampled_from(SELECTIONS), st.integers(2, 40), st.integers(0, 1000))
def test_pairs_are_different_ordered_and_of_two_classes(how, k, seed):
    pairs = select_pairs(how, k, None, np.random.RandomState(seed))
    assert len(pairs) > 0
    assert len({tuple(pair) for pair in pairs}) == len(pairs)
    assert np.all(pairs[:, 0] != pairs[:, 1])
    assert pairs.min() >= 0
    assert pairs.max() < k


@settings(deadline=None)
@given(st.integers(2, 40), st.integers(0, 1000))
def test_random_selections_have_the_budget_of_the_hypercube(k, seed):
    sizes = {how: len(select_pairs(how, k, None, np.random.RandomState(seed))) for how in SELECTIONS}
    assert sizes["hypercube"] == sizes["uniform"] == sizes["stratified"] <= k * math.ceil(math.log2(k))
    assert sizes["all"] == len(all_pairs(k)) == k * (k - 1)


@settings(deadline=None)
@given(st.integers(2, 64), st.integers(0, 1000))
def test_hypercube_neighbours_come_in_both_orders(k, seed):
    pairs = {tuple(pair) for pair in hypercube_pairs(k, np.random.RandomState(seed)).tolist()}
    assert pairs == {(j, i) for i, j in pairs}


def test_a_full_hypercube_joins_every_class_to_one_neighbour_per_dimension():
    pairs = hypercube_pairs(16, np.random.RandomState(0))
    assert len(pairs) == 16 * 4
    assert np.all(np.bincount(pairs[:, 0]) == 4)


@settings(deadline=None)
@given(st.integers(2, 30), st.integers(1, 200), st.integers(0, 1000))
def test_stratified_pairs_use_classes_equally_on_both_sides(k, budget, seed):
    pairs = stratified_pairs(k, min(budget, k * (k - 1)), np.random.RandomState(seed))
    for side in (0, 1):
        counts = np.bincount(pairs[:, side], minlength=k)
        assert counts.max() - counts.min() <= 1


def test_draws_follow_the_seed():
    def draw(how, seed):
        return select_pairs(how, 20, 30, np.random.RandomState(seed)).tolist()

    for how in SELECTIONS[1:]:
        assert draw(how, 0) == draw(how, 0)
        assert draw(how, 0) != draw(how, 1)


@pytest.mark.parametrize("how", ["uniform", "stratified"])
def test_the_budget_is_capped_at_all_pairs(how):
    assert len(select_pairs(how, 4, 1000, np.random.RandomState(0))) == 12
