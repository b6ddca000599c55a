"""Uncertainty of ranks: bootstraps over datasets."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eigenbench.comparison.ranks import complete_table

N_RESAMPLES = 2000
#: Confidence.
LEVEL = 0.95


def rank_intervals(errors: pd.DataFrame) -> pd.DataFrame:
    """Bound the mean rank and the place of each method by a bootstrap over datasets, best first.

    Equal errors share the mean of their ranks, and failed runs rank last; ``n_failed`` counts the datasets on
    which the method failed. Each of 2,000 resamples draws as many datasets as there are, with replacement,
    and ranks the methods by their mean ranks on them; ``_low`` and ``_high`` hold 95 % of the resamples.
    ``place`` is 1 for the best. Ranks hold for these methods alone: make them again for others.

    Notes
    -----
    Coverage of mean ranks over 1,000 simulations of ten equal methods (seed 19): .849 with 5 datasets, .886
    with 6, .936 with 26, where .95 is nominal. Repeat by ``tests/comparison/test_coverage.py`` with
    ``-m slow``.
    """
    table = complete_table(errors, min_methods=1)
    ranks = table.rank(axis=1).to_numpy()
    resampled = resample_weights(len(ranks), N_RESAMPLES) @ ranks
    places = pd.DataFrame(resampled.round(9)).rank(axis=1, method="min").to_numpy()
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    found = pd.DataFrame({"mean_rank": ranks.mean(axis=0)}, index=table.columns)
    found["rank_low"], found["rank_high"] = np.quantile(resampled, ends, axis=0)
    found["n_failed"] = np.isinf(table).sum()
    found["place"] = found["mean_rank"].rank(method="min").astype(int)
    quantiles = np.quantile(places, ends, axis=0, method="nearest").astype(int)
    found["place_low"], found["place_high"] = quantiles
    return found.sort_values("mean_rank", kind="stable")


def resample_weights(n_datasets: int, n_resamples: int) -> NDArray[np.float64]:
    """Return the weight of each dataset in each resample, shape (n_resamples, n_datasets)."""
    shares = np.full(n_datasets, 1 / n_datasets)
    return np.random.default_rng(0).multinomial(n_datasets, shares, size=n_resamples) / n_datasets
