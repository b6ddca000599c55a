"""Comparison of methods on one dataset: intervals, tie groups and paired differences.

Runs differ in the seed alone and share their test rows (`compare_over_seeds`), or each has a split of its own
(`compare_over_splits`), or leave one value each (`compare_values`). The three give the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from eigenbench.comparison.mean_intervals import Interval, rows_and_seeds, rows_and_splits
from eigenbench.comparison.paired import corrected_resampled_t, mcnemar
from eigenbench.comparison.ranks import holm
from eigenbench.comparison.resampling import resample_rows, resampled_means
from eigenbench.comparison.row_losses import sum_over_splits
from eigenbench.comparison.row_metric import RowMetric
from eigenbench.comparison.ties import model_confidence_set, tie_group, tie_group_of_metric

#: Of every table: membership in the tie group with its p-value, and the paired difference to the best.
COLUMNS = (
    "tied",
    "tie_p_value",
    "difference",
    "difference_low",
    "difference_high",
    "p_value",
    "p_holm",
)


def interval_over_seeds(runs: Sequence[RowMetric], *, level: float = 0.95) -> Interval:
    """Bound the mean of a metric over seeds that share one test set, for new test rows and new seeds.

    Shares and counts of wrong rows get `eigenbench.comparison.mean_intervals.rows_and_seeds`, other metrics
    Student's t with the standard error of resampled rows and seeds.

    Parameters
    ----------
    runs : sequence of RowMetric
        One for each seed.
    level : float, default=0.95
        Confidence.

    Examples
    --------
    >>> rows = np.arange(100)[:, None]
    >>> found = interval_over_seeds([RowMetric(rows < n_wrong) for n_wrong in (8, 9, 7)])
    >>> f"{found.estimate:.2f} [{found.low:.3f}, {found.high:.3f}]"
    '0.08 [0.041, 0.150]'
    """
    wrong = [run.wrong for run in runs]
    if all(rows is not None for rows in wrong):
        found, scale = rows_and_seeds(np.array(wrong), level=level), runs[0].scale
        return Interval(scale * found.estimate, scale * found.low, scale * found.high)
    resamples = _Resamples([runs])
    estimate = float(resamples.values[0])
    error, freedom = resamples.error_and_freedom(0)
    half_width = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    return Interval(estimate, estimate - half_width, estimate + half_width)


def interval_over_splits(
    runs: Sequence[RowMetric], *, n_train: int, n_test: int, level: float = 0.95
) -> Interval:
    """Bound the mean of a metric over splits of one dataset, for new training and test rows.

    Shares and counts of wrong rows get `eigenbench.comparison.mean_intervals.rows_and_splits`, other metrics
    Student's t with the variance corrected for the rows that splits share.

    Parameters
    ----------
    runs : sequence of RowMetric
        One for each split, at least two.
    n_train, n_test : int
        Training and test rows of a split.
    level : float, default=0.95
        Confidence.
    """
    values = [run.value for run in runs]
    if all(run.wrong is not None for run in runs):
        scale = runs[0].scale
        errors = np.array(values) / [run.scale for run in runs]
        found = rows_and_splits(errors, n_train=n_train, n_test=n_test, level=level)
        return Interval(float(np.mean(values)), scale * found.low, scale * found.high)
    mean = corrected_resampled_t(values, n_train=n_train, n_test=n_test, level=level)
    return Interval(mean.estimate, mean.low, mean.high)


def compare_over_seeds(
    runs: Mapping[str, Sequence[RowMetric]], *, lower_is_better: bool = True, level: float = 0.05
) -> pd.DataFrame:
    """Compare methods whose runs share one test set and differ in the seed.

    The tie group is the model confidence set over resampled rows, each of which brings the results of all
    methods along, and normal noise with the variance that new seeds bring. Differences to the best have
    Student's t intervals with the same two variances and Satterthwaite's degrees of freedom, and p-values of
    that t; of two methods with one run each, whose metric is a share of wrong rows, McNemar's.

    Parameters
    ----------
    runs : mapping of str to sequence of RowMetric
        By method, one for each of its seeds, whose numbers may differ; all on the same rows.
    lower_is_better : bool, default=True
        Which end of the metric is the good one.
    level : float, default=0.05
        Nominal probability that the tie group lacks a best method, and that an interval lacks its difference.

    Returns
    -------
    DataFrame
        One line per method, columns `COLUMNS`. ``p_holm`` is corrected for the number of methods, not for
        the choice of the best among them; ``tie_p_value`` is corrected for both.

    Notes
    -----
    Two equally good randomized methods (300 rows, 5 seeds that shift the logit of an error by a normal
    variable; 200 simulations, seed 19) were told from each other in 4, 8 and 6 %, for a standard deviation
    of 0, .2 and .5. Repeat by ``tests/comparison/test_one_dataset.py`` with ``-m slow``.

    Examples
    --------
    >>> rows = np.arange(200)
    >>> wrong = {"gem": [rows < 10, rows < 12], "pca": [rows < 60, rows < 64], "nca": [rows < 11]}
    >>> runs = {name: [RowMetric(one[:, None]) for one in found] for name, found in wrong.items()}
    >>> compare_over_seeds(runs)["tied"].to_dict()
    {'gem': True, 'pca': False, 'nca': True}
    """
    sign = 1 if lower_is_better else -1
    found = list(runs.values())
    resamples = _Resamples(found)
    tie_p_values = model_confidence_set(sign * resamples.values, sign * resamples.with_seeds())
    best = int(np.argmin(sign * resamples.values))
    lines = [
        (p_value > level, p_value, *_difference_over_seeds(resamples, found, place, best, level))
        for place, p_value in enumerate(tie_p_values)
    ]
    return _table(list(runs), lines, best)


def compare_over_splits(
    runs: Mapping[str, Mapping[int, RowMetric]],
    test_rows: Mapping[int, ArrayLike],
    *,
    n_train: int,
    n_test: int,
    lower_is_better: bool = True,
    level: float = 0.05,
) -> pd.DataFrame:
    """Compare methods over splits of one dataset.

    Tie groups are `eigenbench.comparison.ties.tie_group`, differences to the best
    `eigenbench.comparison.paired.corrected_resampled_t`.

    Parameters
    ----------
    runs : mapping of str to mapping of int to RowMetric
        By method and split; every method in every split.
    test_rows : mapping of int to array of int
        Numbers of the test rows in the dataset, by split.
    n_train, n_test : int
        Training and test rows of a split.
    lower_is_better, level
        As for `compare_over_seeds`.

    Returns
    -------
    DataFrame
        As by `compare_over_seeds`.
    """
    sign = 1 if lower_is_better else -1
    names = list(runs)
    ties = _ties_over_splits(runs, test_rows, sign, level)
    values = pd.DataFrame({name: {split: run.value for split, run in runs[name].items()} for name in names})
    best = int(np.argmin(sign * values.mean().to_numpy()))
    lines = []
    for name in names:
        difference = values[name] - values[names[best]]
        found = corrected_resampled_t(difference, n_train=n_train, n_test=n_test, level=1 - level)
        tie = ties.loc[name]
        lines.append((tie["tied"], tie["p_value"], found.estimate, found.low, found.high, found.p_value))
    return _table(names, lines, best)


def compare_values(
    values: pd.DataFrame, *, lower_is_better: bool = True, level: float = 0.05
) -> pd.DataFrame:
    """Compare methods that leave one value per seed and no row to resample, paired over seeds.

    Parameters
    ----------
    values : DataFrame
        One line per seed and one column per method, finite.
    lower_is_better, level
        As for `compare_over_seeds`.

    Returns
    -------
    DataFrame
        As by `compare_over_seeds`, without ``tie_p_value``: a method is tied unless the paired t-test over
        seeds, corrected by Holm, tells it from the best. With one seed, or where all differences are the
        same, there is no test, and whether methods tie is unknown.

    Examples
    --------
    >>> values = pd.DataFrame({"gem": [0.10, 0.12, 0.11], "pca": [0.30, 0.33, 0.31]})
    >>> values["nca"] = [0.11, 0.12, 0.10]
    >>> compare_values(values)["tied"].to_dict()
    {'gem': True, 'pca': False, 'nca': True}
    """
    sign = 1 if lower_is_better else -1
    names = list(values.columns)
    best = int(np.argmin(sign * values.mean().to_numpy()))
    lines = [(pd.NA, np.nan, *_paired_t(values[name] - values[names[best]], level)) for name in names]
    table = _table(names, lines, best)
    corrected = table["p_holm"].where(table["difference"] != 0, 1.0)
    table["tied"] = (corrected > level).astype("boolean").where(corrected.notna())
    return table


class _Resamples:
    """Means over seeds of methods on resampled rows, shape (B, m), and how much the seeds add."""

    def __init__(self, methods: Sequence[Sequence[RowMetric]], n_resamples: int = 1000) -> None:
        runs = [run for found in methods for run in found]
        by_run = _resample_runs(runs, n_resamples)
        by_method = np.split(by_run, np.cumsum([len(found) for found in methods])[:-1], axis=1)
        by_seed = [np.array([run.value for run in found]) for found in methods]
        self.values = np.array([found.mean() for found in by_seed])
        self.rows = np.array([found.mean(axis=1) for found in by_method]).T
        #: Variance of the mean over seeds that is due to the seeds, and to them with the rows at hand.
        self.of_seeds = np.array([_seed_variance(*found) for found in zip(by_seed, by_method, strict=True)])
        self.spread = [np.var(found, ddof=1) / len(found) if len(found) > 1 else 0.0 for found in by_seed]
        self.n_seeds = np.array([len(found) for found in methods])

    def with_seeds(self) -> NDArray[np.float64]:
        """Add normal noise of the variance of seeds, as wide as Student's t where they are few."""
        student = stats.t.ppf(0.975, np.maximum(1, 2 * (self.n_seeds - 1))) / stats.norm.ppf(0.975)
        noise = np.random.default_rng(1).standard_normal(self.rows.shape)
        return self.rows + noise * student * np.sqrt(self.of_seeds)

    def error_and_freedom(self, first: int, second: int | None = None) -> tuple[float, float]:
        """Return the standard error of a method, or of the difference of two, with degrees of freedom."""
        places = [first] if second is None else [first, second]
        rows, estimate = self.rows[:, first], self.values[first]
        if second is not None:
            rows, estimate = rows - self.rows[:, second], estimate - self.values[second]
        variance = np.mean((rows - estimate) ** 2) + self.of_seeds[places].sum()
        if variance <= (1e-12 * max(1.0, np.abs(self.values[places]).max())) ** 2:
            return 0.0, np.inf
        few = sum(self.spread[place] ** 2 / max(1, self.n_seeds[place] - 1) for place in places)
        return float(np.sqrt(variance)), max(1.0, variance**2 / few) if few else np.inf


