"""Independent units of test rows: the rows themselves, or whole groups of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenbench.comparison.row_metric import RowMetric


@dataclass(frozen=True, eq=False)
class SamplingUnits:
    """The unit of each test row, ``codes`` (n_test,) by seed; ``n_units`` are those that any seed tests."""

    codes: Mapping[int, NDArray[np.intp]]
    n_units: int

    @classmethod
    def of(
        cls,
        sizes: Mapping[int, int],
        test_rows: Mapping[int, ArrayLike] | None = None,
        groups: Mapping[int, ArrayLike] | None = None,
    ) -> SamplingUnits:
        """Take groups as units, else numbers of rows in the dataset, else places in one fixed test set.

        ``sizes`` are the numbers of test rows. All arguments are by seed. A ValueError names a seed that
        lacks a number or a group for a test row, and numbers of test rows that differ without either.
        """
        if not sizes:
            return cls({}, 0)
        given, what = (test_rows, "row number") if groups is None else (groups, "group")
        if given is None:
            if len(set(sizes.values())) > 1:
                raise ValueError(f"one test set has one number of rows, got {sorted(set(sizes.values()))}")
            given = {seed: np.arange(size) for seed, size in sizes.items()}
        labels = {seed: np.asarray(given.get(seed, ())) for seed in sizes}
        for seed, size in sizes.items():
            if labels[seed].shape != (size,):
                raise ValueError(
                    f"seed {seed} needs one {what} for each of its {size} test rows, "
                    f"got an array of shape {labels[seed].shape}"
                )
        names, codes = np.unique(np.concatenate(list(labels.values())), return_inverse=True)
        parts = np.split(codes, np.cumsum(list(sizes.values()))[:-1])
        return cls(dict(zip(sizes, parts, strict=True)), len(names))

    @property
    def overlap(self) -> float:
        """Share of the units of one test set that another tests too, mean over pairs of seeds."""
        n_sets = len(self.codes)
        if n_sets < 2:
            return 0.0
        counts = np.zeros(self.n_units)
        for codes in self.codes.values():
            counts[codes] += 1  # once where a unit stands twice
        return float(np.sum(counts * (counts - 1)) / (np.sum(counts) * (n_sets - 1)))

    def influence(self, seed: int, run: RowMetric) -> NDArray[np.float64]:
        """Sum the influence of a run's rows by unit, shape (n_units,)."""
        return np.bincount(self.codes[seed], run.influence, self.n_units).astype(np.float64)


def variance_of_sum(influence: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the variance of a sum over units that are drawn anew.

    ``influence`` has the contributions of units less their mean, shape (m, n_units), and ``total`` the sums.
    One contribution is added, of the mean square of those that are not zero: it keeps the variance from zero
    where few units contribute.
    """
    n_units = influence.shape[-1]
    contributions = influence + total[:, None] / n_units
    least = 1e-9 * np.max(np.abs(contributions), axis=-1, keepdims=True)
    n_contributing = np.maximum(1, np.sum(np.abs(contributions) > least, axis=-1))
    one_more = np.sum(contributions**2, axis=-1) / n_contributing
    return np.asarray(np.sum(influence**2, axis=-1) * n_units / max(1, n_units - 1) + one_more)


def interaction_variance(influence: NDArray[np.float64]) -> float:
    """Estimate the variance of one seed's value that units and seeds bring together, from (seeds, units)."""
    n_seeds, n_units = influence.shape
    if n_seeds < 2 or n_units < 2:
        return 0.0
    rest = influence - influence.mean(axis=0)
    rest -= rest.mean(axis=1, keepdims=True)
    return float(np.sum(rest**2) / (n_seeds - 1) * n_units / (n_units - 1))
