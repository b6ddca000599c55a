"""Rows of classes in place of their second moments, where a class has far fewer rows than inputs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from eigenbench.methods.linalg.eigenproblems import TooFewRows
from eigenbench.methods.linalg.row_blocks import dense_block, row_slices
from eigenbench.methods.moments.class_sums import class_runs, label_array
from eigenbench.methods.moments.second_moments import SecondMoments

logger = logging.getLogger(__name__)

#: The classes of a problem have at most this share of d rows together where it is solved from rows.
ROWS_PER_FEATURE = 0.5


class ClassRows(SecondMoments):
    """The rows of every class, with the counts, sums and second moments that follow from them.

    The rows stay where they are, in a mapped file if they lie in one; those of weight 0 are left out. Those
    of a class become float64 when they are asked for, 8·d bytes each, and so is every second moment made.
    """

    def __init__(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> None:
        y = label_array(y)
        if sample_weight is not None:
            X, y, sample_weight = (part[np.flatnonzero(sample_weight)] for part in (X, y, sample_weight))
        self.classes, codes = np.unique(y, return_inverse=True)
        self.n_features = X.shape[1]
        weights = np.ones(len(y), dtype=int) if sample_weight is None else sample_weight
        self._rows = X
        self._members = [rows for _, rows in class_runs(codes)]
        self._scales = [np.sqrt(weights[rows])[:, None] for rows in self._members]
        self._counts = np.array([weights[rows].sum() for rows in self._members])
        self._sums = np.array(
            [np.einsum("nd,no->d", self.root(i), scale) for i, scale in enumerate(self._scales)]
        )

    @staticmethod
    def serve(y: np.ndarray, n_features: int, classes_each: int = 2) -> bool:
        """Return whether problems of so many classes each are cheaper to solve from their rows."""
        largest = np.unique(y, return_counts=True)[1].max()
        return classes_each * largest <= ROWS_PER_FEATURE * n_features

    @property
    def counts(self) -> np.ndarray:
        """Rows of each class, or the sum of their weights, (c,)."""
        return self._counts

    @property
    def sums(self) -> np.ndarray:
        """Sum of the rows of each class, (c, d), each times its weight."""
        return self._sums

    def root(self, i: int, *, centred: bool = False) -> np.ndarray:
        """Return R, (n_i, d): RᵀR is Σ x xᵀ over rows of the i-th class, less their mean if ``centred``."""
        root = dense_block(self._rows[self._members[i]], np.float64) * self._scales[i]
        return root - self._scales[i] * (self._sums[i] / self._counts[i]) if centred else root

    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""
        root = self.root(i)
        return root.T @ root

    def total(self) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows, (d, d), undivided."""
        total = np.zeros((self.n_features, self.n_features))
        largest = max(map(len, self._members))
        for some in row_slices(len(self._members), 8 * self.n_features * largest):
            root = np.concatenate([self.root(i) for i in range(some.start, some.stop)])
            total += root.T @ root
        return total


def solved_from_rows(
    solve: Callable[[ClassRows], None],
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    classes_each: int,
) -> bool:
    """Solve from rows where that is cheaper than from second moments, and return whether it was done.

    ``solve`` sets what is fitted; it may raise `TooFewRows`, and is then to be called with moments.
    """
    if not ClassRows.serve(y, X.shape[1], classes_each):
        return False
    try:
        solve(ClassRows(X, y, sample_weight))
    except TooFewRows as error:
        logger.info("second moments are formed, because %s", error)
        return False
    return True
