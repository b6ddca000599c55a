"""Random splits into training and test rows, reproducible from the seed and the rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from eigenbench.datasets.split_kinds import RandomSplit, SampledSplit


def random_split(
    n: int, test_fraction: float, seed: int, strata: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a permutation of the rows and cut its end off as the test set.

    Parameters
    ----------
    n : int
        Number of rows.
    test_fraction : float
        Share of the rows in the test set, in (0, 1); the number is rounded to the nearest, at least 1.
    seed : int
        Seed of numpy's PCG64 generator.
    strata : ndarray of shape (n,), optional
        Class codes: the end of each class's rows, in the permutation's order, is cut off.

    Returns
    -------
    train, test : ndarray of int64
        Row numbers in the permutation's order.

    Examples
    --------
    >>> train, test = random_split(10, test_fraction=0.2, seed=0)
    >>> len(train), len(test)
    (8, 2)
    """
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n)
    is_test = np.zeros(n, dtype=bool)
    if strata is None:
        is_test[n - _n_test(n, test_fraction) :] = True
    else:
        codes = np.asarray(strata)[order]
        for code in np.unique(codes):
            places = np.flatnonzero(codes == code)
            is_test[places[len(places) - _n_test(len(places), test_fraction) :]] = True
    return order[~is_test], order[is_test]


def draw_split(
    split: RandomSplit | SampledSplit, seed: int, *targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the training and test rows of a split that the seed draws.

    Parameters
    ----------
    split : RandomSplit or SampledSplit
        Shares, sizes and whether to stratify.
    seed : int
        Seed of numpy's PCG64 generator.
    *targets : ndarray or sparse array
        Targets of all rows for a random split; of the training and of the test file for a sampled one.

    Returns
    -------
    train, test : ndarray of int64
        Row numbers in the order drawn. Their counts don't depend on the seed.

    Examples
    --------
    >>> import numpy as np
    >>> split = RandomSplit(kind="random", test_fraction=0.5, stratify=True, max_train=4)
    >>> y = np.repeat([0, 1], [15, 5])
    >>> train, test = draw_split(split, 0, y)
    >>> np.bincount(y[train]).tolist(), np.bincount(y[test]).tolist()
    ([3, 1], [8, 2])
    """
    strata = targets if split.stratify else (None,) * len(targets)
    if isinstance(split, RandomSplit):
        train, test = random_split(targets[0].shape[0], split.test_fraction, seed, strata[0])
        codes_train, codes_test = (None if strata[0] is None else strata[0][rows] for rows in (train, test))
    else:
        generator = np.random.Generator(np.random.PCG64(seed))
        train, test = (generator.permutation(target.shape[0]) for target in targets)
        codes_train, codes_test = (
            None if codes is None else codes[rows] for codes, rows in zip(strata, (train, test), strict=True)
        )
    return train[_first(split.max_train, len(train), codes_train)], test[
        _first(split.max_test, len(test), codes_test)
    ]


def _first(size: int | None, n: int, codes: np.ndarray | None) -> slice | np.ndarray:
    """Return the places of the first ``size`` of ``n`` rows, with codes of the first of each class.

    Classes share the places by largest remainders: equal remainders go to the smaller code.
    """
    if size is None or size >= n:
        return slice(None)
    if codes is None:
        return slice(size)
    values, of_row, counts = np.unique(codes, return_inverse=True, return_counts=True)
    exact = counts * size
    quota = exact // n
    quota[np.argsort(-(exact % n), kind="stable")[: size - quota.sum()]] += 1
    taken = [np.flatnonzero(of_row == code)[: quota[code]] for code in range(len(values))]
    return np.sort(np.concatenate(taken))


def _n_test(n: int, test_fraction: float) -> int:
    return max(1, round(n * test_fraction))


def holdout_split(y: Any, fraction: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split training rows at random into a part to fit on and a validation part.

    Class labels are stratified: each class gives the same share (rounded), and always keeps at least one
    row to fit on. Indicator matrices are split without strata.

    Returns
    -------
    fit_rows, validation_rows : arrays of int
        Sorted row indices, disjoint, together all rows.
    """
    generator = np.random.Generator(np.random.PCG64([seed, 0x5EED]))
    held = np.zeros(y.shape[0], dtype=bool)
    if y.ndim == 1:
        for label in np.unique(y):
            rows = generator.permutation(np.flatnonzero(y == label))
            held[rows[: min(round(fraction * len(rows)), len(rows) - 1)]] = True
    else:
        held[generator.permutation(y.shape[0])[: round(fraction * y.shape[0])]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)
