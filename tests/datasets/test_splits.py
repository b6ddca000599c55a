import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.datasets.splits import RandomSplit, SampledSplit, draw_split, fold_split


def random_split(n, test_fraction, seed, strata=None):
    split = RandomSplit(kind="random", test_fraction=test_fraction, stratify=strata is not None)
    return draw_split(split, seed, np.zeros(n) if strata is None else strata)


@given(st.integers(2, 300), st.floats(0.01, 0.9), st.integers(0, 2**32))
def test_a_split_is_a_partition_that_the_seed_determines(n, fraction, seed):
    train, test = random_split(n, fraction, seed)
    assert sorted([*train, *test]) == list(range(n))
    again = random_split(n, fraction, seed)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])


def test_a_split_is_the_same_on_every_machine():
    train, test = random_split(10, 0.3, seed=0)
    assert (train.tolist(), test.tolist()) == ([4, 6, 2, 7, 3, 5, 9], [0, 8, 1])


@given(st.lists(st.integers(4, 40), min_size=2, max_size=5), st.integers(0, 100))
def test_stratified_splits_take_the_share_of_every_class(sizes, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    train, test = random_split(len(codes), 0.25, seed, codes)
    assert sorted([*train, *test]) == list(range(len(codes)))
    assert np.bincount(codes[test]).tolist() == [max(1, round(size * 0.25)) for size in sizes]


CLASS_SIZES = st.lists(st.integers(4, 40), min_size=2, max_size=5)


@given(CLASS_SIZES, st.integers(1, 60), st.integers(1, 60), st.integers(0, 100))
def test_a_bounded_split_has_the_sizes_and_each_class_its_share(sizes, max_train, max_test, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    bounded = RandomSplit(
        kind="random", test_fraction=0.5, stratify=True, max_train=max_train, max_test=max_test
    )
    whole = random_split(len(codes), 0.5, seed, codes)
    for rows, all_rows, most in zip(
        draw_split(bounded, seed, codes), whole, (max_train, max_test), strict=True
    ):
        assert len(rows) == min(most, len(all_rows))
        assert np.isin(rows, all_rows).all()
        assert len(np.unique(rows)) == len(rows)
        shares = np.bincount(codes[all_rows]) * (len(rows) / len(all_rows))
        assert (np.abs(np.bincount(codes[rows], minlength=len(sizes)) - shares) < 1).all()


@given(CLASS_SIZES, CLASS_SIZES, st.booleans(), st.integers(0, 100))
def test_sampled_rows_are_of_their_own_file_and_the_seed_draws_them(train_sizes, test_sizes, stratify, seed):
    codes = [np.repeat(np.arange(len(sizes)), sizes) for sizes in (train_sizes, test_sizes)]
    split = SampledSplit(kind="sampled", max_train=7, max_test=5, stratify=stratify)
    drawn, again = draw_split(split, seed, *codes), draw_split(split, seed, *codes)
    for rows, same, of_file, size in zip(drawn, again, codes, (7, 5), strict=True):
        assert len(np.unique(rows)) == len(rows) == size
        assert rows.max() < len(of_file)
        np.testing.assert_array_equal(rows, same)


def test_a_split_without_sizes_is_written_as_before_there_were_sizes():
    split = RandomSplit(kind="random", test_fraction=0.25, stratify=True)
    assert split.model_dump() == {"kind": "random", "test_fraction": 0.25, "stratify": True}
    assert str(split) == "0.25 of each class for the test, drawn by the seed"
    bounded = split.model_copy(update={"max_train": 2000})
    assert bounded.model_dump()["max_train"] == 2000
    assert str(bounded) == "0.25 of each class for the test, at most 2,000 training rows, drawn by the seed"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(2, 7), st.integers(0, 10**6))
def test_folds_test_on_every_row_once_and_share_classes_out(sizes, n_folds, repetition):
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    tests = []
    for fold in range(n_folds):
        train, test = fold_split(len(codes), n_folds, repetition * n_folds + fold, codes)
        assert sorted([*train, *test]) == list(range(len(codes)))
        tests.append(test)
    assert sorted(np.concatenate(tests)) == list(range(len(codes)))
    counts = np.array([np.bincount(codes[test], minlength=len(sizes)) for test in tests])
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1
