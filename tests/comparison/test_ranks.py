from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from simulation import table
from statsmodels.stats.multitest import multipletests

from eigenbench.comparison.rank_intervals import rank_intervals
from eigenbench.comparison.ranks import RefusedComparison, friedman, holm, wilcoxon_holm, win_tie_loss

coarse_tables = hnp.arrays(
    np.int64, st.tuples(st.integers(5, 8), st.integers(3, 4)), elements=st.integers(0, 4)
).map(lambda values: pd.DataFrame(values / 10))

STATISTICS = [rank_intervals, friedman, wilcoxon_holm, win_tie_loss]


@given(coarse_tables)
def test_ranks_and_friedman_are_those_of_scipy(errors):
    ranks = stats.rankdata(errors, axis=1).mean(axis=0)
    found = rank_intervals(errors)
    np.testing.assert_allclose(found["mean_rank"].sort_index(), ranks)
    assert found["mean_rank"].is_monotonic_increasing
    if (errors.nunique(axis=1) == 1).all():
        assert friedman(errors).p_value == 1
    else:
        expected = stats.friedmanchisquare(*errors.to_numpy().T)
        np.testing.assert_allclose([friedman(errors).statistic, friedman(errors).p_value], expected)


@settings(max_examples=25)
@given(coarse_tables)
def test_p_values_are_shares_of_all_choices_of_signs(errors):
    """Against every one of the 2**n tables with the signs of differences changed."""
    found = wilcoxon_holm(errors)
    for first, second in found.index:
        difference = np.round(errors[first] - errors[second], 9)
        ranks = stats.rankdata(np.abs(difference))
        signs = np.array(list(product((-1, 1), repeat=len(ranks))))
        observed = np.sign(difference) @ ranks
        # Pratt: datasets without a difference are ranked and then count for neither side.
        all_signs = signs[:, difference != 0] @ ranks[difference != 0]
        expected = np.mean(np.abs(all_signs) >= abs(observed) - 1e-9)
        assert found.loc[(first, second), "p_value"] == pytest.approx(expected)


@pytest.mark.parametrize("n_datasets", [5, 24, 60, 200])
def test_without_ties_wilcoxon_is_that_of_scipy(n_datasets):
    errors = table(n_datasets, 5)
    found = wilcoxon_holm(errors)
    expected = [stats.wilcoxon(errors[a] - errors[b], method="exact").pvalue for a, b in found.index]
    np.testing.assert_allclose(found["p_value"], expected)
    np.testing.assert_allclose(found["p_holm"], multipletests(expected, method="holm")[1])


def test_methods_that_tie_everywhere_do_not_differ():
    errors = pd.DataFrame(0.25, index=range(24), columns=["a", "b", "c"])
    assert (wilcoxon_holm(errors) == 1).all(axis=None)
    assert friedman(errors).p_value == 1
    assert (rank_intervals(errors)["mean_rank"] == 2).all()
    assert (win_tie_loss(errors)["ties"] == 24).all()


def test_rounding_of_means_breaks_no_tie():
    errors = pd.DataFrame({"a": [0.1 + 0.2] * 6, "b": [0.3] * 6})
    assert win_tie_loss(errors)["ties"].item() == 6
    assert (rank_intervals(errors)["mean_rank"] == 1.5).all()
    assert win_tie_loss(errors * [1e-13, 3e-13])["wins"].item() == 6, "small errors are no ties"


def test_failed_runs_rank_last_and_are_counted():
    errors = table(6, 3)
    errors.iloc[0, 0] = errors.iloc[1, 0] = errors.iloc[1, 1] = np.inf
    found = rank_intervals(errors)
    assert found["n_failed"].to_dict() == {"m0": 2, "m1": 1, "m2": 0}
    worst = errors.replace(np.inf, 9.0)
    assert found["mean_rank"].equals(rank_intervals(worst)["mean_rank"])
    both_failed = errors.assign(m0=np.inf, m1=np.inf)
    assert wilcoxon_holm(both_failed)["p_value"].tolist() == [1, 0.03125, 0.03125]
    assert win_tie_loss(errors).equals(win_tie_loss(worst))


SIX = table(6, 3)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    ("errors", "kind", "message"),
    [
        (SIX[:4], RefusedComparison, r"4 datasets are too few.*\.$"),
        (SIX.mask(SIX.iloc[2, 1] == SIX), RefusedComparison, "of 18 errors, 1 missing, .*'m1' on 'data2'"),
        (SIX.set_axis(["a", "b", "a"], axis=1), ValueError, "stands twice"),
        (-SIX / 0, ValueError, "minus infinity"),
    ],
)
def test_tables_that_cannot_be_compared(statistic, errors, kind, message):
    with pytest.raises(kind, match=message):
        statistic(errors)


@pytest.mark.parametrize(("statistic", "n"), [(friedman, 2), (wilcoxon_holm, 1), (win_tie_loss, 1)])
def test_too_few_methods(statistic, n):
    with pytest.raises(RefusedComparison, match="too few: this test needs at least"):
        statistic(table(6, n))


@settings(max_examples=25)
@given(hnp.arrays(float, st.integers(1, 15), elements=st.floats(0, 1)))
def test_holm_is_statsmodels_on_the_tests_made(p_values):
    with_gap = np.insert(p_values, 0, np.nan)
    corrected = holm(with_gap)
    assert np.isnan(corrected[0])
    np.testing.assert_allclose(corrected[1:], multipletests(p_values, method="holm")[1])
