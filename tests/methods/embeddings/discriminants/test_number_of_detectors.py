"""Number of detectors, by default and when given."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from eigenbench import GEM, ContractedGEM, NeighborhoodGEM, SignedPowers, SubclassGEM


@pytest.fixture(scope="module")
def letters():
    """26 classes with 3 inputs, some nearer to each other than others."""
    rng = np.random.RandomState(0)
    y = np.arange(26).repeat(12)
    return rng.randn(26, 3)[y] * 3 + rng.randn(len(y), 3), y


@pytest.mark.parametrize("kind", [GEM, SubclassGEM, NeighborhoodGEM, ContractedGEM])
def test_many_classes_make_no_more_detectors_than_20_an_input(letters, kind):
    X, y = letters
    targets = np.eye(40)[:, :26][y] if kind is ContractedGEM else y
    with pytest.warns(UserWarning, match=f"{kind.__name__} .*set n_co"):
        found = kind().fit(X, targets)
    assert 40 <= found.eigenvalues_.size <= 60
    assert found.transform(X).shape == (len(X), found.eigenvalues_.size)


@pytest.mark.parametrize("kind", [GEM, SubclassGEM, NeighborhoodGEM])
def test_a_number_that_is_given_is_kept_without_a_word(letters, kind):
    X, y = letters
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind(n_components=70).fit(X, y).eigenvalues_.size == 70 - 2 * (kind is SubclassGEM)
        assert kind(n_components=1).fit(X, y).eigenvalues_.size == 1
        problems = {GEM: 26 * 25, SubclassGEM: 26 * 25 * 4, NeighborhoodGEM: 26}[kind]
        assert kind(top=2).fit(X, y).eigenvalues_.size == 2 * problems
        few = y < 2
        assert 6 <= kind().fit(X[few], y[few]).eigenvalues_.size <= 24


def test_a_small_class_is_numerator_of_a_quarter_as_many_detectors_as_it_has_rows():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], [3, 30, 100])
    X = rng.randn(len(y), 20) + y[:, None]
    expected = {0: 1, 1: 8, 2: 12}
    found = GEM().fit(X, y)
    pairs, counts = np.unique(found.pairs_, axis=0, return_counts=True)
    assert_array_equal(counts, [expected[i] for i, _ in pairs])
    # Weights that sum to one leave the same number; what is asked for is kept.
    assert GEM().fit(X, y, np.full(len(y), 1 / len(y))).eigenvalues_.size == found.eigenvalues_.size
    assert GEM(top=12).fit(X, y).eigenvalues_.size == 72
    largest = GEM(top=12).fit(X, y).eigenvalues_.reshape(-1, 12)[:, 0]
    assert_allclose(largest, found.eigenvalues_[np.r_[0, np.cumsum(counts)[:-1]]])
    # Parts of a class: the class of three rows has one row in each.
    parts = SubclassGEM(n_subclasses=3, random_state=0).fit(X, y)
    of_small, of_large = ((parts.pairs_ == pair).all(axis=1).sum() for pair in ([0, 2], [2, 0]))
    assert (of_small, of_large) == (3, 12)


def test_fewer_detectors_than_pairs_are_of_the_nearest_pairs(letters):
    X, y = letters
    auto = GEM(n_components=80).fit(X, y)
    nearest = GEM(top=1, pairs="nearest", n_pairs=80).fit(X, y)
    assert_array_equal(auto.pairs_, nearest.pairs_)
    assert_array_equal(auto.detectors_, nearest.detectors_)


@pytest.mark.parametrize("pairs", ["all", "nearest"])
def test_detectors_in_all_are_taken_round_by_round(letters, pairs):
    X, y = letters
    X, y = X[y < 4], y[y < 4]
    every = GEM(top=3, pairs=pairs).fit(X, y)
    values = every.eigenvalues_.reshape(-1, 3)
    count = len(values) + 2
    some = GEM(n_components=count, pairs=pairs).fit(X, y)
    second = np.isin(values[:, 1], np.sort(values[:, 1])[-2:])
    kept = np.column_stack([np.ones(len(values), dtype=bool), second, np.zeros_like(second)]).ravel()
    assert_allclose(some.detectors_, every.detectors_[:, kept], rtol=1e-9)
    assert_array_equal(some.pairs_, every.pairs_[kept])


def test_both_numbers_hold(letters):
    X, y = letters
    X, y = X[y < 4], y[y < 4]
    assert GEM(top=1, n_components=30).fit(X, y).eigenvalues_.size == 12
    assert GEM(top=2, n_components=20).fit(X, y).eigenvalues_.size == 20


def test_parts_of_a_class_meet_its_nearest_classes_when_all_are_too_many(letters):
    X, y = letters
    few = SubclassGEM(n_components=26 * 4, random_state=0).fit(X, y)
    nearest = GEM(n_components=26).fit(X, y)
    assert_array_equal(np.unique(few.pairs_, axis=0), np.unique(nearest.pairs_, axis=0))


def test_the_memory_of_a_wide_target_is_bounded(monkeypatch):
    rng = np.random.RandomState(0)
    X, Y = rng.randn(60, 5), rng.randn(60, 8)
    monkeypatch.setattr(
        "eigenbench.methods.embeddings.discriminants.contracted_gem._LARGEST", 8 * 2 * 5 * 5 * 3
    )
    with pytest.warns(UserWarning, match="takes the first 3 of 8 principal axes"):
        assert ContractedGEM().fit(X, Y).contractions_.shape == (3, 8)
    assert ContractedGEM(n_contractions=6).fit(X, Y).contractions_.shape == (6, 8)


def test_mnist_keeps_twelve_of_each_pair_and_no_more_than_1920_are_kept_in_all():
    assert GEM()._numbers(90, 784) == (12, None)
    with pytest.warns(UserWarning, match="1,920 detectors instead of 11,880"):
        assert GEM()._numbers(990, 784) == (2, 1920)


def test_a_number_of_features_is_six_times_that_of_detectors(letters):
    X, y = letters
    found = GEM(n_features=425).fit(X, y)
    assert_array_equal(found.detectors_, GEM(n_components=70).fit(X, y).detectors_)
    assert SignedPowers().fit_transform(found.transform(X)).shape[1] == 420
    with pytest.raises(ValueError, match=r"n_components=7 and n_features=60 both bound"):
        GEM(n_components=7, n_features=60).fit(X, y)


def test_work_of_minutes_is_announced_and_by_default_cut_to_the_nearest_pairs(letters, monkeypatch):
    X, y = letters
    monkeypatch.setattr("eigenbench.methods.embeddings.discriminants.gem.MOST_SECONDS", 40 * 27 * 1.3e-10)
    with pytest.warns(UserWarning, match=r"650 pairs .* 3 inputs take about .* takes the 40 of near") as one:
        found = GEM().fit(X, y)
    assert len(one) == 1
    assert_array_equal(found.pairs_, GEM(n_components=40).fit(X, y).pairs_)
    with pytest.warns(UserWarning, match="pairs='all' solves them all"):
        assert len(np.unique(GEM(pairs="all", top=1).fit(X, y).pairs_, axis=0)) == 650
