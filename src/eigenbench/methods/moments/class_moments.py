"""Counts, sums and second moments, of each class or of all rows together."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np

from eigenbench.atomic_files import replacing_file
from eigenbench.methods.linalg.row_blocks import BLOCK_BYTES, class_indicators, dense_block
from eigenbench.methods.moments.class_sums import ClassSums, class_runs
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

#: What reading a file that is no complete moments file raises.
_DAMAGES = (OSError, EOFError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile)

#: Rows of a class that are enough for one product: adding it to the sum then costs little beside it.
ENOUGH_ROWS = 256

#: Bytes of rows that wait for others of their class, unless a share of what they are added to is more. They
#: take twice as many when they are put together.
WAITING_BYTES, WAITING_SHARE = 256 * 2**20, 0.125


class ClassMoments(ClassSums, SecondMoments):
    r"""Count, sum and raw second moment of every class, built in one pass and mergeable.

    For class i with rows x: ``counts[i]`` is the number of rows :math:`n_i`, ``sums[i]`` is :math:`\sum x`
    and ``second_moment(i)`` is :math:`\sum x x^\top`, uncentred and undivided, so that the moments of two
    parts of a data set add up to the moments of the whole. PCA, LDA, GEM and others follow from it without
    another look at the data.

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
    The state takes 4·c·d·(d + 1) bytes: one triangle for each class.
    :class:`~eigenbench.StreamedMoments` keeps only some classes at a time.

    ``update`` costs n·d² flops in symmetric rank-k products and one row block of memory beside the state.
    Rows of classes that have fewer than 256 in a block wait until there are 256 for each class, or until they
    take 512 MB, or a quarter of the state if that is more. Products are made in float32 within a block when
    the input is float32 or integer, in float64 otherwise, and are accumulated in float64. Where a feature's
    mean is more than ten standard deviations in a block, float32 products are made about the mean, so that
    the covariance keeps its digits.

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

    def __init__(self) -> None:
        super().__init__()
        self._triangles: list[np.ndarray] = []
        self._waiting: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
        self._n_waiting = 0

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
            rows, own = dense_block(block[members]), None if weights is None else weights[members]
            self.counts[index] += len(rows) if own is None else own.sum()
            self.sums[index] += _total(rows, own)
            self._add_products(index, rows, own)
        if few:
            chosen = np.concatenate(few)
            own = None if weights is None else weights[chosen]
            self._put_off(dense_block(block[chosen]), codes[chosen], own)

    def _put_off(self, rows: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add counts and sums of rows of classes that have few, and let them wait for more of their class."""
        present, local = np.unique(codes, return_inverse=True)
        indicators = class_indicators(local, len(present))
        if weights is not None:
            indicators.data[:] = weights
        self.counts[present] += indicators.sum(axis=0).astype(self.counts.dtype)
        self.sums[present] += indicators.T @ rows
        self._waiting.append((rows, self.classes[codes], weights))
        self._n_waiting += len(rows)
        state = len(self._triangles) * 8 * packed_size(rows.shape[1])
        room = max(WAITING_BYTES, WAITING_SHARE * state) // (rows.itemsize * rows.shape[1])
        if self._n_waiting > min(room, ENOUGH_ROWS * len(self.classes)):
            self._settle()

    def _settle(self) -> None:
        """Add the products of rows that wait."""
        if not self._waiting:
            return
        rows, labels = (np.concatenate([part[i] for part in self._waiting]) for i in (0, 1))
        weights = None
        if any(own is not None for _, _, own in self._waiting):
            ones = [np.ones(len(part)) if own is None else own for part, _, own in self._waiting]
            weights = np.concatenate(ones)
        self._waiting, self._n_waiting = [], 0
        for index, members in class_runs(np.searchsorted(self.classes, labels)):
            self._add_products(index, rows[members], None if weights is None else weights[members])

    def _add_products(self, index: int, rows: np.ndarray, weights: np.ndarray | None) -> None:
        shift = one_shift(rows, rows.sum(axis=0, dtype=np.float64))
        if shift is not None:
            count = np.array([len(rows) if weights is None else weights.sum()])
            self._triangles[index] += packed(moved_by(shift[None], _total(rows, weights)[None], count))
            rows = rows - shift
        if weights is not None:
            rows = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
        self._triangles[index] += packed_product(rows)

    def _make_room(self, old: np.ndarray, n_classes: int, width: int) -> None:
        known = dict(zip(old.tolist(), self._triangles, strict=True))
        self._triangles = [known[i] if i in known else np.zeros(packed_size(width)) for i in range(n_classes)]

    def _merge_products(self, other: ClassMoments, position: np.ndarray) -> None:
        for index, triangle in zip(position.tolist(), other.triangles, strict=True):
            self._triangles[index] += triangle

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to one ``.npz`` file, completely or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to create or replace. Its folder is created when absent.
        """
        triangles = np.reshape(self.triangles, (len(self.classes), packed_size(self.n_features)))
        arrays = self.classes, self.counts, self.sums, triangles
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
        except _DAMAGES as error:
            raise ValueError(
                f"{path} is not a moments file, or is damaged ({error}): build it again."
            ) from error
        c, d = classes.size, sums.shape[-1]
        shapes = [array.shape for array in (classes, counts, sums, triangles)]
        if shapes != [(c,), (c,), (c, d), (c, packed_size(d))]:
            raise ValueError(
                f"{path} is not a moments file: its arrays have shapes {shapes}. Build it again."
            )
        moments = cls()
        moments.classes, moments.counts, moments.sums = classes, counts, sums
        moments._triangles = list(triangles.astype(np.float64, copy=False))
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
        totals = np.array([_total(rows[span], None) for span in spans])
        shifts = class_shifts(rows, totals, counts)
        sizes: np.ndarray = counts
        if weights is not None:
            weights = np.concatenate([weights[members] for _, members in runs])
            sizes = np.add.reduceat(weights, stops - counts)
            totals = np.array([_total(rows[span], weights[span]) for span in spans])
        self.counts[classes] += sizes
        self.sums[classes] += totals
        if shifts is not None:
            rows = rows - np.repeat(shifts, counts, axis=0)
            self._triangle += packed(moved_by(shifts, totals, sizes))
        if weights is not None:
            rows = rows * np.sqrt(weights).astype(rows.dtype)[:, None]
        self._triangle += packed_product(rows)

    def _make_room(self, old: np.ndarray, n_classes: int, width: int) -> None:
        if not old.size:
            self._triangle = np.zeros(packed_size(width))

    def _merge_products(self, other: PooledMoments, position: np.ndarray) -> None:
        self._triangle += other._triangle


def _total(rows: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the sum of rows, each times its weight, (d,)."""
    if weights is None:
        return rows.sum(axis=0, dtype=np.float64)
    return np.einsum("n,nd->d", weights, rows, dtype=np.float64)
