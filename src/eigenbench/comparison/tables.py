"""Tables of errors over datasets, as the statistics over datasets take them.

One line per dataset, one column per method, the smaller the better. A failed run is an infinite error: it is
worse than any other and counts against the method. NaN is a run that was never made; such tables are refused.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

#: Errors that agree to so many decimals are equal: means of the same counts may differ by rounding.
_DECIMALS = 12

MIN_DATASETS = 5


class RefusedComparison(ValueError):
    """A comparison that the data at hand do not permit; the message is one sentence for the report."""


def complete_table(errors: pd.DataFrame, *, min_methods: int = 2) -> pd.DataFrame:
    """Check a table of datasets x methods and round its errors to 12 decimals.

    Parameters
    ----------
    errors : DataFrame
        Errors; infinite where a run failed.
    min_methods : int, default=2
        Number of methods that the statistic needs.

    Returns
    -------
    DataFrame
        The errors as float64.

    Raises
    ------
    RefusedComparison
        If there are fewer than five datasets or too few methods, or an error is missing.
    ValueError
        If a dataset or method is there twice, or an error is minus infinity.
    """
    n_datasets, n_methods = errors.shape
    if not (errors.index.is_unique and errors.columns.is_unique):
        raise ValueError("a dataset or a method stands twice in the table of errors")
    if n_datasets < MIN_DATASETS:
        raise RefusedComparison(
            f"{n_datasets} datasets are too few to compare methods over datasets: "
            f"at least {MIN_DATASETS} are needed."
        )
    if n_methods < min_methods:
        raise RefusedComparison(f"{n_methods} methods are too few: this test needs at least {min_methods}.")
    table = errors.astype(np.float64).round(_DECIMALS)
    absent = table.isna().to_numpy()
    if absent.any():
        row, column = np.argwhere(absent)[0]
        raise RefusedComparison(
            f"The table is incomplete: of {absent.size} errors, {absent.sum()} missing, the first that of "
            f"{errors.columns[column]!r} on {errors.index[row]!r}; compare methods on datasets that "
            "all of them ran on."
        )
    if np.isneginf(table.to_numpy()).any():
        raise ValueError("an error is minus infinity; a failed run is plus infinity")
    return table


def pairwise_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Return the error of one method minus that of another, for each pair of a checked table.

    Parameters
    ----------
    table : DataFrame
        From `complete_table`.

    Returns
    -------
    DataFrame
        One line per dataset and one column per pair ``(first, second)``, in the order of the table's columns;
        0 where both failed.
    """
    pairs = list(combinations(range(table.shape[1]), 2))
    first, second = np.array(pairs).T
    errors = table.to_numpy()
    with np.errstate(invalid="ignore"):
        differences = (errors[:, first] - errors[:, second]).round(_DECIMALS)
    differences[np.isnan(differences)] = 0
    names = pd.MultiIndex.from_arrays(
        [table.columns[first], table.columns[second]], names=["first", "second"]
    )
    return pd.DataFrame(differences, index=table.index, columns=names)
