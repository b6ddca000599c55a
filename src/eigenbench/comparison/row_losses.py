"""Losses of methods on each test row of a dataset, over splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class RowLosses:
    """Losses of m methods on n rows, each summed over the splits that test the row.

    Attributes
    ----------
    methods : tuple of str
        Methods with a run in every split, sorted by name.
    totals : array of float64, shape (m, n)
        Sum of the losses of a method on a row: for 0/1 losses, how often it was wrong.
    n_tests : array of int64, shape (n,)
        In how many splits the row was tested.
    missing : mapping of str to tuple of int
        The splits without a run of each method that is not complete.
    """

    methods: tuple[str, ...]
    totals: NDArray[np.float64]
    n_tests: NDArray[np.int64]
    missing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def means(self) -> pd.Series:
        """Mean loss per tested row of each complete method."""
        return pd.Series(self.totals.sum(axis=1) / self.n_tests.sum(), index=list(self.methods), name="error")


def sum_over_splits(
    runs: Mapping[str, Mapping[int, ArrayLike]], test_rows: Mapping[int, ArrayLike]
) -> RowLosses:
    """Sum the losses of runs on each row over splits.

    Parameters
    ----------
    runs : mapping of str to mapping of int to array, shape (n_test,)
        Losses by method and split, in the order of the split's test rows: booleans (wrong or not) or finite
        numbers. A failed run is left out.
    test_rows : mapping of int to array of int, shape (n_test,)
        Numbers of the test rows in the dataset, by split; a fixed test set with several seeds has the same
        rows in every split.

    Returns
    -------
    RowLosses
        Rows in ascending order of their numbers. Methods that lack a run are in ``missing`` only.

    Raises
    ------
    ValueError
        If there is no split, if one tests no row or a row twice, if a run belongs to no split, or if its
        losses are not one finite number for each test row.

    Examples
    --------
    >>> wrong = {"gem": {0: [True, False], 1: [True, False]}, "pca": {0: [True, True]}}
    >>> losses = sum_over_splits(wrong, {0: [7, 3], 1: [7, 5]})
    >>> losses.totals, losses.n_tests, losses.missing
    (array([[0., 0., 2.]]), array([1, 1, 2]), {'pca': (1,)})
    """
    if not test_rows:
        raise ValueError("no split: there are no test rows to sum losses on")
    places = {split: np.asarray(rows) for split, rows in test_rows.items()}
    for split, rows in places.items():
        if rows.ndim != 1 or not rows.size or len(np.unique(rows)) < len(rows):
            raise ValueError(f"split {split!r} tests no row, or one row twice")
    numbers, n_tests = np.unique(np.concatenate(list(places.values())), return_counts=True)
    places = {split: np.searchsorted(numbers, rows) for split, rows in places.items()}

    missing = {
        method: absent
        for method, by_split in runs.items()
        if (absent := tuple(split for split in places if split not in by_split))
    }
    methods = tuple(sorted(set(runs) - set(missing)))
    totals = np.zeros((len(methods), len(numbers)))
    for method, by_split in runs.items():
        for split, losses in by_split.items():
            checked = _checked(losses, method, split, places)
            if method not in missing:
                totals[methods.index(method), places[split]] += checked
    return RowLosses(methods, totals, n_tests, missing)


def _checked(
    losses: ArrayLike, method: str, split: int, places: Mapping[int, NDArray[np.intp]]
) -> NDArray[np.float64]:
    if split not in places:
        raise ValueError(f"method {method!r} has a run of split {split!r}, whose test rows are not given")
    values = np.asarray(losses, dtype=np.float64)
    if values.shape != places[split].shape or not np.isfinite(values).all():
        raise ValueError(
            f"method {method!r}, split {split!r}: expected {len(places[split])} finite losses, one for each "
            f"test row, got shape {values.shape}; leave a failed run out"
        )
    return values
