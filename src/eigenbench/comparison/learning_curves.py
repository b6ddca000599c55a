"""Learning curves: who is best at each size, by which ratio, and how many rows a rival needs for as much."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from eigenbench.comparison.differences import compare_values

#: Fewest seeds that both methods of a ratio must have for an interval.
MIN_SEEDS = 3

#: The ratio of errors from which on an advantage matters.
ADVANTAGE = 0.9

_RESAMPLES = 2_000
_LEVEL = 0.95

#: Errors of one method: seeds x sizes, ascending; NaN where a seed did not measure a size.
Curve: TypeAlias = pd.DataFrame


class RowsNeeded(NamedTuple):
    """Training rows at which a rival has an error, with a 95 % interval; infinite beyond its largest size."""

    rows: float
    low: float
    high: float


def ratio_of_errors(first: Curve, second: Curve) -> pd.DataFrame:
    """Compute the geometric mean over seeds of the ratio of two methods' errors, at each size.

    Methods of one seed share training rows, so that ratios are paired. The interval is Student's t for
    the mean of their logarithms. An error of zero counts as half of the smallest positive one of both.
    Sizes that fewer than three seeds of both have are left out. ``p_advantage`` is the probability of a
    ratio below 0.9, as the t distribution around the mean has it.

    Examples
    --------
    >>> sizes = [250, 1000]
    >>> pca = pd.DataFrame([[0.20, 0.10], [0.22, 0.11], [0.18, 0.12]], columns=sizes)
    >>> gem = pd.DataFrame([[0.15, 0.05], [0.17, 0.05], [0.13, 0.06]], columns=sizes)
    >>> ratio_of_errors(gem, pca)[["ratio", "low", "high"]].round(2).loc[1000].tolist()
    [0.48, 0.42, 0.56]
    """
    logarithms = _logarithms({"first": first, "second": second})
    differences = logarithms["first"] - logarithms["second"]
    lines = {}
    for size in differences.columns:
        values = differences[size].dropna().to_numpy()
        if len(values) < MIN_SEEDS:
            continue
        mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
        half = stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1) * error
        if error > 0:
            p = float(stats.t.cdf((np.log(ADVANTAGE) - mean) / error, len(values) - 1))
        else:
            p = float(mean < np.log(ADVANTAGE))
        low, ratio, high = np.exp([mean - half, mean, mean + half])
        lines[size] = {"ratio": ratio, "low": low, "high": high, "n_seeds": len(values), "p_advantage": p}
    columns = ["ratio", "low", "high", "n_seeds", "p_advantage"]
    return pd.DataFrame.from_dict(lines, orient="index", columns=columns).rename_axis("size")


def winners(curves: Mapping[str, Curve]) -> pd.DataFrame:
    """Find the method with the lowest mean error at each size, and those that are tied with it.

    The joint test is that of `compare_values`, on logarithms of errors. Training sets and seeds vary, and
    the test set is one. ``error`` is that of the best, ``tied`` the number of methods tied with it,
    itself included (NaN with fewer than five seeds); `ratio_of_errors` of best and second gives the other
    columns.
    """
    logarithms = _logarithms(curves)
    means = pd.DataFrame({name: curve.mean() for name, curve in curves.items()})
    lines = []
    for size, row in means.sort_index().iterrows():
        order = row.dropna().sort_values(kind="stable").index
        if len(order) < 2:
            continue
        best, second = order[:2]
        values = pd.DataFrame({name: logarithms[name][size] for name in order}).dropna()
        tied = compare_values(values).table["tied"]
        found = ratio_of_errors(curves[best], curves[second]).reindex([size]).iloc[0].to_dict()
        n_tied = np.nan if tied.isna().all() else tied.sum()
        lines.append(
            {"size": size, "best": best, "second": second, "error": row[best], "tied": n_tied, **found}
        )
    columns = ["best", "second", "error", "tied", "ratio", "low", "high", "n_seeds", "p_advantage"]
    return pd.DataFrame(lines, columns=["size", *columns]).set_index("size")


def rows_needed(method: Curve, rival: Curve, size: int) -> RowsNeeded:
    """Estimate how many training rows a rival needs for the error that a method has at a size.

    The rival's curve is the geometric mean over seeds, linear between its sizes on logarithmic axes, and made
    monotone: more rows never give a larger error. The interval holds 95 % of resamples of seeds, the same for
    both. Rows are infinite where the rival's largest size does not suffice, and its smallest size where that
    suffices.

    Examples
    --------
    >>> sizes = [250, 1000, 4000]
    >>> rival = pd.DataFrame([[0.4, 0.2, 0.1]] * 3, columns=sizes)
    >>> method = pd.DataFrame([[0.28, 0.14, 0.07]] * 3, columns=sizes)
    >>> round(rows_needed(method, rival, 1000).rows)
    2041
    """
    logarithms = _logarithms({"method": method, "rival": rival})
    goals, rivals = logarithms["method"][size], logarithms["rival"]
    common = rivals.index.intersection(goals.dropna().index)
    if not len(common):
        raise ValueError(f"the methods have no seed in common at {size} rows")
    generator = np.random.default_rng(0)
    goal, table = goals.loc[common].to_numpy(), rivals.loc[common].to_numpy()
    sizes = np.log(np.asarray(rivals.columns, dtype=float))
    drawn = generator.integers(len(common), size=(_RESAMPLES, len(common)))
    found = np.array([_rows_at(sizes, table[rows], goal[rows].mean()) for rows in drawn])
    low, high = np.quantile(found, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], method="closest_observation")
    return RowsNeeded(_rows_at(sizes, table, goal.mean()), float(low), float(high))


def _rows_at(log_sizes: NDArray[np.float64], table: NDArray[np.float64], goal: float) -> float:
    """Return the rows at which the mean curve of some seeds comes down to a logarithm of an error."""
    measured = ~np.isnan(table).all(axis=0)
    curve = np.minimum.accumulate(np.nanmean(table[:, measured], axis=0))
    places = log_sizes[measured]
    reached = np.flatnonzero(curve <= goal)
    if not len(reached):
        return float(np.inf)
    after = reached[0]
    if after == 0:
        return float(np.round(np.exp(places[0])))
    before = after - 1
    share = (curve[before] - goal) / (curve[before] - curve[after])
    return float(np.exp(places[before] + share * (places[after] - places[before])))


def crossing(first: Curve, second: Curve) -> tuple[int, int] | None:
    """Return the two sizes between which one method takes over from the other, or None.

    Both must lead significantly: the interval of their ratio excludes 1, on other sides at the two sizes.
    The sizes are the nearest such pair.
    """
    ratios = ratio_of_errors(first, second)
    leads = {
        int(size): np.sign(line.ratio - 1)
        for size, line in zip(ratios.index, ratios.itertuples(), strict=True)
        if line.low > 1 or line.high < 1
    }
    sizes = sorted(leads)
    changes = ((before, after) for before, after in pairwise(sizes) if leads[before] != leads[after])
    return next(changes, None)


def best_within(
    errors: Mapping[str, Curve], seconds: Mapping[str, Curve], budgets: tuple[float, ...]
) -> pd.DataFrame:
    """Return the lowest mean error that each method reaches within some seconds of fitting.

    The table has methods as lines and budgets as columns; NaN where no size of a method is cheap enough.
    """
    found = {
        name: {budget: curve.mean()[seconds[name].mean() <= budget].min() for budget in budgets}
        for name, curve in errors.items()
    }
    return pd.DataFrame.from_dict(found, orient="index", columns=list(budgets))


def _logarithms(curves: Mapping[str, Curve]) -> dict[str, pd.DataFrame]:
    """Return the logarithms of errors; one of zero counts as half of the smallest positive one."""
    positive = [curve.where(curve > 0).min().min() for curve in curves.values()]
    floor = np.nanmin(positive) / 2 if not np.isnan(positive).all() else 1.0
    return {name: np.log(curve.where(curve != 0, floor)) for name, curve in curves.items()}