def _resample_runs(runs: Sequence[RowMetric], n_resamples: int) -> NDArray[np.float64]:
    """Return the metric of each run on resampled rows, shape (B, runs)."""
    ones = np.ones(runs[0].n_rows, dtype=np.int64)
    if all(run.combine is None for run in runs):
        return resampled_means(np.array([run.by_row for run in runs]), ones, n_resamples, 0)
    blocks = resample_rows(ones, n_resamples, 0)
    return np.concatenate([np.array([run.on(weights) for run in runs]).T for weights in blocks])


def _seed_variance(values: NDArray[np.float64], resampled: NDArray[np.float64]) -> float:
    """Return the variance of a mean over seeds that new seeds bring, less what rows by seeds bring.

    Resampled rows have all of the latter: it is what the resampled values of one seed vary by alone.
    """
    if len(values) < 2:
        return 0.0
    covariance = np.cov(resampled.T)
    n_seeds = len(values)
    shared = (covariance.sum() - np.trace(covariance)) / (n_seeds * (n_seeds - 1))
    interaction = np.trace(covariance) / n_seeds - shared
    return max(0.0, float(np.var(values, ddof=1) - interaction)) / n_seeds


def _difference_over_seeds(
    resamples: _Resamples, runs: Sequence[Sequence[RowMetric]], own: int, best: int, level: float
) -> tuple[float, float, float, float]:
    """Return a difference to the best, the ends of its interval, and its p-value."""
    difference = float(resamples.values[own] - resamples.values[best])
    error, freedom = resamples.error_and_freedom(own, best)
    if error == 0:
        return difference, difference, difference, 1.0 if difference == 0 else np.nan
    student = stats.t(freedom)
    half_width = float(student.ppf(1 - level / 2)) * error
    p_value = float(2 * student.sf(abs(difference) / error))
    if len(runs[own]) == len(runs[best]) == 1:
        first, second = runs[own][0].wrong, runs[best][0].wrong
        if first is not None and second is not None:
            p_value = mcnemar(first, second).p_value
    return difference, difference - half_width, difference + half_width, p_value


