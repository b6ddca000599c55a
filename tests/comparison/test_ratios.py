import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulation import table

from eigenbench.comparison.ranks import RefusedComparison
from eigenbench.comparison.ratios import equivalence, error_ratios, log_errors


def test_the_ratio_is_the_geometric_mean_with_the_interval_of_its_logarithm():
    errors = table(9, 3)
    found = error_ratios(errors).loc[("m0", "m2")]
    logarithms = np.log(errors["m0"] / errors["m2"])
    assert found["ratio"] == pytest.approx(stats.gmean(errors["m0"] / errors["m2"]))
    ends = stats.ttest_1samp(logarithms, 0).confidence_interval(0.95)
    np.testing.assert_allclose(found[["low", "high"]], np.exp([ends.low, ends.high]))


def test_an_error_of_zero_counts_as_half_of_the_least():
    errors = pd.DataFrame({"a": [0.0] * 6, "b": [0.1] * 6, "c": [0.02] * 6})
    np.testing.assert_allclose(np.exp(log_errors(errors)["a"]), 0.01)
    assert error_ratios(errors).loc[("a", "c"), "ratio"] == pytest.approx(0.5)
    assert (log_errors(errors * 0) == np.log(0.5)).all(axis=None)


def test_an_error_of_zero_beside_a_failed_run_keeps_its_ratio():
    errors = pd.DataFrame({"a": [0, 0.1, 0.2, 0.1, 0.2], "b": [0, 0.2, 0.4, 0.2, 0.4], "c": [np.inf] * 5})
    found = error_ratios(errors)["ratio"]
    assert found["a", "b"] == pytest.approx(0.5**0.8)
    assert found.drop(("a", "b")).isna().all()


def test_a_failed_run_leaves_no_ratio():
    errors = table(6, 3)
    errors.iloc[2, 1] = np.inf
    found = error_ratios(errors)
    assert found.loc[[("m0", "m1"), ("m1", "m2")]].isna().all(axis=None)
    assert found.loc[("m0", "m2")].notna().all()


def test_scores_have_no_ratio():
    with pytest.raises(RefusedComparison, match=r"error of 'm0' on 'data0' is -0\.2.*1 minus a score"):
        error_ratios(-table(6, 2).round(1))


def test_verdicts_are_those_of_the_interval():
    ends = pd.DataFrame({"low": [0.5, 1.01, 0.92, 0.9, 0.8], "high": [0.99, 1.5, 1.09, 1.09, 1.3]})
    assert equivalence(ends).tolist() == ["first better", "second better", "equivalent", "open", "open"]
