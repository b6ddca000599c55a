"""Data of a critical-difference diagram; it is drawn elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class CriticalDifferenceDiagram:
    """Positions on the axis of ranks, and bars over methods that do not differ.

    Attributes
    ----------
    positions : Series
        Mean rank by method, best first.
    groups : tuple of tuple of str
        The methods of each bar, neighbours in ``positions``, best first.
    """

    positions: pd.Series
    groups: tuple[tuple[str, ...], ...]


def critical_difference_diagram(mean_ranks: pd.Series, differ: ArrayLike) -> CriticalDifferenceDiagram:
    """Group methods that are neighbours by rank and of which no two differ.

    Parameters
    ----------
    mean_ranks : Series
        Mean rank by method.
    differ : array of bool, shape (m, m)
        Whether two methods differ significantly, in the order of ``mean_ranks``; symmetric: by Nemenyi's
        critical difference or from corrected p-values.

    Returns
    -------
    CriticalDifferenceDiagram
        Groups of at least two methods, none inside another.

    Raises
    ------
    ValueError
        If ``differ`` has the wrong shape or is not symmetric, or a rank is not finite.

    References
    ----------
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).

    Examples
    --------
    >>> ranks = pd.Series({"pca": 2.9, "gem": 1.2, "nca": 2.1})
    >>> critical_difference_diagram(ranks, np.abs(np.subtract.outer(ranks.array, ranks.array)) > 1).groups
    (('gem', 'nca'), ('nca', 'pca'))
    """
    ranks, matrix = mean_ranks.astype(np.float64), np.asarray(differ, dtype=bool)
    if matrix.shape != (len(ranks), len(ranks)) or (matrix != matrix.T).any() or not np.isfinite(ranks).all():
        raise ValueError(f"expected finite ranks and a symmetric array of {len(ranks)} x {len(ranks)}")
    order = np.argsort(ranks.to_numpy(), kind="stable")
    sorted_ranks, matrix = ranks.iloc[order], matrix[np.ix_(order, order)]
    groups: list[tuple[str, ...]] = []
    reached = 0
    for start in range(len(order)):
        end = start + 1
        while end < len(order) and not matrix[start : end + 1, start : end + 1].any():
            end += 1
        if end > max(reached, start + 1):
            groups.append(tuple(sorted_ranks.index[start:end]))
            reached = end
    return CriticalDifferenceDiagram(sorted_ranks, tuple(groups))
