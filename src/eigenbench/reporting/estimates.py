"""Estimates of a metric from its values over seeds: the mean, its interval, and the range of one more run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import t as student_t

from eigenbench.bench.suites.parts import MULTICLASS_METRICS, MULTILABEL_METRICS
from eigenbench.comparison.mean_intervals import wilson
from eigenbench.reporting.formatting import split_size

LEVEL = 0.95
OVER_SEEDS = "Student t over seeds"
OVER_SHARED_ROWS = "Student t over seeds that share test rows"
OVER_ROWS = "Wilson over test rows"
#: From stored predictions.
ROWS_AND_SEEDS = "over test rows and seeds"
ROWS_AND_SPLITS = "over test rows and splits"
ROWS_OF_ONE_RUN = "over test rows of one run"
KINDS = (ROWS_AND_SEEDS, ROWS_AND_SPLITS, ROWS_OF_ONE_RUN, OVER_SEEDS, OVER_SHARED_ROWS, OVER_ROWS)

#: Shares of wrong test rows.
_ERRORS = ("test_error", "nn_error", "raw_nn_error")
#: Metrics from 0 on, and those from 0 to 1.
_FROM_ZERO = {
    *("log_loss", "brier", "rmse", "mae", "nn_error_ratio", "unexplained_variance"),
    *("kernel_mse", "expected_kernel_mse", "kernel_relative_error"),
    *(name for name in MULTILABEL_METRICS if name.startswith("ps_")),
}
_SHARES = {"calibration_error", "nn_error", "raw_nn_error", "balanced_risk"}
_SHARES |= {*MULTICLASS_METRICS, *MULTILABEL_METRICS} - _FROM_ZERO


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n_seeds`` runs in the metric's stored unit; ``interval`` is one of `KINDS`, or empty."""

    mean: float
    low: float | None
    high: float | None
    n_seeds: int
    interval: str

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, both the mean where there is none."""
        return (self.mean, self.mean) if self.low is None or self.high is None else (self.low, self.high)


def estimate(
    metric: str, values: Sequence[float], *, deterministic: bool, n_test: int | None, overlap: float = 0.0
) -> Estimate:
    """Estimate a metric from one value per seed, with its 95 % interval.

    That is Student's t over seeds that differ; where two of them share r = ``overlap`` < 1 of their test
    rows, the mean has ``1 / n + r / (1 - r)`` of their variance (Nadeau and Bengio 2003). Else it is, of
    shares and counts of wrong rows, Wilson's score interval for the draw of the ``n_test`` test rows (JASA
    22, 1927). Ends stay in the metric's range.
    """
    if not values:
        raise ValueError(f"no value of {metric!r} to estimate from")
    n_seeds = len(values)
    mean = math.fsum(values) / n_seeds
    if not math.isfinite(mean):
        return Estimate(mean, None, None, n_seeds, "")
    if len(set(values)) >= 2 and not deterministic:
        quantile = float(student_t.ppf((1 + LEVEL) / 2, n_seeds - 1))
        shared = overlap / (1 - overlap) if overlap < 1 else 0.0
        half_width = quantile * statistics.stdev(values) * math.sqrt(1 / n_seeds + shared)
        low, high = within_range(metric, mean - half_width, mean + half_width, n_test)
        return Estimate(mean, low, high, n_seeds, OVER_SHARED_ROWS if shared else OVER_SEEDS)
    largest = 1.0 if metric in _ERRORS else float(n_test or 0) if metric == "test_errors" else 0.0
    if largest and n_test and 0 <= mean <= largest:
        found = wilson(round(mean / largest * n_test), n_test, level=LEVEL)
        return Estimate(mean, largest * found.low, largest * found.high, n_seeds, OVER_ROWS)
    return Estimate(mean, None, None, n_seeds, "")


def prediction_interval(
    metric: str, values: Sequence[float], *, deterministic: bool, n_test: int | None
) -> tuple[float, float] | None:
    """Bound the value of one further run, at 95 %: a published number is the value of one run.

    Of seeds that differ it is √(1 + n) times as wide as the interval of their mean, else √2 times as wide as
    that over test rows. None without an interval.
    """
    found = estimate(metric, values, deterministic=deterministic, n_test=n_test)
    if found.low is None or found.high is None:
        return None
    wider = math.sqrt(1 + (found.n_seeds if found.interval == OVER_SEEDS else 1))
    low, high = (found.mean + wider * (end - found.mean) for end in (found.low, found.high))
    return within_range(metric, low, high, n_test)


def within_range(metric: str, low: float, high: float, n_test: int | None) -> tuple[float, float]:
    """Cut the ends of an interval to the values that a metric of classes or labels can have."""
    whole = metric.removeprefix("test_").removesuffix("_at_half")
    name = split_size(whole)[0]
    if name == "errors":
        return max(low, 0.0), min(high, n_test or math.inf)
    if {name, whole} & _FROM_ZERO:
        return max(low, 0.0), high
    share = {name, whole} & _SHARES or name.endswith("error")
    return (max(low, 0.0), min(high, 1.0)) if share else (low, high)
