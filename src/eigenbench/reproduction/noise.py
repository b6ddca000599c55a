"""Noise of a metric: differences between two runs of one method by test rows and seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, stdev
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.records.record import Record

LEVEL = 0.95

#: Differences of floating point sums in another order, as shares of the value.
ROUNDING = 1e-6

_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)
_COUNTS = ("test_errors", "errors")
_SHARES = ("test_error", "error", "validation_error")


@dataclass(frozen=True)
class Noise:
    """The largest difference of two runs that noise explains, at 95 %, and what the noise is of."""

    half_width: float
    source: Literal["seeds", "rows"]


def is_time_or_memory(metric: str) -> bool:
    """Return whether a metric says how long something took or how much memory: no two runs agree.

    Examples
    --------
    >>> [is_time_or_memory(name) for name in ("fit_seconds_at_512", "test_error")]
    [True, False]
    """
    stem = metric.partition("_at_")[0]
    return stem.endswith(("_seconds", "_per_second", "_mb", "gemm_ratio", "gemm_cosine_ratio"))


def noise_of(
    metric: str,
    reference: float,
    here: float,
    *,
    by_seed: Sequence[float],
    record: Record,
    validation_rows: int | None = None,
    probability: NDArray[Any] | None = None,
) -> Noise | None:
    """Return the larger of the noise of seeds and that of rows; None where nothing tells how large it is.

    The noise of seeds is that of the difference of two draws from a normal distribution with the standard
    deviation s of the reference's seeds, ``t √2 s``, with the quantile of Student's t. The noise of rows is
    that of two independent test sets, ``z √2 σ``, where σ is the standard error of the mean over the rows:
    for error rates and counts from the pooled rate, for balanced errors from the confusion matrix of the
    record, for the log loss from the stored probabilities. Runs that share their test rows differ by less,
    so this is the widest difference that can be called noise.

    ``by_seed`` has the values of all seeds of the reference, ``validation_rows`` is the number of rows held
    out of the training rows, and ``probability`` (n_test,) the stored one of each test row's true class.
    """
    found = [
        noise
        for noise in (
            _of_seeds(by_seed),
            _of_rows(metric, reference, here, record, validation_rows, probability),
        )
        if noise is not None
    ]
    return max(found, key=lambda noise: noise.half_width, default=None)


def _of_seeds(values: Sequence[float]) -> Noise | None:
    if len(values) < 2:
        return None
    from scipy.stats import t

    quantile = float(t.ppf((1 + LEVEL) / 2, len(values) - 1))
    return Noise(quantile * math.sqrt(2) * stdev(values), "seeds")


def _of_rows(
    metric: str,
    reference: float,
    here: float,
    record: Record,
    validation_rows: int | None,
    probability: NDArray[Any] | None,
) -> Noise | None:
    n_test = record.dataset_info.n_test if record.dataset_info else 0
    n_rows = (validation_rows or 0) if metric == "validation_error" else n_test
    error = None
    if metric in (*_COUNTS, *_SHARES) and n_rows:
        unit = n_rows if metric in _COUNTS else 1
        rate = min(1.0, max(0.0, (reference + here) / 2 / unit))
        error = unit * math.sqrt(rate * (1 - rate) / n_rows)
    elif metric == "test_balanced_error" and record.confusion:
        error = _balanced_standard_error(np.array(record.confusion.matrix))
    elif metric == "test_log_loss" and probability is not None and probability.size > 1:
        losses = -np.log(np.maximum(probability.astype(np.float64), np.finfo(np.float64).eps))
        error = float(losses.std(ddof=1) / math.sqrt(losses.size))
    return None if error is None else Noise(_NORMAL * math.sqrt(2) * error, "rows")


def _balanced_standard_error(confusion: NDArray[np.int64]) -> float:
    """Return the standard error of the mean of the class error over the classes that occur."""
    rows = confusion.sum(axis=1)
    rates = 1 - np.diagonal(confusion)[rows > 0] / rows[rows > 0]
    return float(np.sqrt(np.sum(rates * (1 - rates) / rows[rows > 0])) / rates.size)
