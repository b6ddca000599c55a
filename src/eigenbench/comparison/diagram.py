"""Data of figures, which are drawn elsewhere: critical differences, and Pareto fronts of cost and error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


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


def pareto_front(points: ArrayLike) -> NDArray[np.bool_]:
    """Find the points that no other point beats in all respects.

    Parameters
    ----------
    points : array of float, shape (n, k)
        Quantities of which less is better, such as seconds and error; NaN or infinite where a run failed.

    Returns
    -------
    array of bool, shape (n,)
        Whether no other point is at most as large in every column and smaller in one; equal points are on the
        front together, points that are not finite never. Cost: n**2 k comparisons.

    Raises
    ------
    ValueError
        If ``points`` is no table.

    Examples
    --------
    >>> pareto_front([[1.0, 0.3], [2.0, 0.1], [3.0, 0.1], [np.nan, 0.0]])
    array([ True,  True, False, False])
    """
    values = np.asarray(points, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"expected points of shape (n, k), got {values.shape}")
    complete = np.isfinite(values).all(axis=1)
    rivals = values[complete]
    dominated = [((rivals <= point).all(axis=1) & (rivals < point).any(axis=1)).any() for point in values]
    return complete & ~np.array(dominated, dtype=bool)
