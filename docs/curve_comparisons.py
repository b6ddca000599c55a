"""Learning curves: who is best at each size, by which ratio, and how many rows a rival needs for as much."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from eigenbench.comparison.differences import compare_values
from eigenbench.own_data.more_rows import ADVANTAGE, Curve

#: Fewest seeds that both methods of a ratio must have for an interval.
MIN_SEEDS = 3

#: Key of a curve's attributes: the sizes at which all seeds have nearly the same training rows.
SAME_ROWS = "same rows"

_RESAMPLES = 2_000
_LEVEL = 0.95


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
    ratio below 0.9, as the t distribution around the mean has it. At the sizes in ``attrs["same rows"]`` all
    seeds have nearly the same training rows: there is a ratio, and the rest is NaN.
    """
    logarithms = _logarithms({"first": first, "second": second})
    differences = logarithms["first"] - logarithms["second"]
    differences = differences.loc[:, differences.count() >= MIN_SEEDS]
    mean, n_seeds = differences.mean(), differences.count()
    error = differences.std(ddof=1) / np.sqrt(n_seeds)
    half = stats.t.ppf((1 + _LEVEL) / 2, n_seeds - 1) * error
    found = pd.DataFrame({"ratio": np.exp(mean), "low": np.exp(mean - half), "high": np.exp(mean + half)})
    p = stats.t.cdf((np.log(ADVANTAGE) - mean) / error, n_seeds - 1)
    found = found.assign(n_seeds=n_seeds, p_advantage=p).rename_axis("size")
    found.loc[found.index.isin(first.attrs.get(SAME_ROWS, ())), ["low", "high", "p_advantage"]] = np.nan
    return found


def winners(curves: Mapping[str, Curve]) -> pd.DataFrame:
    """Find the method with the lowest geometric mean of errors at each size, and those tied with it.

    The joint test is that of `compare_values`, on logarithms of errors. Training sets and seeds vary, and
    the test set is one. ``error`` is that of the best, ``tied`` the number of methods tied with it,
    itself included (NaN with fewer than five seeds, or where all have nearly the same training rows);
    `ratio_of_errors` of best and second gives the other columns. Methods with fewer than three seeds are left
    out.
    """
    logarithms = _logarithms(curves)
    means = pd.DataFrame(
        {name: found.mean().where(found.count() >= MIN_SEEDS) for name, found in logarithms.items()}
    )
    lines = []
    for size, row in means.sort_index().iterrows():
        order = row.dropna().sort_values(kind="stable").index
        if len(order) < 2:
            continue
        best, second = order[:2]
        values = pd.DataFrame({name: logarithms[name][size] for name in order}).dropna()
        tied = compare_values(values).table["tied"]
        found = ratio_of_errors(curves[best], curves[second]).reindex([size]).iloc[0].to_dict()
        untested = tied.isna().all() or size in curves[best].attrs.get(SAME_ROWS, ())
        n_tied = np.nan if untested else tied.sum()
        lines.append(
            {
                "size": size,
                "best": best,
                "second": second,
                "error": curves[best][size].mean(),
                "tied": n_tied,
                **found,
            }
        )
    columns = ["best", "second", "error", "tied", "ratio", "low", "high", "n_seeds", "p_advantage"]
    return pd.DataFrame(lines, columns=["size", *columns]).set_index("size")


def rows_needed(method: Curve, rival: Curve, size: int) -> RowsNeeded:
    """Estimate how many training rows a rival needs for the error that a method has at a size.

    The rival's curve is the geometric mean over seeds, linear between its sizes on logarithmic axes, and made
    monotone: more rows never give a larger error. The interval holds 95 % of resamples of seeds, the same for
    both. Rows are infinite where the rival's largest size does not suffice, and its smallest size where that
    suffices.
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


def _logarithms(curves: Mapping[str, Curve]) -> dict[str, pd.DataFrame]:
    """Return the logarithms of errors; one of zero counts as half of the smallest positive one."""
    positive = [curve.where(curve > 0).min().min() for curve in curves.values()]
    floor = np.nanmin(positive) / 2 if not np.isnan(positive).all() else 1.0
    return {name: np.log(curve.where(curve != 0, floor)) for name, curve in curves.items()}
