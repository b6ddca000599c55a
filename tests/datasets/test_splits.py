import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets.splits import random_split


@given(st.integers(2, 300), st.floats(0.01, 0.9), st.integers(0, 2**32))
def test_a_split_is_a_partition_that_the_seed_determines(n, fraction, seed):
    train, test = random_split(n, fraction, seed)
    assert sorted([*train, *test]) == list(range(n))
    again = random_split(n, fraction, seed)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])


def test_the_test_set_is_the_end_of_the_permutation_of_a_documented_generator():
    order = np.random.Generator(np.random.PCG64(7)).permutation(1000)
    train, test = random_split(1000, 0.1, seed=7)
    np.testing.assert_array_equal(train, order[:900])
    np.testing.assert_array_equal(test, order[900:])


def test_a_split_is_the_same_on_every_machine():
    train, test = random_split(10, 0.3, seed=0)
    assert (train.tolist(), test.tolist()) == ([4, 6, 2, 7, 3, 5, 9], [0, 8, 1])


def test_seeds_give_different_splits():
    assert random_split(100, 0.2, 0)[1].tolist() != random_split(100, 0.2, 1)[1].tolist()


@given(st.lists(st.integers(4, 40), min_size=2, max_size=5), st.integers(0, 100))
def test_stratified_splits_take_the_share_of_every_class(sizes, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    train, test = random_split(len(codes), 0.25, seed, codes)
    assert sorted([*train, *test]) == list(range(len(codes)))
    assert np.bincount(codes[test]).tolist() == [max(1, round(size * 0.25)) for size in sizes]
