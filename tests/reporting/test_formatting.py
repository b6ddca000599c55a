"""Names, scales and comparison of metrics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.bench.suites.parts import MULTICLASS_METRICS, MULTILABEL_METRICS, REGRESSION_METRICS
from eigenbench.reporting.formatting import by_size, lower_is_better, metric_style, split_size


@pytest.mark.parametrize(
    ("metric", "heading", "value", "shown"),
    [
        ("test_error", "test error (%)", 0.0108, "1.08"),
        ("test_error_at_512", "test error at 512 (%)", 0.0108, "1.08"),
        ("accuracy_at_16384", "accuracy at 16,384 (%)", 0.97, "97.00"),
        ("kernel_mse_at_4096", "kernel MSE at 4,096", 2.1e-4, "0.0002100"),
        ("nn_error", "1-NN error", 0.318, "0.3180"),
        ("fit_seconds_at_512", "fit time at 512 (s)", 12.3456, "12.35"),
        ("chosen_hpca__gamma", "chosen hpca gamma", 1.0, "1"),
        ("examples_per_second", "examples per second", 123456.7, "123,457"),
        ("test_errors", "test errors", 108.0, "108"),
        ("seconds_at_1000", "time at 1,000 (s)", 9999.7, "10,000"),
    ],
)
def test_a_metric_is_written_for_people(metric, heading, value, shown):
    style = metric_style(metric)
    assert style.heading == heading
    assert style.measured(value) == shown


DIRECTIONS = {
    **dict.fromkeys(("effective_rank_at_512", "examples_per_second", "captured_energy_at_40"), False),
    **dict.fromkeys(("test_accuracy", "precision@1", "test_macro_f1_present_at_half"), False),
    **dict.fromkeys(("nn_error", *(f"validation_{name}" for name in MULTICLASS_METRICS)), True),
    **{f"test_{name}": not higher for name, higher in {**MULTILABEL_METRICS, **REGRESSION_METRICS}.items()},
}


@pytest.mark.parametrize(("metric", "lower"), DIRECTIONS.items())
def test_the_direction_of_a_metric(metric, lower):
    assert lower_is_better(metric) == lower


@given(st.lists(st.integers(1, 10**9), unique=True))
def test_sizes_are_sorted_as_numbers(sizes):
    metrics = [f"error_at_{size}" for size in sizes]
    found = [split_size(metric) for metric in sorted(metrics, key=by_size)]
    assert found == [("error", size) for size in sorted(sizes)]
