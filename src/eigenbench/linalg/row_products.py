"""Products with the data matrix and the label matrix, which are only ever touched in row blocks."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from eigenbench.linalg.row_blocks import dense_block, row_slices

#: Share of the sum of squares below which what centring leaves of it is rounding.
_ROUNDING = 1e-12

logger = logging.getLogger(__name__)

#: Right-hand sides that one thread works on at a time. Index arrays are read once for all of them, and the
#: dense side of a product with that many columns is small enough to keep several.
COLUMNS_AT_ONCE = 64

#: Dense features whose mean is larger than this, in standard deviations, have rows shifted before products.
LARGE_MEAN = 10.0

#: Stored values that are counted or squared at a time.
VALUES_AT_ONCE = 2**22


class LabelledRows:
    r"""Rows of X (n, d) and Y (n, c) that offer products with :math:`X_c = X - 1\bar x^\top`.

    A product works on some columns, at most ``COLUMNS_AT_ONCE`` for speed, in the calling thread;
    ``by_columns`` shares more columns among threads. So no sums have to be combined, and the rows may lie in
    memory-mapped files that all threads read. Beside its result a product holds one row block times its
    columns.

    Parameters
    ----------
    blocks : sequence of (X_b, Y_b)
        The rows in order, in blocks: X_b a CSR or dense array of shape (b, d), float32 or float64
        (dense ones may be of integers), Y_b a CSR array of shape (b, c) of the same type as the products.
        Iterated over many times.
    fit_intercept : bool
        Whether to centre X; without it :math:`\bar x` is taken to be zero.
    n_jobs : int or None
        Number of threads, as in scikit-learn; None follows ``joblib.parallel_config``.

    Attributes
    ----------
    n_rows, n_features, n_labels : int
        n, d and c.
    dtype : numpy dtype
        float32 or float64, the type of products.
    feature_mean : ndarray of shape (d,), float64
        The mean row, or zeros.
    diagonal : ndarray of shape (d,), float64
        Diagonal of :math:`X_c^\top X_c`; exactly zero for constant columns.
    label_sums : ndarray of shape (c,), float64
        Column sums of Y.
    label_mean : ndarray of shape (c,), float64
        Their mean, or zeros.

    Notes
    -----
    ``gram`` costs 4·nnz(X)·w flops (dense X: 4·n·d·w), ``cross`` and ``cross_transposed``
    2·(nnz(X) + nnz(Y))·w. Sparse products are limited by memory traffic and about half as fast again when
    columns are ordered by falling frequency. Creation reads the data once.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> X, Y = np.array([[1.0, 2.0], [3.0, 5.0]]), sparse.csr_array(np.eye(2))
    >>> rows = LabelledRows.of(X, Y, fit_intercept=False)
    >>> rows.cross(np.eye(2))
    array([[1., 3.],
           [2., 5.]])
    """

    def __init__(
        self, blocks: Sequence[tuple[Any, Any]], *, fit_intercept: bool = True, n_jobs: int | None = None
    ) -> None:
        self._blocks = blocks
        self._n_jobs = n_jobs
        X_b, Y_b = blocks[0]
        self.n_rows, self.n_features, self.n_labels = 0, X_b.shape[1], Y_b.shape[1]
        self.dtype = np.dtype(np.float64 if X_b.dtype == np.float64 else np.float32)
        sums, squares = np.zeros(self.n_features), np.zeros(self.n_features)
        self.label_sums = np.zeros(self.n_labels)
        self._shift: np.ndarray | None = None
        for X_b, Y_b in self.blocks():
            self.n_rows += X_b.shape[0]
            _add_column_sums(X_b, sums, squares)
            self.label_sums += np.bincount(Y_b.indices, weights=Y_b.data, minlength=self.n_labels)
        self.feature_mean = sums / self.n_rows if fit_intercept else np.zeros(self.n_features)
        self.label_mean = self.label_sums / self.n_rows if fit_intercept else np.zeros(self.n_labels)
        self.diagonal = squares - self.n_rows * self.feature_mean**2
        self.diagonal[self.diagonal <= _ROUNDING * squares] = 0
        self._shift, self._centre = self._shifted_centre(blocks[0][0])

    def _shifted_centre(self, X_b: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """Return what is subtracted from dense rows before products, None for nothing, and their mean then.

        Products of features whose means are large against their deviations would lose the deviations.
        """
        variances = self.diagonal / self.n_rows
        if sparse.issparse(X_b) or not (self.feature_mean**2 > LARGE_MEAN**2 * variances).any():
            return None, self.feature_mean
        shift = self.feature_mean.astype(self.dtype)
        return shift, np.where(self.diagonal > 0, self.feature_mean - shift, 0)

    @classmethod
    def of(cls, X: Any, Y: Any, **options: Any) -> LabelledRows:
        """Cut CSR or dense X and CSR Y into blocks without copying them (also when memory-mapped)."""
        itemsize = 8 if X.dtype == np.float64 else 4
        width = max(COLUMNS_AT_ONCE, 0 if sparse.issparse(X) else X.shape[1])
        slices = row_slices(X.shape[0], width * itemsize)
        return cls([(_rows(X, here), _rows(Y, here)) for here in slices], **options)

    def blocks(self) -> Iterator[tuple[Any, Any]]:
        """Yield (X_b, Y_b) with X_b in ``dtype``, shifted where means are large."""
        for X_b, Y_b in self._blocks:
            if sparse.issparse(X_b):
                yield X_b, Y_b
            else:
                rows = dense_block(X_b, self.dtype)
                yield rows if self._shift is None else rows - self._shift, Y_b

    def by_columns(
        self, function: Callable[[np.ndarray], np.ndarray], height: int, columns: np.ndarray
    ) -> np.ndarray:
        """Apply a function that maps column by column to groups of columns, in threads.

        Parameters
        ----------
        function : callable
            Is given contiguous columns (·, w) in ``dtype`` and returns (height, w).
        height : int
            Number of rows of the result.
        columns : ndarray of shape (·, p)
            The columns.

        Returns
        -------
        ndarray of shape (height, p)
        """
        return self.by_groups(
            lambda here: function(np.ascontiguousarray(columns[:, here], dtype=self.dtype)),
            (height, columns.shape[1]),
        )

    def by_groups(self, function: Callable[[slice], np.ndarray], shape: tuple[int, int]) -> np.ndarray:
        """Return a matrix of this shape; the function makes groups of its columns, in threads."""
        width, workers = shape[1], effective_n_jobs(self._n_jobs)
        n_groups = min(width, workers * -(-width // (workers * COLUMNS_AT_ONCE)))
        out = np.empty(shape, dtype=self.dtype)

        def work(here: slice) -> None:
            out[:, here] = function(here)
            logger.info("columns %d to %d of %d done", here.start + 1, here.stop, width)

        edges = np.linspace(0, width, n_groups + 1).astype(int).tolist()
        groups = itertools.starmap(slice, itertools.pairwise(edges))
        Parallel(n_jobs=self._n_jobs, require="sharedmem")(delayed(work)(here) for here in groups)
        return out

    def gram(self, P: np.ndarray) -> np.ndarray:
        r"""Return :math:`X_c^\top X_c P`, (d, w) → (d, w)."""
        out = np.zeros_like(P)
        for X_b, _ in self.blocks():
            out += X_b.T @ (X_b @ P)
        mean = self._centre.astype(self.dtype)
        out -= np.outer(self.n_rows * mean, mean @ P)
        return out

    def cross(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`X_c^\top Y Q`, (c, w) → (d, w)."""
        out = np.zeros((self.n_features, Q.shape[1]), dtype=self.dtype)
        for X_b, Y_b in self.blocks():
            out += X_b.T @ (Y_b @ Q)
        out -= np.outer(self._centre, self.label_sums @ Q)
        return out

    def cross_transposed(self, Z: np.ndarray) -> np.ndarray:
        r"""Return :math:`Y^\top X_c Z`, (d, w) → (c, w)."""
        out = np.zeros((self.n_labels, Z.shape[1]), dtype=self.dtype)
        for X_b, Y_b in self.blocks():
            out += Y_b.T @ (X_b @ Z)
        out -= np.outer(self.label_sums, self._centre @ Z)
        return out

    def label_covariance(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`(Y - 1\bar y^\top)^\top Y Q`, (c, w) → (c, w); uncentred without an intercept."""
        out = np.zeros_like(Q)
        for _, Y_b in self._blocks:
            out += Y_b.T @ (Y_b @ Q)
        out -= np.outer(self.label_mean, self.label_sums @ Q)
        return out


def _rows(matrix: Any, here: slice) -> Any:
    """Return consecutive rows as a view: scipy's own slicing would copy them."""
    if not sparse.issparse(matrix):
        return matrix[here]
    start, stop = matrix.indptr[here.start], matrix.indptr[here.stop]
    parts = (
        matrix.data[start:stop],
        matrix.indices[start:stop],
        matrix.indptr[here.start : here.stop + 1] - start,
    )
    return sparse.csr_array(parts, shape=(here.stop - here.start, matrix.shape[1]), copy=False)


def _add_column_sums(X_b: Any, sums: np.ndarray, squares: np.ndarray) -> None:
    """Add the sums of the columns and of their squares in float64."""
    if not sparse.issparse(X_b):
        sums += X_b.sum(axis=0, dtype=np.float64)
        squares += np.einsum("ij,ij->j", X_b, X_b, dtype=np.float64)
        return
    for start in range(0, X_b.nnz, VALUES_AT_ONCE):
        values = X_b.data[start : start + VALUES_AT_ONCE].astype(np.float64)
        columns = X_b.indices[start : start + VALUES_AT_ONCE]
        sums += np.bincount(columns, weights=values, minlength=len(sums))
        squares += np.bincount(columns, weights=values**2, minlength=len(sums))
