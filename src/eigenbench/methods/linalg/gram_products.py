"""Products with the Gram matrix of sparse rows, of which the part of the frequent columns is made once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from eigenbench.methods.linalg.row_products import VALUES_AT_ONCE, LabelledRows, weighted

#: Bytes of the rows of the Gram matrix that belong to frequent columns.
FREQUENT_BYTES = 2**30

#: Bytes of a copy of the other columns; rows with more of them are used as they are.
COPY_BYTES = 4 * 2**30

#: How many multiplications a dense product does in the time of one of a sparse product, at least.
_DENSE_RATE = 20


class GramProducts:
    r"""Products with :math:`X_c^\top X_c` for columns ordered by falling frequency.

    The h most frequent columns of sparse X, in bags of words half of what is stored, would be multiplied
    one entry at a time in every product. Here their rows of :math:`X^\top X` are made once and
    multiplied as dense ones; the remaining columns lie side by side in the order of their frequency, so that
    the part of the factor that most entries need stays in the cache.

    Parameters
    ----------
    rows : LabelledRows
        The rows. Dense ones are used as they are.

    Attributes
    ----------
    order : ndarray of shape (d,), or slice
        What the products' coordinates are: position i belongs to column ``order[i]``.

    Notes
    -----
    4·(nnz − nnz of frequent columns)·w + 4·h·d·w flops for w columns. Memory: 4·h·d bytes, at most
    ``FREQUENT_BYTES``, and 8 bytes for each value in other columns, at most ``COPY_BYTES``. They are made by
    2·nnz·h flops.
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
