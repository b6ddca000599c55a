"""Checks and sizes of equivalence constraints: pairs of rows that are alike (r = 1) or not (r = −1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, column_or_1d

from eigenbench.methods.linalg.row_blocks import dense_block, row_slices


def largest_distance(G: np.ndarray) -> float:
    """Return the largest distance between points with Gram matrix G."""
    norms = np.diagonal(G)
    largest = 0.0
    for rows in row_slices(len(G), 8 * len(G)):
        squares = norms - 2 * G[rows]
        largest = max(largest, float((squares.max(axis=1) + norms[rows]).max()))
    return float(np.sqrt(largest))


def longest_difference(X: Any, pairs: np.ndarray) -> float:
    """Return the largest distance between the rows of a pair."""
    longest = 0.0
    for chosen in row_slices(len(pairs), 24 * X.shape[1]):
        i, j = pairs[chosen].T
        longest = max(longest, float(np.linalg.norm(dense_block(X[i] - X[j]), axis=1).max()))
    return longest


def incidence_matrix(pairs: np.ndarray, n_rows: int) -> sparse.csr_array:
    """Return the matrix, (n_pairs, n_rows), that maps rows to the differences x − x' of pairs."""
    n = len(pairs)
    signs, owners = np.tile([1.0, -1.0], n), np.repeat(np.arange(n), 2)
    return sparse.csr_array((signs, (owners, pairs.ravel())), shape=(n, n_rows))


def check_pairs(pairs: Any, r: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs as an integer array, and which of them are positive."""
    pairs = check_array(pairs, dtype=None, input_name="pairs")
    r = column_or_1d(r)
    if pairs.shape != (len(r), 2) or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"pairs must be integers of shape (n_pairs, 2) with one r each; got {pairs.dtype} of shape "
            f"{pairs.shape} and {len(r)} values of r."
        )
    if pairs.min() < 0 or pairs.max() >= n_rows:
        raise ValueError(f"pairs holds row numbers {pairs.min()} to {pairs.max()}, but X has {n_rows} rows.")
    if not np.isin(r, (-1, 1)).all():
        raise ValueError(f"r must be 1 or -1, got {np.unique(r)[:5]}.")
    return pairs, r == 1
