"""Ratios of errors over datasets, with a region of practical equivalence.

Errors of datasets differ by orders of magnitude, so differences do not add up, but logarithms of ratios do.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from eigenbench.comparison.ranks import RefusedComparison, complete_table, pairwise_differences

#: Ratios from 1 / 1.1 to 1.1 make no practical difference.
EQUIVALENCE = 0.10

#: Entries of one block of products of weights: 16 MB.
_BLOCK = 2**21


def error_ratios(errors: pd.DataFrame, *, level: float = 0.95, power: float = 0.8) -> pd.DataFrame:
    """Compute the geometric mean over datasets of the ratio of errors, for each pair of methods.

    The interval is Student's t for the mean of the logarithms over datasets.

    Parameters
    ----------
    errors : DataFrame
        Errors, datasets x methods, none negative; infinite where a run failed. An error of zero counts as
        half of the smallest positive one on its dataset. For scores take 1 minus the score.
    level : float, default=0.95
        Confidence of each interval, by itself.
    power : float, default=0.8
        Probability with which the ``detectable`` ratio would be found.

    Returns
    -------
    DataFrame
        One line per pair ``(first, second)``: ``ratio`` of the error of the first to the second, ``low``,
        ``high``, and ``detectable``: the ratio above 1 that these datasets find. NaN where a run of
        the pair failed.

    Raises
    ------
    RefusedComparison
        If there are fewer than five datasets or two methods, or an error is missing or negative.

    Examples
    --------
    >>> pca = np.array([0.10, 0.20, 0.30, 0.25, 0.15, 0.22])
    >>> gem = pca * [0.8, 0.9, 0.85, 0.8, 0.9, 0.95]
    >>> error_ratios(pd.DataFrame({"gem": gem, "pca": pca})).round(2)
                  ratio  low  high  detectable
    first second
    gem   pca      0.86  0.8  0.93         1.1
    """
    logarithms = log_errors(errors)
    finite = np.isfinite(logarithms).all()
    differences = pairwise_differences(logarithms)
    differences.loc[:, [not (finite[first] and finite[second]) for first, second in differences]] = np.nan
    n_datasets = len(differences)
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(n_datasets)
    quantile = stats.t.ppf((1 + level) / 2, n_datasets - 1)
    found = {
        "ratio": mean,
        "low": mean - quantile * error,
        "high": mean + quantile * error,
        "detectable": (quantile + stats.t.ppf(power, n_datasets - 1)) * error,
    }
    return np.exp(pd.DataFrame(found))


def log_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Take logarithms of errors; differences of two methods are then logarithms of ratios.

    Parameters
    ----------
    errors : DataFrame
        As for `error_ratios`.

    Returns
    -------
    DataFrame
        Natural logarithms, infinite where a run failed: what `bayesian_signed_rank` takes with
        ``rope=np.log(1 + EQUIVALENCE)``.

    Raises
    ------
    RefusedComparison
        As by `error_ratios`.

    Examples
    --------
    >>> errors = pd.DataFrame({"gem": [0.0, 0.2, 0.1, 0.3, 0.2], "pca": [0.02, 0.2, 0.2, 0.3, 0.2]})
    >>> np.exp(log_errors(errors)["gem"]).round(3).tolist()
    [0.01, 0.2, 0.1, 0.3, 0.2]
    """
    table = complete_table(errors)
    negative = (table < 0).to_numpy()
    if negative.any():
        row, column = np.argwhere(negative)[0]
        raise RefusedComparison(
            f"The error of {table.columns[column]!r} on {table.index[row]!r} is {table.iat[row, column]:g}: "
            "only errors that are not negative have ratios; take 1 minus a score."
        )
    least = table.where(table > 0).min(axis=1).fillna(1.0) / 2
    return np.log(table.where(table > 0, least, axis=0))


def equivalence(ratios: pd.DataFrame) -> pd.Series:
    """Classify each pair of methods by the interval of its ratio.

    Parameters
    ----------
    ratios : DataFrame
        From `error_ratios`.

    Returns
    -------
    Series
        ``"first better"`` or ``"second better"`` where the interval lacks 1, ``"equivalent"`` where it lies
        within 10 %, ``"open"`` otherwise. A small difference that is sure counts as one.

    Examples
    --------
    >>> ends = {"low": [0.75, 0.94, 0.7, np.nan], "high": [0.97, 1.08, 1.2, np.nan]}
    >>> equivalence(pd.DataFrame(ends)).tolist()
    ['first better', 'equivalent', 'open', 'open']
    """
    low, high = ratios["low"], ratios["high"]
    within = (low >= 1 / (1 + EQUIVALENCE)) & (high <= 1 + EQUIVALENCE)
    verdicts = np.select([high < 1, low > 1, within], ["first better", "second better", "equivalent"], "open")
    return pd.Series(verdicts, index=ratios.index)


