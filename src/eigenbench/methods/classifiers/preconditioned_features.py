"""Features of rows in whitened coordinates: as operators, or whitened once where they can be kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import BLOCK_BYTES, RowThreads, dense_block, row_slices

#: Fewer rows than this are not worth a thread.
SMALLEST_SHARE = 128

#: Places in a minibatch and the features of the rows there.
_Parts = list[tuple[np.ndarray, np.ndarray]]


def mapped_rows(X: Any, feature_map: Any) -> np.ndarray:
    """Return the dense features of rows; the rows themselves without a map."""
    return dense_block(X if feature_map is None else feature_map.transform(X))


class PreconditionedFeatures:
    """Features of some rows of X in whitened coordinates; some rows of them are a matrix (b, D + 1).

    ``n_products`` says how often a row will be multiplied by a vector, over the rows of a minibatch.
    Whitening costs D² flops a row, and D² for each product of a minibatch where only the weights are carried
    over: so rows are whitened if this is more than one and they all fit into ``cache_size`` MB.
    """

    def __init__(
        self,
        X: Any,
        feature_map: Any,
        system: RidgeSystem,
        threads: RowThreads,
        rows: np.ndarray,
        *,
        cache_size: float,
        n_products: float = 0.0,
    ) -> None:
        self._X, self._rows, self._feature_map, self.system = X, rows, feature_map, system
        self._threads = threads
        first = mapped_rows(X[rows[:1]], feature_map)
        self.n_rows, self.n_features, self.dtype = len(rows), first.shape[1], first.dtype
        self._with_intercept = system.fit_intercept
        room = int(min(self.n_rows, cache_size * 2**20 // first.nbytes))
        self._whitened = n_products > 1 and room == self.n_rows
        n_kept = room if self._whitened or feature_map is not None else 0
        self._kept = np.empty((n_kept, self.n_features + self._whitened), dtype=self.dtype)
        slices = row_slices(n_kept, first.nbytes, BLOCK_BYTES // threads.n_threads)
        for _ in threads.map(self._keep, slices):
            pass
        self.kept_megabytes = self._kept.nbytes / 2**20

    def _keep(self, here: slice) -> None:
        made = self._made(np.arange(here.start, here.stop))
        if self._whitened:
            self._kept[here, :-1], self._kept[here, -1] = self.system.whiten(made), self._with_intercept
        else:
            self._kept[here] = made

    def _made(self, positions: np.ndarray) -> np.ndarray:
        return mapped_rows(self._X[self._rows[positions]], self._feature_map)

    def _part(self, positions: np.ndarray) -> np.ndarray:
        """Return the features at some positions, all of them kept or none."""
        return self._kept[positions] if positions[0] < len(self._kept) else self._made(positions)

    def __getitem__(self, positions: Any) -> LinearOperator | np.ndarray:
        """Return the matrix or operator (b, D + 1) of the rows at some positions."""
        if self._whitened:
            return self._kept[positions]
        if isinstance(positions, slice):
            positions = np.arange(self.n_rows)[positions]
        kept = positions < len(self._kept)
        groups = np.flatnonzero(kept), np.flatnonzero(~kept)
        places = [share for group in groups for share in self._threads.shares(group, SMALLEST_SHARE)]
        features = self._threads.map(self._part, (positions[place] for place in places))
        parts = list(zip(places, features, strict=True))
        return LinearOperator(
            (len(positions), self.n_features + 1),
            matvec=partial(self._logits, parts),
            matmat=partial(self._logits, parts),
            rmatmat=partial(self._gradient, parts),
            dtype=self.dtype,
        )

    def _logits(self, parts: _Parts, weights: np.ndarray) -> np.ndarray:
        coef, shift = self.system.unwhiten(weights[:-1])
        coef = coef.astype(self.dtype, copy=False)
        logits = np.empty((sum(len(place) for place, _ in parts), *coef.shape[1:]), dtype=self.dtype)
        products = self._threads.map(lambda part: part[1] @ coef, parts)
        for (place, _), product in zip(parts, products, strict=True):
            logits[place] = product
        logits += (shift + weights[-1]).astype(self.dtype)
        return logits

    def _gradient(self, parts: _Parts, residual: np.ndarray) -> np.ndarray:
        total = residual.sum(axis=0)
        cross = sum(self._threads.map(lambda part: part[1].T @ residual[part[0]], parts))
        cross = self.system.whitened_cross(cross, total)
        constant = total if self._with_intercept else np.zeros_like(total)
        return np.vstack([cross, constant]).astype(self.dtype, copy=False)
