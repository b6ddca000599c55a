"""What float32 rows are moved by before products, so that features of large means keep their variances."""

from __future__ import annotations

import numpy as np

#: A feature of float32 rows whose mean is larger than this, in standard deviations, has rows shifted first.
LARGE_MEAN = 10.0


def one_shift(rows: np.ndarray, total: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from float32 rows of this sum before products are made, None for nothing.

    Raw products of a feature of mean m and variance v keep v to about m²/v times the rounding of their type.
    """
    if rows.dtype != np.float32:
        return None
    mean = total / len(rows)
    variance = _mean_squares(rows) - mean**2
    return _rounded(mean, variance) if _is_large(mean, variance).any() else None


def class_shifts(rows: np.ndarray, totals: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from the float32 rows of each class, (c, d), None for nothing.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows of all classes.
    totals : ndarray of shape (c, d)
        Their sums.
    counts : ndarray of shape (c,)
        Their numbers, at least 1.

    Notes
    -----
    Only features that need it are shifted. With less than two rows a class there is one shift for all.
    """
    if rows.dtype != np.float32:
        return None
    if len(rows) < 2 * len(totals):
        shift = one_shift(rows, totals.sum(axis=0))
        return None if shift is None else np.broadcast_to(shift, totals.shape)
    means = totals / counts[:, None]
    within = len(rows) * _mean_squares(rows) - counts @ means**2
    variance = within / max(1, len(rows) - len(totals))
    large = _is_large(means, variance).any(axis=0)
    return np.where(large, _rounded(means, variance), np.float32(0)) if large.any() else None


def moved_by(shift: np.ndarray, total: np.ndarray, n: float) -> np.ndarray:
    """Return the second moment of n rows of this sum less that of the rows minus a shift."""
    half = np.outer(total - 0.5 * n * shift, shift)
    return half + half.T


def _mean_squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->d", rows, rows, dtype=np.float64) / len(rows)


def _is_large(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    return mean**2 > LARGE_MEAN**2 * variance


def _rounded(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the mean to within a standard deviation, with few digits: subtracting it is almost exact."""
    least = (np.finfo(np.float32).eps * mean) ** 2 + np.finfo(np.float64).tiny
    step = 2.0 ** np.floor(0.5 * np.log2(np.maximum(variance, least)))
    return (step * np.rint(mean / step)).astype(np.float32)
