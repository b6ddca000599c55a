"""Labels, counts and sums of classes, and merging: the base of all moments."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d

from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.linalg.row_blocks import (
    BLOCK_BYTES,
    ROW_TYPES,
    FeatureBlocks,
    checked_weights,
    row_slices,
    rows_that_count,
)


def class_runs(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every class that occurs, ascending, and the positions of its rows in order."""
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, starts)[1:], strict=True)


class ClassSums:
    """Base of sums over labelled rows that are built block by block, and merge."""

    #: Bytes of the rows that are added at a time.
    _block_bytes: ClassVar[int] = BLOCK_BYTES

    def __init__(self) -> None:
        self.classes = np.empty(0, dtype=np.int64)
        self.counts = np.empty(0, dtype=np.int64)
        self.sums = np.empty((0, 0))

    @property
    def n_features(self) -> int:
        """Number of columns d; 0 before the first rows."""
        return self.sums.shape[1]

    @abstractmethod
    def _add_block(self, block: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add a row block whose classes stand at the positions ``codes``."""

    @abstractmethod
    def _make_room(self, old: np.ndarray, n_classes: int, width: int) -> None:
        """Prepare for more classes; those of before move to the positions ``old``."""

    @abstractmethod
    def _merge_products(self, other: Any, position: np.ndarray) -> None:
        """Add what another sum has beside counts and sums; its classes stand at these positions here."""

    def _settle(self) -> None:
        """Add what has been put off, so that threads may read the sums."""

    def update(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
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
        self : object

        Raises
        ------
        ValueError
            If X is empty or holds NaN or infinity, if X and y differ in length, if the width differs from
            that of earlier rows, if string and number labels are mixed, or if a weight is negative. Nothing
            is added then.
        """
        X, y = labelled_rows(X, y)
        self._check_width(X.shape[1])
        if sample_weight is not None and not np.any(sample_weight):
            return self
        X, y, weights = rows_that_count(X, y, checked_weights(sample_weight, X))
        labels, codes = np.unique(y, return_inverse=True)
        self._admit(labels, X.shape[1])
        if weights is not None:
            self.counts = self.counts.astype(np.float64)
        position = np.searchsorted(self.classes, labels)
        for rows in row_slices(X.shape[0], X.shape[1] * max(4, X.dtype.itemsize), self._block_bytes):
            self._add_block(X[rows], position[codes[rows]], None if weights is None else weights[rows])
        return self

    add = update

    def _check_width(self, width: int) -> None:
        if self.classes.size and width != self.n_features:
            raise ValueError(f"X has {width} features, but the moments so far have {self.n_features}.")

    def _admit(self, labels: np.ndarray, width: int) -> None:
        """Make room for classes, keeping the classes sorted."""
        classes = joined_labels(self.classes, labels)
        if self.classes.size == classes.size:
            return
        old = np.searchsorted(classes, self.classes)
        counts, sums = np.zeros(classes.size, dtype=self.counts.dtype), np.zeros((classes.size, width))
        if old.size:
            counts[old], sums[old] = self.counts, self.sums
        self._make_room(old, classes.size, width)
        self.classes, self.counts, self.sums = classes, counts, sums

    def __add__(self, other: Any) -> Self:
        """Return the sums over disjoint sets of rows; `ValueError` if widths or kinds of labels differ."""
        if not isinstance(other, type(self)):
            return NotImplemented
        merged = copy.deepcopy(self)
        merged.merge(other)
        return merged

    def merge(self, other: Self) -> None:
        """Add the sums over other rows in place; `ValueError` as for the sum of two, and nothing is added."""
        if not other.classes.size:
            return
        self._check_width(other.n_features)
        self._admit(other.classes, other.n_features)
        position = np.searchsorted(self.classes, other.classes)
        self.counts = self.counts.astype(np.result_type(self.counts, other.counts), copy=False)
        self.counts[position] += other.counts
        self.sums[position] += other.sums
        self._merge_products(other, position)

    @classmethod
    def of(cls, X: Any, y: Any, feature_map: Any = None, *, sample_weight: Any = None) -> Self:
        """Return the sums over rows, or over their features, on the workers of joblib's backend.

        Parameters
        ----------
        X, y, sample_weight
            As for ``update``. The rows may hold NaN if the output of the map does not.
        feature_map : transformer, optional
            A fitted transformer that acts on each row alone; its output is made block by block.

        Returns
        -------
        object
            What ``update`` would give; see `eigenbench.methods.linalg.map_reduce.accumulate` about threads.

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
        X, y = labelled_rows(X, y, allow_nan=feature_map is not None)
        rows = [y]
        if sample_weight is not None:
            rows.append(checked_weights(sample_weight, X))
        total = accumulate(FeatureBlocks(X, feature_map), cls, *rows, label="moments")
        total._settle()
        return total

    @classmethod
    def of_partitions(cls, source: Any, feature_map: Any = None, *, target: Any = None) -> Self:
        """Return the sums over rows that come in partitions, read once.

        Parameters
        ----------
        source : Partitions, folder or URL, Dask collection, or iterable of (X, y)
            See :class:`~eigenbench.Partitions`; on the workers of joblib's
            backend, which may be a Dask cluster. A class may occur in one partition only.
        feature_map : transformer, optional
            A fitted transformer that acts on each row alone.
        target : str or int, optional
            Column of the labels in files and data frames.

        Returns
        -------
        object
            What ``of`` would give for all rows at once.

        Raises
        ------
        PartitionError
            If a partition has other columns or types than the first, or bad values; the message names it.
        FileNotFoundError
            If a file is gone.

        Examples
        --------
        >>> import numpy as np
        >>> from eigenbench import ClassMoments
        >>> blocks = ((np.full((2, 3), number), ["a", "b"]) for number in range(4))
        >>> ClassMoments.of_partitions(blocks).sums.tolist()
        [[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]]
        """
        total = Partitions.of(source, target=target).mapped(feature_map).sum(cls, label="moments")
        total._settle()
        return total


def label_array(y: Any) -> np.ndarray:
    """Return labels as a one-dimensional array of integers, floats or strings without NaN."""
    y = column_or_1d(np.asarray(y), warn=False)
    if y.dtype.kind == "O":
        y = y.astype(str) if all(isinstance(label, str) for label in y) else np.asarray(y.tolist())
    assert_all_finite(y, input_name="y")
    return y


def joined_labels(known: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return all labels in ascending order; raise `ValueError` for strings beside numbers."""
    if known.size and (labels.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise ValueError(
            f"labels of type {labels.dtype} cannot be combined with labels of type {known.dtype}: "
            "use either strings or numbers throughout."
        )
    return np.union1d(known, labels) if known.size else labels


def labelled_rows(X: Any, y: Any, *, allow_nan: bool = False) -> tuple[Any, np.ndarray]:
    """Return checked rows, dense or CSR, and as many labels; see `label_array`."""
    finite = "allow-nan" if allow_nan else True
    with config_context(array_api_dispatch=False):
        X = check_array(X, accept_sparse="csr", dtype=ROW_TYPES, ensure_all_finite=finite, input_name="X")
        y = label_array(y)
    check_consistent_length(X, y)
    return X, y
