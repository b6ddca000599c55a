"""Pairs of rows that are equal or different, and the second moments of their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import blas
from sklearn.utils import check_array, column_or_1d

from eigenbench.methods.linalg.row_blocks import class_indicators, dense_block, row_slices
from eigenbench.methods.moments import ClassMoments
from eigenbench.methods.moments.second_moments import mirrored


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


@dataclass(frozen=True)
class ConstraintOperators:
    r"""Weighted second moments :math:`\sum w\,(x - x')(x - x')^\top` of different and of equal pairs, (k, k).

    Balanced weights make each one half of the mean over its pairs; otherwise all weights are one over the
    number of pairs. A kind without pairs raises `ValueError`.

    For all pairs of m labelled rows with class sizes n_y both follow from two scatter matrices: S of all rows
    about their mean, and :math:`S_n = \sum_y n_y W_y` with the scatter W_y of class y about its own mean. The
    sums over ordered pairs are :math:`2 S_n` for equal labels and :math:`2 (m S - S_n)` for different ones:
    :math:`X^\top A X` with the matrix A of Maurer 2005, section 6, which is never formed.
    """

    negative: np.ndarray
    positive: np.ndarray

    def combined(self, eta_negative: float) -> np.ndarray:
        """Return the empirical operator T̂ = η₋₁·negative − positive (η₁ = −1), (k, k)."""
        return eta_negative * self.negative - self.positive

    @classmethod
    def from_labelled_rows(cls, X: Any, codes: np.ndarray, *, balanced: bool = True) -> ConstraintOperators:
        """Take all pairs of rows (m, k) of classes ``codes``, each of which occurs, in two passes.

        2·m·k² flops, half of that if the classes are equally large; 32·k² bytes and three row blocks.
        """
        counts = np.bincount(codes)
        _check_counts(counts)
        blocks = row_slices(X.shape[0], X.shape[1] * max(4, X.dtype.itemsize))
        sums = np.zeros((len(counts), X.shape[1]))
        for rows in blocks:
            sums += class_indicators(codes[rows], len(counts)).T @ dense_block(X[rows])
        means = sums / counts[:, None]
        equal = counts.min() == counts.max()
        within, weighted = (np.zeros((X.shape[1],) * 2, order="F") for _ in range(2))
        for rows in blocks:
            block = dense_block(X[rows])
            block = block - means[codes[rows]].astype(block.dtype)
            _add_gram(within, block)
            if not equal:
                block *= np.sqrt(counts[codes[rows]], dtype=block.dtype)[:, None]
                _add_gram(weighted, block)
        within = mirrored(within)
        weighted = counts[0] * within if equal else mirrored(weighted)
        return cls._from_scatters(within, weighted, means, counts, balanced)

    @classmethod
    def from_moments(cls, moments: ClassMoments, *, balanced: bool = True) -> ConstraintOperators:
        """Take all pairs of the rows of class moments: c·k² flops, 32·k² bytes.

        The scatter is a difference, which loses digits where means are much larger than spreads.
        """
        counts, sums = moments.counts, moments.sums
        _check_counts(counts)
        means = sums / counts[:, None]
        within = moments.total() - sums.T @ means
        weighted = moments.total(counts.astype(float)) - sums.T @ sums
        return cls._from_scatters(within, weighted, means, counts, balanced)

    @classmethod
    def _from_scatters(
        cls, within: np.ndarray, weighted: np.ndarray, means: np.ndarray, counts: np.ndarray, balanced: bool
    ) -> ConstraintOperators:
        m = counts.sum()
        deviations = (means - counts @ means / m) * np.sqrt(counts)[:, None]
        n_positive = int(counts @ (counts - 1))
        w_negative, w_positive = _weights(int(m * (m - 1)) - n_positive, n_positive, balanced)
        negative = within + deviations.T @ deviations
        negative *= m
        negative -= weighted
        negative *= 2 * w_negative
        return cls(negative=negative, positive=weighted * (2 * w_positive))

    @classmethod
    def from_pairs(
        cls, X: Any, incidence: sparse.csr_array, positive: np.ndarray, *, balanced: bool = True
    ) -> ConstraintOperators:
        """Take listed pairs of rows X (m, k), through the Laplacian of their graph: O(n·k + m·k²) flops.

        Row i of ``incidence`` (n, m) holds +1 and −1 at the two rows of pair i; ``positive`` (n,) marks equal
        labels.
        """
        weights = _weights(int((~positive).sum()), int(positive.sum()), balanced)
        operators = []
        for chosen, weight in zip((~positive, positive), weights, strict=True):
            edges = incidence[chosen]
            product = X.T @ ((weight * (edges.T @ edges)) @ X)
            product = product.toarray() if sparse.issparse(product) else product
            operators.append((product + product.T) / 2)
        return cls(*operators)


def _weights(n_negative: int, n_positive: int, balanced: bool) -> tuple[float, float]:
    """Return the weight of one negative and of one positive pair."""
    if n_negative == 0 or n_positive == 0:
        raise ValueError(
            f"{n_negative} negative and {n_positive} positive pairs: hyperbolic PCA needs both kinds."
        )
    if balanced:
        return 0.5 / n_negative, 0.5 / n_positive
    return (1 / (n_negative + n_positive),) * 2


def _check_counts(counts: np.ndarray) -> None:
    if len(counts) < 2:
        raise ValueError(
            f"hyperbolic PCA needs negative pairs, so at least two labels; got {len(counts)} label (class)."
        )
    if counts.max() < 2:
        raise ValueError(
            f"no two of the {len(counts)} rows share a label: hyperbolic PCA needs positive pairs, "
            "so at least two examples of some class."
        )


def _add_gram(total: np.ndarray, block: np.ndarray) -> None:
    """Add blockᵀ·block to the lower triangle of a Fortran-ordered float64 matrix."""
    if block.dtype == np.float64:
        blas.dsyrk(1.0, block.T, beta=1.0, c=total, overwrite_c=True, lower=True)
    else:
        total += blas.ssyrk(1.0, block.T, lower=True)