def _ties_over_splits(
    runs: Mapping[str, Mapping[int, RowMetric]], test_rows: Mapping[int, ArrayLike], sign: int, level: float
) -> pd.DataFrame:
    if all(run.combine is None for found in runs.values() for run in found.values()):
        losses = {
            name: {split: sign * run.by_row for split, run in found.items()} for name, found in runs.items()
        }
        return tie_group(sum_over_splits(losses, test_rows), level=level)
    numbers = np.unique(np.concatenate([np.asarray(rows) for rows in test_rows.values()]))
    places = {split: np.searchsorted(numbers, rows) for split, rows in test_rows.items()}

    def metric(weights: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array(
            [
                np.mean([sign * run.on(weights[None, places[split]])[0] for split, run in found.items()])
                for found in runs.values()
            ]
        )

    return tie_group_of_metric(metric, list(runs), len(numbers), level=level)


def _paired_t(differences: pd.Series, level: float) -> tuple[float, float, float, float]:
    mean = float(differences.mean())
    if len(differences) < 2 or np.ptp(differences) <= 1e-12 * differences.abs().max():
        return (mean, 0.0, 0.0, 1.0) if mean == 0 else (mean, np.nan, np.nan, np.nan)
    found = stats.ttest_1samp(differences, 0)
    ends = found.confidence_interval(1 - level)
    return mean, float(ends.low), float(ends.high), float(found.pvalue)


def _table(names: Sequence[str], lines: Sequence[tuple[Any, ...]], best: int) -> pd.DataFrame:
    """Add Holm's correction; the best has a difference of 0 to itself and no test."""
    table = pd.DataFrame(lines, index=list(names), columns=list(COLUMNS[:-1]))
    table["tied"] = table["tied"].astype("boolean")
    columns = ["difference_low", "difference_high", "p_value"]
    table.iloc[best, [table.columns.get_loc(name) for name in columns]] = np.nan
    table["p_holm"] = holm(table["p_value"])
    return table
