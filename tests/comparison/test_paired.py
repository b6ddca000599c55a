import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from eigenbench.comparison.paired import corrected_resampled_t, mcnemar

wrong_pairs = hnp.arrays(bool, st.tuples(st.just(2), st.integers(1, 60)))
differences = hnp.arrays(float, st.integers(2, 12), elements=st.integers(-50, 50).map(lambda n: n / 100))


@given(wrong_pairs)
def test_mid_p_is_the_exact_p_less_the_probability_of_what_was_seen(wrong):
    found = mcnemar(*wrong)
    table = [[0, found.only_first], [found.only_second, 0]]
    exact = statsmodels_mcnemar(table, exact=True).pvalue
    n = found.only_first + found.only_second
    seen = stats.binom.pmf(found.only_first, n, 0.5)
    # Where both counts are equal, twice a tail counts their probability twice: the p-value is 1 all the same.
    expected = 1.0 if found.only_first == found.only_second else exact - seen
    assert found.p_value == pytest.approx(expected)


@given(wrong_pairs, st.randoms(use_true_random=False))
def test_mcnemar_knows_no_order(wrong, random):
    found, mirrored = mcnemar(*wrong), mcnemar(*wrong[::-1])
    assert (mirrored.only_first, mirrored.only_second) == (found.only_second, found.only_first)
    assert mirrored.p_value == found.p_value
    order = random.sample(range(wrong.shape[1]), wrong.shape[1])
    assert mcnemar(*wrong[:, order]) == found


@given(st.integers(2, 40), st.data())
def test_a_more_uneven_split_of_the_same_rows_has_a_smaller_p(n, data):
    only_first = data.draw(st.integers(0, n // 2 - 1))
    uneven, even = (
        mcnemar(np.arange(n) < k, np.arange(n) >= k).p_value for k in (only_first, only_first + 1)
    )
    assert uneven < even or even == pytest.approx(1)


@pytest.mark.parametrize("wrong", [[True], [False], [True, False, True]])
def test_methods_that_err_alike_do_not_differ(wrong):
    assert mcnemar(wrong, wrong).p_value == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [([0, 1], [1, 0]), ([True], [True, False]), ([[True]], [[True]]), ([True, None], [True, False])],
)
def test_mcnemar_takes_booleans_of_one_test_set(first, second):
    with pytest.raises(ValueError, match="booleans of one length"):
        mcnemar(first, second)


@given(differences, st.integers(1, 1000), st.integers(1, 1000))
def test_corrected_t_is_the_paired_t_with_a_larger_variance(values, n_train, n_test):
    found = corrected_resampled_t(values, n_train=n_train, n_test=n_test)
    if np.ptp(values) == 0:
        assert found.p_value == 1 if values[0] == 0 else np.isnan(found.p_value)
        return
    paired = stats.ttest_1samp(values, 0)
    inflation = np.sqrt(1 + len(values) * n_test / n_train)
    assert found.statistic == pytest.approx(paired.statistic / inflation)
    assert found.p_value >= paired.pvalue * (1 - 1e-9)
    low, high = paired.confidence_interval(0.95)
    assert found.high - found.low == pytest.approx((high - low) * inflation)
    assert (found.low <= 0 <= found.high) == (found.p_value >= 0.05)


def test_more_test_rows_per_training_row_make_splits_say_less():
    p_values = [
        corrected_resampled_t([0.01, 0.02, 0.03, 0.02, 0.01], n_train=100, n_test=n_test).p_value
        for n_test in (1, 10, 50, 100)
    ]
    assert p_values == sorted(p_values)


@pytest.mark.parametrize("values", [[0.1], [], [0.1, np.nan], [0.1, np.inf], [[0.1, 0.2]]])
def test_corrected_t_needs_finite_differences_of_two_splits(values):
    with pytest.raises(ValueError, match="at least two splits"):
        corrected_resampled_t(values, n_train=7, n_test=3)


def test_corrected_t_needs_the_sizes_of_a_split():
    with pytest.raises(ValueError, match="training and test rows"):
        corrected_resampled_t([0.1, 0.2], n_train=0, n_test=3)
