"""Counts and sums of classes, and one second moment of all rows together."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np

from eigenbench.methods.linalg.packed_symmetric import packed, packed_product, packed_size, unpacked
from eigenbench.methods.linalg.row_blocks import dense_block
from eigenbench.methods.linalg.rows_by_class import class_runs
from eigenbench.methods.moments.class_sums import ClassSums
from eigenbench.methods.moments.shifts import class_shifts


class PooledMoments(ClassSums):
    r"""Count and sum of every class, and the second moment of all rows, built in one pass and mergeable.

    What LDA and SIR need of any number of classes.

    Attributes
    ----------
    classes : ndarray of shape (c,)
        Class labels in sorted order, integers or strings.
    counts : ndarray of shape (c,), int64 or float64
        Rows of each class, or the sum of their weights once rows with weights were added.
    sums : ndarray of shape (c, d), float64
        Sum of the rows of each class, each times its weight.

    Notes
    -----
    8·c·d + 4·d² bytes; n·d² flops in symmetric rank-k products, in float32 for float32 rows as in
    :class:`~eigenbench.ClassMoments`. Where a feature's mean within a class is more than ten of its standard
    deviations within classes, float32 products are made about the means of the classes, for 4·c·d² flops more
    in each block, so that the covariance within classes keeps its digits.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import PooledMoments
    >>> moments = PooledMoments().update([[1.0, 2.0], [3.0, 4.0]], ["b", "a"])
    >>> moments.sums.tolist(), moments.total().tolist()
    ([[3.0, 4.0], [1.0, 2.0]], [[10.0, 14.0], [14.0, 20.0]])
    """

    def __init__(self) -> None:
        super().__init__()
        self._triangle = np.zeros(0)

    def _empty(self) -> Self:
        return type(self)()

    def total(self) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows, (d, d), undivided."""
        return unpacked(self._triangle)

    def parts(self, needs: np.ndarray) -> NoReturn:
        """Refuse: there are no second moments of classes."""
        raise TypeError(
            "pooled moments hold no second moments of classes, which this method needs: give it ClassMoments"
            " or StreamedMoments."
        )

    def _add_block(self, block: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        runs = list(class_runs(codes))
        classes = np.array([index for index, _ in runs])
        rows = dense_block(block[np.concatenate([members for _, members in runs])])
        counts = np.array([len(members) for _, members in runs])
        stops = np.cumsum(counts)
        spans = [slice(stop - count, stop) for count, stop in zip(counts, stops, strict=True)]
        totals = np.array([rows[span].sum(axis=0, dtype=np.float64) for span in spans])
        shifts = class_shifts(rows, totals, counts)
        sizes: np.ndarray = counts
        if weights is not None:
            weights = np.concatenate([weights[members] for _, members in runs])
            sizes = np.add.reduceat(weights, stops - counts)
            totals = np.array([np.einsum("n,nd->d", weights[s], rows[s], dtype=np.float64) for s in spans])
        self._counts[classes] += sizes
        self._sums[classes] += totals
        if shifts is not None:
            moved = np.flatnonzero(shifts.any(axis=0))
            rows = rows - np.repeat(shifts, counts, axis=0)
            self._triangle += packed(_moved_by(shifts.astype(np.float64), totals, sizes, moved))
        if weights is not None:
            rows = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
        self._triangle += packed_product(rows)

    def _make_room(self, old: np.ndarray, n_classes: int, width: int) -> None:
        if not old.size:
            self._triangle = np.zeros(packed_size(width))

    def _merge_products(self, other: PooledMoments, position: np.ndarray) -> None:
        self._triangle += other._triangle


def _moved_by(shifts: np.ndarray, totals: np.ndarray, sizes: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return the second moment less that of rows minus the shifts, which are zero but for some features."""
    product = (totals - 0.5 * sizes[:, None] * shifts).T @ shifts[:, moved]
    half = np.zeros((totals.shape[1], totals.shape[1]))
    half[:, moved] = product
    return half + half.T
