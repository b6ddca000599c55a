"""Ratios of errors over datasets, with a region of practical equivalence.

Errors of datasets differ by orders of magnitude, so differences do not add up, but logarithms of ratios do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from eigenbench.comparison.ranks import RefusedComparison, complete_table, pairwise_differences

#: Ratios from 1 / 1.1 to 1.1 make no practical difference.
EQUIVALENCE = 0.10


def error_ratios(errors: pd.DataFrame) -> pd.DataFrame:
    """Compute the geometric mean over datasets of the ratio of errors, for each pair of methods.

    An error of zero counts as half of the smallest positive one on its dataset. For scores take 1 minus the
    score. The interval of each pair by itself is Student's t, 95 %, for the mean of the logarithms over
    datasets. ``detectable`` is the ratio above 1 that these datasets find in 80 %. All are NaN where a run of
    the pair failed. Raises a RefusedComparison for a negative error, and as `complete_table`.
    """
    logarithms = log_errors(errors)
    finite = np.isfinite(logarithms).all()
    differences = pairwise_differences(logarithms)
    differences.loc[:, [not (finite[first] and finite[second]) for first, second in differences]] = np.nan
    n_datasets = len(differences)
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(n_datasets)
    quantile, power = stats.t.ppf([0.975, 0.8], n_datasets - 1)
    found = {
        "ratio": mean,
        "low": mean - quantile * error,
        "high": mean + quantile * error,
        "detectable": (quantile + power) * error,
    }
    return np.exp(pd.DataFrame(found))


def log_errors(errors: pd.DataFrame) -> pd.DataFrame:
    """Take logarithms of errors, infinite where a run failed; their differences are logarithms of ratios."""
    table = complete_table(errors)
    negative = (table < 0).to_numpy()
    if negative.any():
        row, column = np.argwhere(negative)[0]
        raise RefusedComparison(
            f"The error of {table.columns[column]!r} on {table.index[row]!r} is {table.iat[row, column]:g}: "
            "only errors that are not negative have ratios; take 1 minus a score."
        )
    least = table.where((table > 0) & np.isfinite(table)).min(axis=1).fillna(1.0) / 2
    return np.log(table.where(table > 0, least, axis=0))


def equivalence(ratios: pd.DataFrame) -> pd.Series:
    """Classify each pair of methods by the interval of its ratio.

    ``"first better"`` or ``"second better"`` where the interval lacks 1, ``"equivalent"`` where it lies
    within 10 %, ``"open"`` otherwise. A small difference that is sure counts as one.
    """
    low, high = ratios["low"], ratios["high"]
    within = (low >= 1 / (1 + EQUIVALENCE)) & (high <= 1 + EQUIVALENCE)
    verdicts = np.select([high < 1, low > 1, within], ["first better", "second better", "equivalent"], "open")
    return pd.Series(verdicts, index=ratios.index)
