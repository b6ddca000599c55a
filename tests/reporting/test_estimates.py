"""Intervals against formulas computed another way."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from eigenbench.comparison.mean_intervals import wilson
from eigenbench.reporting.estimates import OVER_ROWS, OVER_SEEDS, OVER_SHARED_ROWS, estimate, within_range


@given(st.lists(st.floats(0.2, 0.4), min_size=2, max_size=9, unique=True))
def test_seeds_give_student_t(values):
    found = estimate("test_log_loss", values, deterministic=False, n_test=100)
    mean = np.mean(values)
    half_width = stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(len(values))
    assert found.mean == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((max(0, mean - half_width), mean + half_width))
    assert (found.n_seeds, found.interval) == (len(values), OVER_SEEDS)


@pytest.mark.parametrize(("overlap", "factor"), [(0.2, 0.45), (0.5, 1.2), (1.0, 0.2)])
def test_the_variance_of_a_mean_counts_shared_test_rows(overlap, factor):
    values = [0.30, 0.31, 0.32, 0.33, 0.34]
    found = estimate("test_log_loss", values, deterministic=False, n_test=100, overlap=overlap)
    half_width = stdtrit(4, 0.975) * math.sqrt(factor * np.var(values, ddof=1))
    assert found.high - found.mean == pytest.approx(half_width)
    assert found.interval == (OVER_SHARED_ROWS if overlap < 1 else OVER_SEEDS)


ENDS = {
    **dict.fromkeys(("test_micro_f1", "test_balanced_error", "nn_error", "balanced_risk"), (0, 1)),
    **dict.fromkeys(("test_error_at_1000", "test_precision_at_1", "test_macro_f1_at_half"), (0, 1)),
    **dict.fromkeys(("test_log_loss", "nn_error_ratio", "unexplained_variance"), (0, 1.75)),
    **dict.fromkeys(("expected_kernel_mse_at_4096", "kernel_relative_error_at_512"), (0, 1.75)),
    **{"test_ps_ndcg_at_5": (0, 1.75), "test_errors": (0, 100), "progressive_error": (0, 1)},
    "test_stress": (-0.75, 1.75),
}


@pytest.mark.parametrize(("metric", "ends"), ENDS.items())
def test_ends_are_values_that_the_metric_can_have(metric, ends):
    scale = 100 if metric == "test_errors" else 1
    assert within_range(metric, -0.75 * scale, 1.75 * scale, 100) == ends


@given(st.integers(1, 5_000), st.data())
def test_one_seed_gives_wilson(rows, data):
    errors = data.draw(st.integers(0, rows))
    expected = wilson(errors, rows)
    share = estimate("test_error", [errors / rows], deterministic=False, n_test=rows)
    count = estimate("test_errors", [float(errors)], deterministic=False, n_test=rows)
    assert (share.low, share.high) == pytest.approx((expected.low, expected.high))
    assert (count.low, count.high) == pytest.approx((rows * expected.low, rows * expected.high))
    assert share.interval == count.interval == OVER_ROWS


@pytest.mark.parametrize(("values", "deterministic"), [([0.1, 0.2, 0.3], True), ([0.2, 0.2, 0.2], False)])
def test_seeds_that_say_nothing_give_wilson(values, deterministic):
    found = estimate("test_error", values, deterministic=deterministic, n_test=50)
    assert (found.low, found.high) == pytest.approx((wilson(10, 50).low, wilson(10, 50).high))
    assert found.n_seeds == 3


@pytest.mark.parametrize(
    ("metric", "values", "n_test"),
    [
        ("test_log_loss", [0.3], 100),
        ("test_balanced_error", [0.3], 100),
        ("test_error", [0.3], None),
        ("test_error", [math.nan, 0.1], 100),
        ("test_log_loss", [math.inf], 100),
    ],
)
def test_no_interval_where_none_can_be_made(metric, values, n_test):
    found = estimate(metric, values, deterministic=False, n_test=n_test)
    assert (found.low, found.high, found.interval) == (None, None, "")
