"""Bootstrap resamples of rows, as the number of times each row is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

#: Entries of one block of weights: 16 MB.
_BLOCK = 2**21

#: Gives the metric of every method, shape (m,), from the weights of the n rows, shape (n,).
Metric = Callable[[NDArray[np.int64]], NDArray[np.float64]]


def resample_rows(n_alike: NDArray[np.int64], n_resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Draw as many rows as there are, with replacement, again and again.

    Parameters
    ----------
    n_alike : array of int, shape (k,)
        Number of rows of each kind; ones where every row is a kind of its own.
    n_resamples : int
        Number of resamples.
    seed : int
        Seed of the draws.

    Yields
    ------
    array of int64, shape (b, k)
        How often each kind is drawn, for the next b resamples.
    """
    generator = np.random.default_rng(seed)
    n_rows = n_alike.sum()
    step = max(1, _BLOCK // len(n_alike))
    for start in range(0, n_resamples, step):
        yield generator.multinomial(n_rows, n_alike / n_rows, size=min(step, n_resamples - start))


def resampled_means(
    totals: NDArray[np.float64], n_tests: NDArray[np.int64], n_resamples: int, seed: int
) -> NDArray[np.float64]:
    """Compute the mean losses of methods on resampled rows; a row brings all its losses along.

    Rows on which all methods have the same losses are drawn as one kind, which changes no distribution; so
    the result does not depend on the order of rows.

    Parameters
    ----------
    totals : array of float, shape (m, n)
        Losses of methods on rows, summed over splits.
    n_tests : array of int, shape (n,)
        In how many splits each row was tested, at least one.
    n_resamples, seed : int
        Number of resamples B and seed of the draws.

    Returns
    -------
    array of float64, shape (B, m)
        Mean loss per tested row.
    """
    kinds, n_alike = np.unique(np.vstack([totals, n_tests]).T, axis=0, return_counts=True)
    sums = np.concatenate([weights @ kinds for weights in resample_rows(n_alike, n_resamples, seed)])
    return sums[:, :-1] / sums[:, -1:]


def resampled_metric(metric: Metric, n_rows: int, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Recompute a metric of all methods on resampled rows: for what is no mean over rows, such as macro F1.

    Parameters
    ----------
    metric : callable
        Takes the weights of the rows, integers of shape (n,), and returns the metric of each method, shape
        (m,).
    n_rows, n_resamples, seed : int
        Number of rows n, number of resamples B and seed of the draws.

    Returns
    -------
    array of float64, shape (B, m)
        The metric of each method on each resample.
    """
    blocks = resample_rows(np.ones(n_rows, dtype=np.int64), n_resamples, seed)
    return np.array([metric(weights) for block in blocks for weights in block], dtype=np.float64)
