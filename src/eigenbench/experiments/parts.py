"""The rows a task works on: all training rows, the part to fit on, the validation part, or the test rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def part_rows(dataset: Any, part: dict[str, Any]) -> tuple[Any, Any]:
    """Return (X, y) of one part of a dataset.

    Parameters
    ----------
    dataset : Dataset
        A loaded dataset.
    part : dict
        ``name`` is ``train``, ``fit``, ``validation`` or ``test``; the middle two also have
        ``fraction`` and ``seed``.
    """
    name = part["name"]
    if name == "test":
        return dataset.X_test, dataset.y_test
    if name == "train":
        return dataset.X_train, dataset.y_train
    fit_rows, validation_rows = holdout_split(dataset.y_train, part["fraction"], part["seed"])
    rows = fit_rows if name == "fit" else validation_rows
    return dataset.X_train[rows], dataset.y_train[rows]


def shard_rows(n_rows: int, shard: int, of: int) -> slice:
    """Return the rows of one of ``of`` near-equal consecutive shards; together they are all rows."""
    return slice(shard * n_rows // of, (shard + 1) * n_rows // of)


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
