"""Counts, sums and second moments, of each class or of all rows together."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from eigenbench.atomic_files import replacing_file
from eigenbench.methods.linalg.row_blocks import BLOCK_BYTES, dense_block
from eigenbench.methods.moments.class_sums import ENOUGH_ROWS, ClassSums, WaitingRows, class_runs
from eigenbench.methods.moments.second_moments import (
    SecondMoments,
    class_shifts,
    moved_by,
    one_shift,
    packed,
    packed_product,
    packed_size,
    unpacked,
)

_FIELDS = ("classes", "counts", "sums", "triangles")


class ClassMoments(ClassSums, SecondMoments):
    r"""Count, sum and raw second moment of every class, built in one pass and mergeable.

    For class i with rows x: ``counts[i]`` is the number of rows :math:`n_i`, ``sums[i]`` is :math:`\sum x`
    and ``second_moment(i)`` is :math:`\sum x x^\top`, uncentred and undivided, so that the moments of two
    parts of a data set add up to the moments of the whole. PCA, LDA, GEM and others follow from it without
    another look at the data.

    Parameters
    ----------
    dtype : {float64, float32}, default=float64
        Type in which second moments are kept.

    Attributes
    ----------
    classes : ndarray of shape (c,)
        Class labels in sorted order, integers or strings.
    counts : ndarray of shape (c,), int64 or float64
        Rows of each class, or the sum of their weights once rows with weights were added.
    sums : ndarray of shape (c, d), float64
        Sum of the rows of each class, each times its weight.
    second_moments : ndarray of shape (c, d, d), float64
        Sum of x xᵀ over the rows of each class, each times its weight, symmetric; made anew from one triangle
        of each whenever it is asked for.

    Notes
    -----
    The state takes 4·c·d·(d + 1) bytes: one triangle for each class; half of that with float32, which rounds
    the entry (a, b) of class i with every addition by at most 6·10⁻⁸ of
    :math:`\sqrt{\sum x_a^2 \sum x_b^2}`. One addition is made for each 256 rows of a class or more, so 10⁵
    rows of a class lose at most 2·10⁻⁵ of it. :class:`~eigenbench.StreamedMoments` keeps only some
    classes at a time.

    ``update`` costs n·d² flops in symmetric rank-k products and one row block of memory beside the state.
    Rows of classes that have fewer than 256 in a block wait, in 512 MB or a quarter of the state if that is
    more, until there are enough of their class. Products are made in float32 within a block when the input is
    float32 or integer, in float64 otherwise, and are accumulated in ``dtype``. Where a feature's mean is more
    than ten standard deviations in a block, float32 products are made about the mean, so that the covariance
    keeps its digits.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import ClassMoments
    >>> X, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array(["b", "a", "b"])
    >>> whole = ClassMoments().update(X, y)
    >>> parts = ClassMoments().update(X[:1], y[:1]) + ClassMoments().update(X[1:], y[1:])
    >>> whole.classes.tolist(), whole.counts.tolist()
    (['a', 'b'], [1, 2])
    >>> np.array_equal(whole.second_moments, parts.second_moments)
    True
    """

    def __init__(self, *, dtype: Any = np.float64) -> None:
        super().__init__()
        self._dtype = np.dtype(dtype)
        self._triangles: list[np.ndarray] = []
        self._waiting: WaitingRows | None = None
        self._product: np.ndarray | None = None

    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""
        return unpacked(self.triangles[i])

    @property
    def triangles(self) -> list[np.ndarray]:
        """Second moment of each class as a triangle, see `eigenbench.methods.moments.second_moments`."""
        self._settle()
        return self._triangles

    @property
    def second_moments(self) -> np.ndarray:
        """Sum of x xᵀ over the rows of each class, (c, d, d)."""
        shape = (len(self.classes), self.n_features, self.n_features)
        return np.array([self.second_moment(i) for i in range(len(self.classes))]).reshape(shape)

    def total(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows, (d, d), undivided; each class times its weight."""
        total = np.zeros(packed_size(self.n_features))
        for i, triangle in enumerate(self.triangles):
            total += triangle if weights is None else weights[i] * triangle
        return unpacked(total)

    def _add_block(self, block: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        few = []
        for index, members in class_runs(codes):
            if len(members) < ENOUGH_ROWS:
                few.append(members)
                continue
            self._add_rows(index, dense_block(block[members]), None if weights is None else weights[members])
        if few:
            self._put_off(block, np.concatenate(few), codes, weights)

    def _put_off(
        self, block: Any, members: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
    ) -> None:
        """Let rows wait for others of their class, and add all that wait when there is no more room."""
        weighted, n_classes = weights is not None, len(self.classes)
        if self._waiting is not None and not self._waiting.takes(
            block, weighted=weighted, n_classes=n_classes
        ):
            self._settle()
        if self._waiting is None:
            size = sum(triangle.nbytes for triangle in self._triangles)
            self._waiting = WaitingRows(block, weighted=weighted, n_classes=n_classes, sum_bytes=size)
        start = 0
        while start < len(members):
            some = members[start : start + self._waiting.room]
            self._waiting.put(block, some, codes, weights)
            start += len(some)
            if not self._waiting.room:
                self._add_waiting(self._waiting)

    def _settle(self) -> None:
        if self._waiting is not None:
            self._add_waiting(self._waiting)
            self._waiting = self._product = None

    def _add_waiting(self, waiting: WaitingRows) -> None:
        for index, rows, weights in waiting.take():
            self._add_rows(index, dense_block(rows), weights)

    def _add_rows(self, index: int, rows: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows of one class."""
        total = rows.sum(axis=0, dtype=np.float64)
        shift = one_shift(rows, total)
        count: float = len(rows)
        if weights is not None:
            count, total = weights.sum(), np.einsum("n,nd->d", weights, rows, dtype=np.float64)
        self._counts[index] += count
        self._sums[index] += total
        triangle = self._triangles[index]
        if shift is not None:
            rows = rows - shift
            triangle += packed(moved_by(shift.astype(np.float64), total, count))
        if weights is not None:
            rows = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
        if self._product is not None and self._product.dtype != rows.dtype:
            self._product = None
        self._product = packed_product(rows, self._product)
        triangle += self._product

    def _make_room(self, old: np.ndarray, n_classes: int, width: int) -> None:
        if self._waiting is not None:
            self._waiting.rename(old)
        known = dict(zip(old.tolist(), self._triangles, strict=True))
        self._triangles = [
            known[i] if i in known else np.zeros(packed_size(width), self._dtype) for i in range(n_classes)
        ]

    def _merge_products(self, other: ClassMoments, position: np.ndarray) -> None:
        for index, triangle in zip(position.tolist(), other._triangles, strict=True):
            self._triangles[index] += triangle

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return {**self.__dict__, "_product": None}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to one ``.npz`` file, completely or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to create or replace. Its folder is created when absent.
        """
        empty = np.zeros((0, packed_size(self.n_features)), self._dtype)
        arrays = self.classes, self.counts, self.sums, np.stack(self.triangles) if self.triangles else empty
        with replacing_file(Path(path)) as partial, partial.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **dict(zip(_FIELDS, arrays, strict=True)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassMoments:
        """Read moments that ``save`` wrote.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        ClassMoments

        Raises
        ------
        ValueError
            If the file is not a complete moments file; the message names it. Nothing in it is executed.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                classes, counts, sums, triangles = (archive[name] for name in _FIELDS)
        except FileNotFoundError:
            raise
        except (
            OSError,
            EOFError,
            KeyError,
            ValueError,
            TypeError,
            AttributeError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(
                f"{path} is not a moments file, or is damaged ({error}): build it again."
            ) from error
        c, d = classes.size, sums.shape[-1]
        shapes = [array.shape for array in (classes, counts, sums, triangles)]
        if shapes != [(c,), (c,), (c, d), (c, packed_size(d))]:
            raise ValueError(
                f"{path} is not a moments file: its arrays have shapes {shapes}. Build it again."
            )
        moments = cls(dtype=triangles.dtype)
        moments.classes, moments._counts, moments._sums = classes, counts, sums
        moments._triangles = list(triangles)
        return moments


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

    # Rows are sorted by class, and where means are large shifted: copies of a block.
    _block_bytes: ClassVar[int] = BLOCK_BYTES // 8

    def __init__(self) -> None:
        super().__init__()
        self._triangle = np.zeros(0)

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
