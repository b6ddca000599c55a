"""Products with the data matrix and the label matrix, which are only ever touched in row blocks."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from eigenbench.methods.linalg.row_blocks import dense_block, row_slices

logger = logging.getLogger(__name__)

#: Share of the sum of squares below which what centring leaves of it is rounding.
_ROUNDING = 1e-12

#: Right-hand sides that one thread works on at a time. Index arrays are read once for all of them, and the
#: dense side of a product with that many columns is small enough to keep several.
COLUMNS_AT_ONCE = 64

#: Dense features whose mean is larger than this, in standard deviations, have rows shifted before products.
LARGE_MEAN = 10.0

#: Stored values that are counted or squared at a time.
VALUES_AT_ONCE = 2**22


class LabelledRows:
    r"""Rows of X (n, d) and Y (n, c) that offer products with :math:`X_c = X - 1\bar x^\top`.

    ``blocks`` hold the rows in order: X_b CSR or dense, Y_b CSR of the type of the products, float32 or
    float64; they are read once at creation and then for every product. Without ``fit_intercept``
    :math:`\bar x` is zero. With weights (n,), products are those with rows that occur as often as their
    weight says. ``diagonal`` is that of :math:`X_c^\top X_c`, exactly zero for constant columns.

    A product works on some columns, at most ``COLUMNS_AT_ONCE`` for speed, in the calling thread;
    ``by_columns`` shares more columns among ``n_jobs`` threads. So no sums have to be combined, and the rows
    may lie in memory-mapped files that all threads read. Beside its result a product holds one row block
    times its columns. ``gram`` costs 4·nnz(X)·w flops (dense X: 4·n·d·w), ``cross`` and ``cross_transposed``
    2·(nnz(X) + nnz(Y))·w.
    """

    def __init__(
        self,
        blocks: Sequence[tuple[Any, Any]],
        *,
        weights: np.ndarray | None = None,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self._blocks = blocks
        stops = np.cumsum([X_b.shape[0] for X_b, _ in blocks])[:-1]
        self._weights = [None] * len(blocks) if weights is None else np.split(weights, stops)
        self._n_jobs = n_jobs
        X_b, Y_b = blocks[0]
        self.n_rows: float = 0
        self.n_features, self.n_labels = X_b.shape[1], Y_b.shape[1]
        self.dtype = np.dtype(np.float64 if X_b.dtype == np.float64 else np.float32)
        sums, squares = np.zeros(self.n_features), np.zeros(self.n_features)
        self.label_sums = np.zeros(self.n_labels)
        self._shift: np.ndarray | None = None
        for X_b, Y_b, w_b in self.blocks():
            self.n_rows += X_b.shape[0] if w_b is None else float(w_b.sum())
            _add_column_sums(X_b, w_b, sums, squares)
            values = Y_b.data if w_b is None else Y_b.data * _of_entries(Y_b, w_b)
            self.label_sums += np.bincount(Y_b.indices, weights=values, minlength=self.n_labels)
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

    def blocks(self) -> Iterator[tuple[Any, Any, np.ndarray | None]]:
        """Yield (X_b, Y_b, w_b) with X_b in ``dtype``, shifted where means are large, and the weights."""
        for (X_b, Y_b), w_b in zip(self._blocks, self._weights, strict=True):
            if sparse.issparse(X_b):
                yield X_b, Y_b, w_b
            else:
                rows = dense_block(X_b, self.dtype)
                yield rows if self._shift is None else rows - self._shift, Y_b, w_b

    def by_columns(
        self, function: Callable[[np.ndarray], np.ndarray], height: int, columns: np.ndarray
    ) -> np.ndarray:
        """Apply a function that maps column by column to groups of columns, in threads: (height, p)."""
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
        for X_b, _, w_b in self.blocks():
            out += X_b.T @ weighted(X_b @ P, w_b)
        mean = self._centre.astype(self.dtype)
        out -= np.outer(self.n_rows * mean, mean @ P)
        return out

    def cross(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`X_c^\top Y Q`, (c, w) → (d, w)."""
        out = np.zeros((self.n_features, Q.shape[1]), dtype=self.dtype)
        for X_b, Y_b, w_b in self.blocks():
            out += X_b.T @ weighted(Y_b @ Q, w_b)
        out -= np.outer(self._centre, self.label_sums @ Q)
        return out

    def cross_transposed(self, Z: np.ndarray) -> np.ndarray:
        r"""Return :math:`Y^\top X_c Z`, (d, w) → (c, w)."""
        out = np.zeros((self.n_labels, Z.shape[1]), dtype=self.dtype)
        for X_b, Y_b, w_b in self.blocks():
            out += Y_b.T @ weighted(X_b @ Z, w_b)
        out -= np.outer(self.label_sums, self._centre @ Z)
        return out

    def label_covariance(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`(Y - 1\bar y^\top)^\top Y Q`, (c, w) → (c, w); uncentred without an intercept."""
        out = np.zeros_like(Q)
        for (_, Y_b), w_b in zip(self._blocks, self._weights, strict=True):
            out += Y_b.T @ weighted(Y_b @ Q, w_b)
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


def weighted(product: np.ndarray, w_b: np.ndarray | None) -> np.ndarray:
    """Multiply the rows of a product, which is changed, by their weights."""
    if w_b is not None:
        product *= w_b.astype(product.dtype)[:, None]
    return product


def _of_entries(matrix: Any, w_b: np.ndarray) -> np.ndarray:
    """Return the weight of the row of each stored entry of a CSR array."""
    return np.repeat(w_b, np.diff(matrix.indptr))


def _add_column_sums(X_b: Any, w_b: np.ndarray | None, sums: np.ndarray, squares: np.ndarray) -> None:
    """Add the weighted sums of the columns and of their squares in float64."""
    if not sparse.issparse(X_b):
        if w_b is None:
            sums += X_b.sum(axis=0, dtype=np.float64)
            squares += np.einsum("ij,ij->j", X_b, X_b, dtype=np.float64)
        else:
            sums += np.einsum("i,ij->j", w_b, X_b, dtype=np.float64)
            squares += np.einsum("i,ij,ij->j", w_b, X_b, X_b, dtype=np.float64)
        return
    weights = None if w_b is None else _of_entries(X_b, w_b)
    for start in range(0, X_b.nnz, VALUES_AT_ONCE):
        here = slice(start, start + VALUES_AT_ONCE)
        values, columns = X_b.data[here].astype(np.float64), X_b.indices[here]
        shares = values if weights is None else values * weights[here]
        sums += np.bincount(columns, weights=shares, minlength=len(sums))
        squares += np.bincount(columns, weights=shares * values, minlength=len(sums))


#: Bytes of the rows of the Gram matrix that belong to frequent columns.
FREQUENT_BYTES = 2**30

#: Bytes of a copy of the other columns; rows with more of them are used as they are.
COPY_BYTES = 4 * 2**30

#: How many multiplications a dense product does in the time of one of a sparse product, at least.
_DENSE_RATE = 20


class GramProducts:
    r"""Products with :math:`X_c^\top X_c` for columns ordered by falling frequency; dense rows as they are.

    The h most frequent columns of sparse X, in bags of words half of what is stored, would be multiplied
    one entry at a time in every product. Here their rows of :math:`X^\top X` are made once, by 2·nnz·h flops,
    and multiplied as dense ones; the remaining columns lie side by side in the order of their frequency.
    Position i of the products' coordinates belongs to column ``order[i]``. Memory: 4·h·d bytes, at most
    ``FREQUENT_BYTES``, and 8 bytes for each value in other columns, at most ``COPY_BYTES``.
    """

    def __init__(self, rows: LabelledRows) -> None:
        self._rows = rows
        self.order: Any = slice(None)
        self._rest: list[tuple[sparse.csr_array, np.ndarray | None]] | None = None
        if not all(sparse.issparse(X_b) for X_b, _, _ in rows.blocks()):
            return
        counts = _stored_values(rows)
        order = np.argsort(-counts, kind="stable")
        fitting = FREQUENT_BYTES // (rows.dtype.itemsize * rows.n_features)
        n_frequent = min(fitting, np.count_nonzero(counts * _DENSE_RATE > rows.n_features))
        frequent, rest = np.split(order, [n_frequent])
        if counts[rest].sum() * (4 + rows.dtype.itemsize) > COPY_BYTES:
            return

        def gram_columns(here: slice) -> np.ndarray:
            out = np.zeros((rows.n_features, here.stop - here.start), dtype=rows.dtype)
            for X_b, _, w_b in rows.blocks():
                out += X_b.T @ weighted(X_b[:, frequent[here]].toarray(), w_b)
            return out[order]

        self.order = order
        self._frequent = rows.by_groups(gram_columns, (rows.n_features, n_frequent))
        self._rest = [(X_b[:, rest], w_b) for X_b, _, w_b in rows.blocks()]
        self._mean = rows.feature_mean[order].astype(rows.dtype)

    def __call__(self, P: np.ndarray) -> np.ndarray:
        """Return the product for P of shape (d, w), C-contiguous."""
        if self._rest is None:
            return self._rows.gram(P)
        h = self._frequent.shape[1]
        out = self._frequent @ P[:h]
        out[:h] += self._frequent[h:].T @ P[h:]
        for X_b, w_b in self._rest:
            out[h:] += X_b.T @ weighted(X_b @ P[h:], w_b)
        out -= np.outer(self._rows.n_rows * self._mean, self._mean @ P)
        return out


def _stored_values(rows: LabelledRows) -> np.ndarray:
    """Return how many values are stored in each column."""
    counts = np.zeros(rows.n_features, dtype=np.int64)
    for X_b, _, _ in rows.blocks():
        for start in range(0, X_b.nnz, VALUES_AT_ONCE):
            counts += np.bincount(X_b.indices[start : start + VALUES_AT_ONCE], minlength=rows.n_features)
    return counts
