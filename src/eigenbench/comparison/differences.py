"""Comparison of methods on one dataset: differences to the best, with one interval, p-value and tie mark.

One procedure serves every design. The variance of a difference comes from blocks (re-drawn splits, or seeds
on one test set), moderated over methods, and from test rows, or whole groups of them. Tie mark, interval and
p-value follow from it by Tukey's studentized range, which allows for the choice of the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from eigenbench.comparison.row_metric import RowMetric
from eigenbench.comparison.sampling_units import SamplingUnits, interaction_variance, variance_of_sum
from eigenbench.comparison.tukey import moderated_variances, range_p_value, range_quantile

#: Columns of the table of a comparison.
COLUMNS = ("tied", "difference", "difference_low", "difference_high", "p_value", "detectable", "n_to_settle")
#: Fewer re-drawn splits, or values without test rows, do not tell how much they vary.
MIN_SPLITS = 5
#: Nominal probability that any of several equal methods is not tied with the best.
LEVEL = 0.05
#: Probability with which a ``detectable`` difference is found.
POWER = 0.8
#: Rounds of variances and weights of methods; they converge in fewer.
_ROUNDS = 10
#: A plan for more seeds than this is none.
_MOST_SEEDS = 1000

#: Sources of the variance.
OVER_SPLITS = "re-drawn splits"
OVER_SEEDS_AND_ROWS = "seeds and test rows"
OVER_ROWS = "test rows, one run each"
OVER_VALUES = "values of the seeds"


@dataclass(frozen=True, eq=False)
class MethodDifferences:
    """Differences of methods to the best on one dataset.

    Attributes
    ----------
    table : DataFrame
        One line per method, in the order given: ``tied`` (boolean; NA where there is no test),
        ``difference`` of its mean to the best mean, in units of the metric, with the ends ``difference_low``
        and ``difference_high`` of its simultaneous interval, ``p_value``, ``detectable`` (the smallest true
        difference that this design finds in 80 %) and ``n_to_settle`` (the number of seeds or splits that
        find the difference in 80 %, if it is as large as it seems; NA where it is found already, or 1,000 are
        not enough). The best has only a difference of 0 and is tied; a method that lacks a split has an empty
        line.
    basis : str
        The source of the variance: `OVER_SPLITS`, `OVER_SEEDS_AND_ROWS`, `OVER_ROWS` (which speaks of the
        trained models, not of the methods) or `OVER_VALUES`.
    refusal : str
        Why there is no test, in one sentence; empty where there is one.
    """

    table: pd.DataFrame
    basis: str
    refusal: str = ""


def compare_methods(
    runs: Mapping[str, Mapping[int, RowMetric]],
    *,
    test_rows: Mapping[int, ArrayLike] | None = None,
    groups: Mapping[int, ArrayLike] | None = None,
    lower_is_better: bool = True,
) -> MethodDifferences:
    """Compare methods on one dataset by their test rows.

    Splits drawn anew are blocks. The effect of a split is the mean of methods, weighted by the inverse of
    their variances. The variance of a method's residuals from its mean and these effects is moderated over
    methods [1]_. With k splits, of which two share r of their test rows, the mean has ``1 / k + r / (1 - r)``
    of it: as by Nadeau and Bengio [2]_ where a split uses the whole dataset, and about 1 / k where splits are
    small draws from many rows. A difference has at least the variance from test rows alone.

    On one fixed test set the test rows are the blocks, and the variance between seeds, moderated in the same
    way, adds what it has beyond them.

    ``runs`` are by method and seed; on one test set methods may have different seeds. ``test_rows`` are the
    numbers in the dataset of the test rows by seed, where each seed draws a split; None for one test set.
    Splits that all test the same rows are one test set. There is no test where the method with the best mean
    lacks a split. ``groups`` are those of the test rows by seed, where rows of a group are alike. Raises a
    ValueError if row numbers or groups do not fit the runs, or a value is not finite.

    Notes
    -----
    Simulated false separations and power are in ``benchmarks/separation.csv``; repeat them by
    ``benchmarks/separation.py``. Cost: 42 methods, 10 splits of 5,000 rows in about a second.

    References
    ----------
    .. [1] G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in
       microarray experiments", Statistical Applications in Genetics and Molecular Biology 3 (2004).
    .. [2] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).
    """
    seeds = sorted({seed for found in runs.values() for seed in found} if test_rows is None else test_rows)
    sizes = {seed: found[seed].n_rows for found in runs.values() for seed in seeds if seed in found}
    units = SamplingUnits.of(sizes, test_rows, groups)
    redrawn = test_rows is not None and units.overlap < 1
    chosen = {
        name: {seed: found[seed] for seed in seeds if seed in found}
        for name, found in runs.items()
        if found and not (redrawn and set(seeds) - set(found))
    }
    methods = list(chosen.values())
    several = any(len(found) > 1 for found in methods)
    basis = OVER_SPLITS if redrawn else OVER_SEEDS_AND_ROWS if several else OVER_ROWS
    by_name = {name: np.mean([run.value for run in found.values()]) for name, found in runs.items() if found}
    everywhere = pd.Series(by_name, dtype=np.float64)
    if len(everywhere) and (first := everywhere.index[_best(everywhere, lower_is_better)]) not in chosen:
        reason = f"The method with the best mean, {first}, lacks some of the {len(seeds)} splits."
        return MethodDifferences(_empty(list(runs)), basis, reason)
    means = everywhere[list(chosen)]
    best = _best(means, lower_is_better)
    if len(methods) < 2 or (redrawn and len(seeds) < MIN_SPLITS):
        return _untested(means, best, list(runs), basis, len(seeds))
    if redrawn:
        values = np.array([[run.value for run in found.values()] for found in methods])
        blocks, rows = _over_blocks(values, units.overlap, best), _over_rows(methods, means, units, best)
        variance = _larger(blocks, rows, len(seeds))
    else:
        variance = _over_seeds_and_rows(methods, means, units, best)
    table = _tested(means, best, variance, max(map(len, methods)))
    return MethodDifferences(table.reindex(list(runs)), basis)


def compare_values(
    values: pd.DataFrame, *, overlap: float = 0.0, lower_is_better: bool = True
) -> MethodDifferences:
    """Compare methods that leave one value per seed and no test rows, paired over seeds.

    ``values`` has a line per seed and a column per method; two seeds have a share ``overlap`` of their test
    data in common. Where there are two methods and all differences are the same, there is no test. Raises a
    ValueError if a value is not finite.
    """
    means = values.mean(skipna=False)
    best = _best(means, lower_is_better)
    if values.shape[1] < 2 or len(values) < MIN_SPLITS:
        return _untested(means, best, list(values.columns), OVER_VALUES, len(values))
    variance = _over_blocks(values.to_numpy(dtype=np.float64).T, overlap, best)
    return MethodDifferences(_tested(means, best, variance, len(values)), OVER_VALUES)


@dataclass(frozen=True, eq=False)
class _Variance:
    """Variance of each difference to the best, ``lasting + by_seed / n`` for n seeds, and its freedom."""

    lasting: NDArray[np.float64]
    by_seed: NDArray[np.float64]
    freedom: NDArray[np.float64]

    def of(self, n_seeds: int) -> NDArray[np.float64]:
        return self.lasting + self.by_seed / n_seeds


def _best(means: pd.Series, lower_is_better: bool) -> int:
    if not np.isfinite(means).all():
        raise ValueError(
            f"methods are compared by finite values, got {means.to_dict()}; leave a failed run out"
        )
    return int(np.argmin(means if lower_is_better else -means)) if len(means) else 0


def _over_blocks(values: NDArray[np.float64], overlap: float, best: int) -> _Variance:
    """Take the residuals of methods (lines) in blocks (columns), moderated over methods.

    The effect of a block is the mean of methods weighted by the inverse of their variances, so that a method
    that varies much does not add to the variance of the others.
    """
    m, k = values.shape
    deviations = values - values.mean(axis=1, keepdims=True)
    own_freedom = np.full(m, (k - 1) * (1 if m == 2 else (m - 1) / m))  # two methods have the same residuals
    weights = np.full(m, 1 / m)
    for _ in range(_ROUNDS):
        residuals = deviations - weights @ deviations
        found = np.sum(residuals**2, axis=1) / (k - 1) / (1 - weights)
        variances, freedoms = moderated_variances(found, own_freedom)
        if m == 2 or variances.min() < 1e-300:  # most do not vary, and weights would overflow
            break
        weights = 1 / variances / np.sum(1 / variances)
    pairs = variances + variances[best]
    common = overlap / (1 - overlap) if overlap < 1 else np.inf
    return _Variance(pairs * common, pairs, freedoms)


def _over_rows(
    methods: Sequence[Mapping[int, RowMetric]], means: pd.Series, units: SamplingUnits, best: int
) -> _Variance:
    """Take the test rows of all splits, each of which brings its results in several splits along."""
    by_method = np.array(
        [np.mean([units.influence(*one) for one in found.items()], axis=0) for found in methods]
    )
    difference = means.to_numpy() - means.iloc[best]
    variance = variance_of_sum(by_method - by_method[best], difference)
    k, overlap = len(units.codes), units.overlap
    by_share = variance / (overlap + (1 - overlap) / k)
    return _Variance(by_share * overlap, by_share * (1 - overlap), np.full(len(methods), units.n_units - 1.0))


def _larger(first: _Variance, second: _Variance, n_seeds: int) -> _Variance:
    """Choose the larger variance for each method, with its own degrees of freedom."""
    larger = first.of(n_seeds) >= second.of(n_seeds)
    names = ("lasting", "by_seed", "freedom")
    return _Variance(*(np.where(larger, getattr(first, name), getattr(second, name)) for name in names))


def _over_seeds_and_rows(
    methods: Sequence[Mapping[int, RowMetric]], means: pd.Series, units: SamplingUnits, best: int
) -> _Variance:
    """Add to the variance from rows what seeds vary beyond the rows at hand; Satterthwaite's freedom."""
    influences = [np.array([units.influence(seed, run) for seed, run in found.items()]) for found in methods]
    n_seeds = np.array([len(found) for found in methods])
    by_method = np.array([found.mean(axis=0) for found in influences])
    rows = variance_of_sum(by_method - by_method[best], means.to_numpy() - means.iloc[best])
    interaction = np.array([interaction_variance(found) for found in influences])
    values = [np.array([run.value for run in found.values()]) for found in methods]
    spread = np.array([found.var(ddof=1) if len(found) > 1 else 0.0 for found in values])
    freedom = np.maximum(1.0, n_seeds - 1)
    random = spread + interaction > 0
    spread[random], freedom[random] = moderated_variances(spread[random], freedom[random])
    interaction, excess = interaction / n_seeds, np.maximum(0, spread - interaction) / n_seeds
    few = np.where(excess > 0, spread / n_seeds / np.sqrt(freedom), 0)
    of_pairs = few**2 + few[best] ** 2
    if random.sum() > 2:  # moderated variances err together
        of_pairs += 2 * few * few[best]
    total = rows + excess + excess[best]
    freedoms = np.full(len(methods), np.inf)
    np.divide(total**2, rows**2 / max(1, units.n_units - 1) + of_pairs, out=freedoms, where=total > 0)
    lasting = np.maximum(0, rows - interaction - interaction[best])
    return _Variance(lasting, (total - lasting) * n_seeds.max(), freedoms)


