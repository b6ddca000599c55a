"""Means over seeds and their 95 % confidence intervals, from the values of runs alone."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import t as student_t

from eigenbench.bench.suites.parts import MULTICLASS_METRICS, MULTILABEL_METRICS
from eigenbench.comparison.mean_intervals import wilson

LEVEL = 0.95
OVER_SEEDS = "Student t over seeds"
OVER_ROWS = "Wilson over test rows"
#: From stored predictions.
ROWS_AND_SEEDS = "over test rows and seeds"
ROWS_AND_SPLITS = "over test rows and splits"
KINDS = (ROWS_AND_SEEDS, ROWS_AND_SPLITS, OVER_SEEDS, OVER_ROWS)

#: Metrics that count wrong test rows; the value is the largest one possible, given the number of rows.
_BINOMIAL = {"test_error": lambda n_test: 1.0, "test_errors": lambda n_test: float(n_test)}

#: Metrics from 0 on, and those from 0 to 1.
_FROM_ZERO = {
    "log_loss",
    "brier",
    "rmse",
    "mae",
    *(name for name in MULTILABEL_METRICS if name.startswith("ps_")),
}
_SHARES = {*MULTICLASS_METRICS, *MULTILABEL_METRICS} - _FROM_ZERO


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n_seeds`` runs with its 95 % interval, if the data give one, in the metric's stored unit.

    ``interval`` says how the interval was made: one of `KINDS`, or empty.
    """

    mean: float
    low: float | None
    high: float | None
    n_seeds: int
    interval: str


def estimate(metric: str, values: Sequence[float], *, deterministic: bool, n_test: int | None) -> Estimate:
    """Estimate a metric from one value per seed.

    With at least two seeds that differ, the interval is Student's t for the mean over seeds: it covers the
    randomness of the method (and of the split, where the seed draws it) for the data at hand. With one seed,
    a deterministic method, or seeds that all agree, seeds say nothing about the error; then ``test_error``
    and ``test_errors`` get Wilson's score interval for a binomial proportion (JASA 22, 1927): it covers the
    draw of the ``n_test`` test rows. Other metrics then have no interval. Ends are cut to the possible range
    of the metric. No value at all raises `ValueError`.

    Examples
    --------
    >>> found = estimate("test_errors", [108.0], deterministic=False, n_test=10_000)
    >>> f"{found.mean:.0f} [{found.low:.1f}, {found.high:.1f}]"
    '108 [89.5, 130.2]'
    """
    if not values:
        raise ValueError(f"no value of {metric!r} to estimate from")
    n_seeds = len(values)
    mean = math.fsum(values) / n_seeds
    if not math.isfinite(mean):
        return Estimate(mean, None, None, n_seeds, "")
    largest = _BINOMIAL[metric](n_test) if metric in _BINOMIAL and n_test else None
    if len(set(values)) >= 2 and not deterministic:
        low, high = within_range(metric, *_over_seeds(values, mean), n_test)
        return Estimate(mean, low, high, n_seeds, OVER_SEEDS)
    if largest is not None and n_test and 0 <= mean <= largest:
        low, high = _over_rows(mean / largest, n_test)
        return Estimate(mean, largest * low, largest * high, n_seeds, OVER_ROWS)
    return Estimate(mean, None, None, n_seeds, "")


def prediction_interval(
    metric: str, values: Sequence[float], *, deterministic: bool, n_test: int | None
) -> tuple[float, float] | None:
    """Bound the value of one further run, at 95 %: a published number is the value of one run.

    Of seeds that differ it is Student's t with ``s √(1 + 1/n)``, which is √(1 + n) times as wide as the
    interval of their mean. Where seeds say nothing, it comes in the same way from the test rows of one run.
    Ends are cut to the possible range of the metric. None where the values give no interval.

    Examples
    --------
    >>> low, high = prediction_interval("nn_error", [0.10, 0.12, 0.14], deterministic=False, n_test=None)
    >>> f"{low:.3f} {high:.3f}"
    '0.021 0.219'
    """
    found = estimate(metric, values, deterministic=deterministic, n_test=n_test)
    if found.low is None or found.high is None:
        repeated = math.isfinite(found.mean) and len(values) > 1 and len(set(values)) == 1
        return (found.mean, found.mean) if repeated else None
    wider = math.sqrt(1 + (found.n_seeds if found.interval == OVER_SEEDS else 1))
    low, high = (found.mean + wider * (end - found.mean) for end in (found.low, found.high))
    return within_range(metric, low, high, n_test)


def within_range(metric: str, low: float, high: float, n_test: int | None) -> tuple[float, float]:
    """Cut the ends of an interval to the values that a metric of classes or labels can have."""
    name = metric.removeprefix("test_")
    if name == "errors":
        return max(low, 0.0), min(high, n_test or math.inf)
    if name in _FROM_ZERO:
        return max(low, 0.0), high
    return (max(low, 0.0), min(high, 1.0)) if name in _SHARES else (low, high)


def _over_seeds(values: Sequence[float], mean: float) -> tuple[float, float]:
    quantile = float(student_t.ppf((1 + LEVEL) / 2, len(values) - 1))
    half_width = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return mean - half_width, mean + half_width


def _over_rows(share: float, n_test: int) -> tuple[float, float]:
    found = wilson(round(share * n_test), n_test, level=LEVEL)
    return found.low, found.high
