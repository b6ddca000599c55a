"""Rows held out of a fit, by whose loss it is stopped."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval


class EarlyStopping:
    """Mixin of classifiers that may hold out rows."""

    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    }

    def _held_out(self, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Mark the held-out rows (n,) of classes ``codes``; none may be marked where rows are too few."""
        if not self.early_stopping:
            return np.zeros(len(codes), dtype=bool)
        return hold_out(codes, self.validation_fraction, rng)


def hold_out(codes: np.ndarray, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """Mark a random part of the rows, the same share of every class to within one row.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class position of each row.
    fraction : float
        Share of rows to mark, between 0 and 1.
    rng : RandomState
        Source of the draw.

    Returns
    -------
    ndarray of shape (n,), bool
        At least one row of every class stays unmarked.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    marks = np.floor(np.arange(1, len(codes) + 1) * fraction) > np.floor(np.arange(len(codes)) * fraction)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order] = marks
    first_of_class = order[np.unique(codes[order], return_index=True)[1]]
    held_out[first_of_class] = False
    return held_out
