"""What stochastic steps need of partitions: a sample's Gram matrix, shuffled rows, held-out losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from eigenbench.methods.classifiers.label_losses import class_targets, multinomial_loss
from eigenbench.methods.classifiers.partitioned_rows import PartitionedRows
from eigenbench.methods.linalg.ridge_system import RidgeSystem

#: Share of the rows of every block that is held out, and a seed; None for none.
HeldOut = tuple[float, int] | None


class SampledGram:
    """Counts of the classes of rows that are not held out, and the Gram matrix of an even sample of them."""

    def __init__(self, rows: PartitionedRows, share: float, *, fit_intercept: bool) -> None:
        self.system = RidgeSystem(rows.n_features, rows.dtype, fit_intercept=fit_intercept)
        self.counts = np.zeros(len(rows.classes), dtype=np.int64)
        self._share = share

    def add(self, features: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        """Add the rows of a block."""
        kept = np.flatnonzero(~held_out)
        self.counts += np.bincount(codes[kept], minlength=len(self.counts))
        steps = np.floor(np.arange(len(kept) + 1) * self._share)
        self.system.add(features[kept[np.flatnonzero(np.diff(steps))]])

    def merge(self, other: SampledGram) -> None:
        """Add those of another."""
        self.counts += other.counts
        self.system.merge(other.system)


class HeldOutLoss:
    """Sum of the log losses of held-out rows, and their number."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        self._coef, self._intercept = coef, intercept
        self.total, self.n_rows = 0.0, 0

    def add(self, features: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        """Add the rows of a block."""
        if held_out.any():
            logits = features[held_out] @ self._coef + self._intercept
            self.total += multinomial_loss(logits, class_targets(codes[held_out], logits.shape[1]))
            self.n_rows += len(logits)

    def merge(self, other: HeldOutLoss) -> None:
        """Add those of another."""
        self.total += other.total
        self.n_rows += other.n_rows


def shuffled_chunks(
    rows: PartitionedRows, held_out: HeldOut, batch_size: int, megabytes: float, rng: np.random.RandomState
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Yield all rows that are not held out once, in parts of about so many MB.

    Partitions come in random order; rows are put into random order within a part.

    Yields
    ------
    X : ndarray or CSR matrix of shape (m, d)
        Rows, not yet features.
    codes : ndarray of shape (m,)
        Positions of their classes.
    batches : ndarray of int
        Their places in the order in which they are to be taken. A multiple of ``batch_size`` in number, but
        in the last part: the rows left come first in the next part.
    """
    order = rng.permutation(len(rows.partitions)) if len(rows.partitions) > 1 else np.zeros(1, dtype=int)
    left: tuple[Any, np.ndarray] | None = None
    for X, codes in _joined(rows.labelled_blocks(order, held_out), megabytes):
        places = rng.permutation(len(codes))
        if left is not None:
            places = np.concatenate([np.arange(len(left[1])), places + len(left[1])])
            X, codes = _stacked([left[0], X]), np.concatenate([left[1], codes])
        whole = len(places) - len(places) % batch_size
        left = X[places[whole:]], codes[places[whole:]]
        if whole:
            yield X, codes, places[:whole]
    if left is not None and len(left[1]):
        yield *left, np.arange(len(left[1]))


def _joined(blocks: Iterable[tuple[Any, np.ndarray]], megabytes: float) -> Iterator[tuple[Any, np.ndarray]]:
    """Put blocks together until they take so many MB."""
    waiting: list[tuple[Any, np.ndarray]] = []
    size = 0
    for X, codes in blocks:
        waiting.append((X, codes))
        size += X.data.nbytes
        if size >= megabytes * 2**20:
            yield _stacked([part for part, _ in waiting]), np.concatenate([part for _, part in waiting])
            waiting, size = [], 0
    if waiting:
        yield _stacked([part for part, _ in waiting]), np.concatenate([part for _, part in waiting])


def _stacked(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