def bayesian_signed_rank(
    errors: pd.DataFrame, *, rope: float, n_samples: int = 20_000, prior_strength: float = 0.5, seed: int = 0
) -> pd.DataFrame:
    """Compute for each pair of methods how probable it is that one is better, or both are equivalent.

    The distribution of differences over datasets has a Dirichlet process as its prior, with one
    pseudo-dataset of difference 0 [1]_. A sample of the posterior weighs the datasets; the mean of two
    differences drawn with these weights is below the region of practical equivalence, in it or above it, and
    the most probable of the three gets the sample [2]_.

    Parameters
    ----------
    errors : DataFrame
        Errors, datasets x methods; infinite where a run failed.
    rope : float
        The largest difference of errors that does not matter, such as 0.01; both ends belong to the region.
    n_samples : int, default=20,000
        Number of samples; the standard deviation of a probability is below ``0.5 / sqrt(n_samples)``.
    prior_strength : float, default=0.5
        Weight of the pseudo-dataset.
    seed : int, default=0
        Seed of the samples, which are the same for all pairs.

    Returns
    -------
    DataFrame
        One line per pair ``(first, second)``, three probabilities that sum to 1: ``first_better``,
        ``equivalent``, ``second_better``.

    Raises
    ------
    RefusedComparison
        If there are fewer than five datasets or two methods, or an error is missing.
    ValueError
        If ``rope`` is negative or not finite.

    Notes
    -----
    Cost: 435 pairs on 24 datasets in about a second; samples x N**2 x pairs products.

    References
    ----------
    .. [1] A. Benavoli, F. Mangili, G. Corani, M. Zaffalon and F. Ruggeri, "A Bayesian Wilcoxon signed-rank
       test based on the Dirichlet process", ICML 2014.
    .. [2] A. Benavoli, G. Corani, J. Demšar and M. Zaffalon, "Time for a change: a tutorial for comparing
       multiple classifiers through Bayesian analysis", JMLR 18 (2017).

    Examples
    --------
    >>> pca = np.array([0.10, 0.20, 0.30, 0.25, 0.15, 0.22])
    >>> errors = pd.DataFrame({"gem": pca - 0.03, "gem_deep": pca - 0.031, "pca": pca})
    >>> bayesian_signed_rank(errors, rope=0.01).round(2)
                     first_better  equivalent  second_better
    first    second
    gem      gem_deep         0.0         1.0            0.0
             pca              1.0         0.0            0.0
    gem_deep pca              1.0         0.0            0.0
    """
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope must be a finite number of at least 0, got {rope}")
    differences = pairwise_differences(complete_table(errors))
    below, above = _indicators(differences.to_numpy(), rope)
    counts = np.zeros((differences.shape[1], 3), dtype=np.int64)
    for products in _products_of_weights(len(differences), n_samples, prior_strength, seed):
        first, second = products @ below, products @ above
        equivalent = 1 - first - second
        counts[:, 0] += ((first > equivalent) & (first > second)).sum(axis=0)
        counts[:, 2] += ((second > equivalent) & (second >= first)).sum(axis=0)
    counts[:, 1] = n_samples - counts.sum(axis=1)
    names = ["first_better", "equivalent", "second_better"]
    return pd.DataFrame(counts / n_samples, index=differences.columns, columns=names)


def _indicators(
    differences: NDArray[np.float64], rope: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return whether the mean of two differences is below and above the region: by two datasets, by pair."""
    finite = differences[np.isfinite(differences)]
    beyond = 4 * (rope + np.abs(finite).max(initial=0)) + 1
    # The first entry is the pseudo-dataset. Two failures, one of each method, are a mean of 0.
    clipped = np.vstack([np.zeros(differences.shape[1]), differences.clip(-beyond, beyond)])
    i, j = np.triu_indices(len(clipped))
    means = ((clipped[i] + clipped[j]) / 2).round(12)
    return (means < -rope).astype(np.float64), (means > rope).astype(np.float64)


def _products_of_weights(
    n_datasets: int, n_samples: int, prior_strength: float, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of samples: the probability that two datasets, in either order, are drawn."""
    generator = np.random.default_rng(seed)
    concentration = np.r_[prior_strength, np.ones(n_datasets)]
    i, j = np.triu_indices(n_datasets + 1)
    step = max(1, _BLOCK // len(i))
    for start in range(0, n_samples, step):
        weights = generator.dirichlet(concentration, size=min(step, n_samples - start))
        yield weights[:, i] * weights[:, j] * np.where(i == j, 1, 2)
