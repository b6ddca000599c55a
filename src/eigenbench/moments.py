"""Per-class counts, sums and second moments: the one statistic that the spectral embeddings need."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import blas
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from eigenbench.linalg.accumulation import accumulate
from eigenbench.linalg.row_blocks import FeatureBlocks, dense_block, row_slices

#: A feature of float32 rows whose mean is larger than this, in standard deviations, has rows shifted first.
LARGE_MEAN = 10.0

_FIELDS = ("classes", "counts", "sums", "second_moments")


class ClassMoments:
    r"""Count, sum and raw second moment of every class, built in one pass and mergeable.

    For class i with rows x: ``counts[i]`` is the number of rows :math:`n_i`, ``sums[i]`` is :math:`\sum x`
    and ``second_moments[i]`` is :math:`\sum x x^\top`, uncentred and undivided, so that the moments of two
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
        Sum of x xᵀ over the rows of each class, each times its weight, symmetric.

    Notes
    -----
    The state takes 8·c·d² bytes. ``update`` costs n·d² flops in symmetric rank-k products (BLAS syrk) and
    one row block of memory beside the state. Products are made in float32 within a block when the input is
    float32 or integer, in float64 otherwise, and are accumulated in float64. Where a feature's mean is more
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

    def __init__(self) -> None:
        self.classes = np.empty(0, dtype=np.int64)
        self.counts = np.empty(0, dtype=np.int64)
        self.sums = np.empty((0, 0))
        self._moments = np.empty((0, 0, 0))
        self._stale: set[int] = set()

    @property
    def second_moments(self) -> np.ndarray:
        """Sum of x xᵀ over the rows of each class; ``update`` fills lower triangles, this the upper ones."""
        while self._stale:
            _mirror_lower(self._moments[self._stale.pop()])
        return self._moments

    @property
    def n_features(self) -> int:
        """Number of columns d; 0 before the first rows."""
        return self.sums.shape[1]

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> ClassMoments:
        """Add rows; may be called any number of times, also with classes not seen before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows. Sparse rows are made dense one block at a time.
        y : array-like of shape (n,)
            Their labels, integers or strings.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        ClassMoments
            The object itself.

        Raises
        ------
        ValueError
            If X is empty or holds NaN or infinity, if X and y differ in length, if the width differs from
            that of earlier rows, if string and number labels are mixed, or if a weight is negative. Nothing
            is added then.
        """
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32, np.uint8], input_name="X")
        y = _label_array(y)
        check_consistent_length(X, y)
        self._check_width(X.shape[1])
        weights = None
        if sample_weight is not None and not np.any(sample_weight):
            return self
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            counted = np.flatnonzero(weights)
            if len(counted) < len(weights):
                X, y, weights = X[counted], y[counted], weights[counted]
        labels, codes = np.unique(y, return_inverse=True)
        self._admit(labels, X.shape[1])
        if weights is not None:
            self.counts = self.counts.astype(np.float64)
        position = np.searchsorted(self.classes, labels)
        for rows in row_slices(X.shape[0], X.shape[1] * max(4, X.dtype.itemsize)):
            self._add_block(X[rows], position[codes[rows]], None if weights is None else weights[rows])
        return self

    def _add_block(self, block: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add the block's products to the lower triangles."""
        order = np.argsort(codes, kind="stable")
        present, starts = np.unique(codes[order], return_index=True)
        product = None
        for index, members in zip(present, np.split(order, starts[1:]), strict=True):
            rows = dense_block(block[members])
            total = rows.sum(axis=0, dtype=np.float64)
            shift = _shift(rows, total)
            count = len(members)
            if weights is not None:
                here = weights[members]
                count, total = here.sum(), np.einsum("n,nd->d", here, rows, dtype=np.float64)
            self.counts[index] += count
            self.sums[index] += total
            if shift is not None:
                rows = rows - shift
                self._moments[index] += _moved_by(shift.astype(np.float64), total, count)
            if weights is not None:
                rows = rows * np.sqrt(here).astype(rows.dtype)[:, None]
            syrk = blas.ssyrk if rows.dtype == np.float32 else blas.dsyrk
            product = syrk(1.0, rows.T, c=product, overwrite_c=True)
            self._moments[index] += product.T
            self._stale.add(int(index))

    def _check_width(self, width: int) -> None:
        if self.classes.size and width != self.n_features:
            raise ValueError(f"X has {width} features, but the moments so far have {self.n_features}.")

    def _admit(self, labels: np.ndarray, width: int) -> None:
        """Make room for classes, keeping the classes sorted."""
        if self.classes.size == 0:
            self.classes = labels[:0]
        elif (labels.dtype.kind in "US") != (self.classes.dtype.kind in "US"):
            raise ValueError(
                f"labels of type {labels.dtype} cannot be combined with labels of type {self.classes.dtype}: "
                "use either strings or numbers throughout."
            )
        classes = np.union1d(self.classes, labels)
        if self.classes.size == classes.size:
            return
        old = np.searchsorted(classes, self.classes)
        grown: dict[str, np.ndarray] = {
            "counts": np.zeros(classes.size, dtype=self.counts.dtype),
            "sums": np.zeros((classes.size, width)),
            "_moments": np.zeros((classes.size, width, width)),
        }
        if old.size:
            for name, array in grown.items():
                array[old] = getattr(self, name)
        self.classes = classes
        self.counts, self.sums, self._moments = grown["counts"], grown["sums"], grown["_moments"]
        self._stale = {int(old[index]) for index in self._stale}

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """Return the moments of the union of two disjoint sets of rows.

        Raises
        ------
        ValueError
            If the widths differ, or one has string labels and the other numbers.
        """
        if not isinstance(other, ClassMoments):
            return NotImplemented
        merged = ClassMoments()
        merged.merge(self)
        merged.merge(other)
        return merged

    def merge(self, other: ClassMoments) -> None:
        """Add the moments of other rows in place.

        Raises
        ------
        ValueError
            As for the sum of two; nothing is added then.
        """
        if not other.classes.size:
            return
        self._check_width(other.n_features)
        self._admit(other.classes, other.n_features)
        position = np.searchsorted(self.classes, other.classes)
        self.counts = self.counts.astype(np.result_type(self.counts, other.counts), copy=False)
        self.counts[position] += other.counts
        self.sums[position] += other.sums
        for index, moment in zip(position, other._moments, strict=True):
            self._moments[index] += moment
        self._stale |= {int(position[index]) for index in other._stale}

    @classmethod
    def of(cls, X: Any, y: Any, feature_map: Any = None, *, sample_weight: Any = None) -> ClassMoments:
        """Return the moments of rows, or of their features, over the workers of joblib's backend.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            Their labels.
        feature_map : transformer, optional
            A fitted transformer that acts on each row alone; its output is made block by block. The rows may
            hold NaN if its output does not.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0.

        Returns
        -------
        ClassMoments
            Those that ``update`` would give; see `eigenbench.linalg.accumulation.accumulate` about threads.

        Raises
        ------
        ValueError
            As for ``update``.

        Examples
        --------
        >>> import joblib, numpy as np
        >>> from eigenbench import ClassMoments
        >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
        >>> with joblib.parallel_config("threading", n_jobs=2):
        ...     ClassMoments.of(X, y).counts.tolist()
        [3, 3]
        """
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32, np.uint8],
            ensure_all_finite=True if feature_map is None else "allow-nan",
            input_name="X",
        )
        y = _label_array(y)
        check_consistent_length(X, y)
        rows = [y]
        if sample_weight is not None:
            rows.append(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        return accumulate(FeatureBlocks(X, feature_map), cls, *rows, label="moments")

    add = update

    def conditional(self, i: int) -> np.ndarray:
        """Return C_i = E[x xᵀ | class i], the uncentred second moment of the i-th class, (d, d)."""
        return self.second_moments[i] / self.counts[i]

    def covariance(self, i: int) -> np.ndarray:
        """Return Cov[x | class i] with divisor n_i, (d, d); zero for a class of one row."""
        mean = self.sums[i] / self.counts[i]
        return self.conditional(i) - np.outer(mean, mean)

    def total(self) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows of all classes, (d, d), undivided."""
        return self.second_moments.sum(axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the moments to one ``.npz`` file, completely or not at all.

        Parameters
        ----------
        path : str or path-like
            The file to create or replace. It is written under a temporary name beside it, then renamed.
        """
        target = Path(path)
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with partial.open("wb") as stream:
                np.savez(stream, allow_pickle=False, **{name: getattr(self, name) for name in _FIELDS})
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

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
        moments = cls()
        try:
            with np.load(path, allow_pickle=False) as archive:
                moments.classes, moments.counts = archive["classes"], archive["counts"]
                moments.sums, moments._moments = archive["sums"], archive["second_moments"]
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
        c, d = moments.classes.size, moments.sums.shape[-1]
        shapes = [getattr(moments, name).shape for name in _FIELDS]
        if shapes != [(c,), (c,), (c, d), (c, d, d)]:
            raise ValueError(
                f"{path} is not a moments file: its arrays have shapes {shapes}. Build it again."
            )
        return moments


def _label_array(y: Any) -> np.ndarray:
    """Return labels as a one-dimensional array of integers, floats or strings without NaN."""
    y = column_or_1d(np.asarray(y), warn=False)
    if y.dtype.kind == "O":
        y = y.astype(str) if all(isinstance(label, str) for label in y) else np.asarray(y.tolist())
    assert_all_finite(y, input_name="y")
    return y


def _shift(rows: np.ndarray, total: np.ndarray) -> np.ndarray | None:
    """Return what to subtract from float32 rows of this sum before products are made, None for nothing.

    Raw products of a feature of mean m and variance v keep v to about m²/v times the rounding of their type.
    The shift is the mean to within a standard deviation, with few digits: subtracting it is almost exact, and
    exact for integers.
    """
    if rows.dtype != np.float32:
        return None
    mean = total / len(rows)
    variance = np.einsum("nd,nd->d", rows, rows, dtype=np.float64) / len(rows) - mean**2
    if not (mean**2 > LARGE_MEAN**2 * variance).any():
        return None
    least = (np.finfo(np.float32).eps * mean) ** 2 + np.finfo(np.float64).tiny
    step = 2.0 ** np.floor(0.5 * np.log2(np.maximum(variance, least)))
    return (step * np.rint(mean / step)).astype(np.float32)


def _moved_by(shift: np.ndarray, total: np.ndarray, n: float) -> np.ndarray:
    """Return the second moment of n rows of this sum less that of the rows minus a shift."""
    half = np.outer(total - 0.5 * n * shift, shift)
    return half + half.T


def _mirror_lower(matrix: np.ndarray) -> None:
    """Copy the lower triangle of a square matrix to its upper triangle, in tiles that fit in cache."""
    size, tile = len(matrix), 256
    for start in range(0, size, tile):
        stop = min(start + tile, size)
        corner = matrix[start:stop, start:stop]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        matrix[start:stop, stop:] = matrix[stop:, start:stop].T