def _empty(names: Sequence[str]) -> pd.DataFrame:
    table = pd.DataFrame(np.nan, index=list(names), columns=list(COLUMNS))
    return table.astype({"tied": "boolean", "n_to_settle": "Int64"})


def _untested(
    means: pd.Series, best: int, names: Sequence[str], basis: str, n_seeds: int
) -> MethodDifferences:
    """Give the differences alone: of one method, or of too few splits or values."""
    table = _empty(means.index)
    if len(means):
        table["difference"] = means - means.iloc[best]
    if len(means) == 1:
        table["tied"] = True
        return MethodDifferences(table.reindex(names), basis)
    what = "values per method" if basis == OVER_VALUES else basis
    reason = f"Too few {what} to compare methods: {n_seeds}, where at least {MIN_SPLITS} are needed."
    return MethodDifferences(table.reindex(names), basis, reason if len(means) else "")


def _tested(means: pd.Series, best: int, variance: _Variance, n_seeds: int) -> pd.DataFrame:
    """Fill the table by Tukey's studentized range of m means; the best has no test against itself."""
    m = len(means)
    others = np.arange(m) != best
    difference = (means - means.iloc[best]).to_numpy()
    error, freedom = np.sqrt(variance.of(n_seeds)), np.maximum(1, variance.freedom)
    p_values = np.where(difference == 0, 1.0, np.nan)
    known = others & (error > 1e-12 * np.abs(means).max())
    statistic = np.sqrt(2) * np.abs(difference[known]) / error[known]
    p_values[known] = range_p_value(statistic, m, freedom[known])
    quantile = range_quantile(LEVEL, m, freedom) / np.sqrt(2)
    detectable = quantile + stats.t.ppf(POWER, freedom)
    table = _empty(means.index)
    table["difference"] = difference
    table["tied"] = pd.Series(p_values > LEVEL, means.index, dtype="boolean").mask(np.isnan(p_values))
    tests = {
        "difference_low": difference - quantile * error,
        "difference_high": difference + quantile * error,
        "p_value": p_values,
        "detectable": detectable * error,
    }
    for name, column in tests.items():
        table[name] = np.where(others & ~np.isnan(p_values), column, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = variance.by_seed / ((difference / detectable) ** 2 - variance.lasting)
    settled = known & (p_values > LEVEL) & (needed > 0) & (needed <= _MOST_SEEDS)
    table.loc[settled, "n_to_settle"] = np.ceil(needed[settled]).astype(int)
    return table
