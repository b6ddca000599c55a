import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from simulation import runs_of, seeds_on_rows
from statsmodels.stats.proportion import proportion_confint

from eigenbench.comparison.mean_intervals import mean_interval, wilson

tables = hnp.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 40)))


@given(st.integers(1, 500), st.data(), st.sampled_from([0.5, 0.95, 0.99]))
def test_wilson_is_that_of_statsmodels(n_rows, data, level):
    n_errors = data.draw(st.integers(0, n_rows))
    found = wilson(n_errors, n_rows, level=level)
    expected = proportion_confint(n_errors, n_rows, alpha=1 - level, method="wilson")
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-12)


@pytest.mark.parametrize(("n_errors", "n_rows"), [(0, 0), (3, 2), (-1, 5)])
def test_impossible_counts(n_errors, n_rows):
    with pytest.raises(ValueError, match="give no error rate"):
        wilson(n_errors, n_rows)


def apart(wrong):
    """Numbers of test rows that no two splits share."""
    ends = np.cumsum([0, *map(len, wrong)])
    return {split: np.arange(ends[split], ends[split + 1]) for split in range(len(wrong))}


@given(tables)
def test_the_interval_of_a_mean_holds_it_and_stays_inside_zero_to_one(wrong):
    for given_rows in (None, apart(wrong)):
        found = mean_interval(runs_of(wrong), test_rows=given_rows)
        assert found.estimate == pytest.approx(wrong.mean())
        assert 0 <= found.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.high <= 1


def test_splits_that_test_the_same_rows_are_one_test_set():
    wrong = seeds_on_rows(np.random.default_rng(3), 4, 200, 0.5)[0]
    order = [np.random.default_rng(split).permutation(200) for split in range(4)]
    shuffled = runs_of([one[rows] for one, rows in zip(wrong, order, strict=True)])
    found, expected = mean_interval(shuffled, test_rows=dict(enumerate(order))), mean_interval(runs_of(wrong))
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])


@pytest.mark.parametrize("deviation", [0.0, 0.5])
def test_seeds_on_one_test_set_have_crossed_random_effects(deviation):
    """Against the mean squares of a table of two ways."""
    wrong = seeds_on_rows(np.random.default_rng(2), 5, 2000, deviation)[0].astype(float)
    by_seed, by_row = wrong.mean(axis=1, keepdims=True), wrong.mean(axis=0)
    rest = np.sum((wrong - by_seed - by_row + wrong.mean()) ** 2) / (4 * 1999)
    of_seeds, of_rows = 2000 * by_seed.var(ddof=1), 5 * by_row.var(ddof=1)
    variance = (max(of_seeds, rest) + of_rows - rest) / wrong.size
    found = mean_interval(runs_of(wrong.astype(float)))
    freedom = variance**2 / ((of_seeds / wrong.size) ** 2 / 4) if of_seeds > rest else np.inf
    assert found.high - found.low == pytest.approx(
        2 * stats.t.ppf(0.975, freedom) * np.sqrt(variance), rel=0.02
    )


def test_one_run_has_wilsons_interval_also_for_counts():
    wrong, expected = np.arange(400) < 60, wilson(60, 400)
    found = mean_interval(runs_of([wrong]))
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])
    counted = mean_interval(runs_of([wrong], scale=400))
    assert counted.estimate == 60
    assert counted.low == pytest.approx(400 * expected.low)
    assert mean_interval(runs_of([wrong] * 5)).low == pytest.approx(expected.low)


@pytest.mark.parametrize("n_wrong", [0, 400])
def test_runs_that_always_or_never_err_are_bounded_by_rows(n_wrong):
    found, expected = mean_interval(runs_of([np.arange(400) < n_wrong] * 3)), wilson(n_wrong, 400)
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high])


def test_folds_that_agree_by_chance_are_as_wide_as_their_rows():
    """Three folds with five errors each, of 190, 190 and 189 rows."""
    wrong = [np.arange(n) < 5 for n in (190, 190, 189)]
    found, expected = mean_interval(runs_of(wrong), test_rows=apart(wrong)), wilson(15, 569)
    np.testing.assert_allclose([found.low, found.high], [expected.low, expected.high], atol=5e-4)


def test_whole_groups_widen_the_interval():
    wrong = [np.arange(400) // 20 % 3 == 0]
    found = mean_interval(runs_of(wrong), groups={0: np.arange(400) // 20})
    plain = mean_interval(runs_of(wrong))
    assert found.high - found.low > 3 * (plain.high - plain.low)


def test_a_mean_of_numbers_has_the_interval_of_its_standard_error():
    values = np.random.default_rng(0).normal(2.0, 1.0, 400)
    found = mean_interval(runs_of([values]))
    ends = stats.t(399, values.mean(), values.std(ddof=1) / 20).interval(0.95)
    np.testing.assert_allclose([found.low, found.high], ends)


def test_no_run_has_no_mean():
    with pytest.raises(ValueError, match="no run"):
        mean_interval({})
