"""Features of rows in whitened coordinates: as operators, or whitened once where they can be kept."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import dense_block, row_slices

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
        rows: np.ndarray,
        *,
        cache_size: float,
        n_products: float = 0.0,
    ) -> None:
        self._X, self._rows, self._feature_map, self.system = X, rows, feature_map, system
        first = mapped_rows(X[rows[:1]], feature_map)
        self.n_rows, self.n_features, self.dtype = len(rows), first.shape[1], first.dtype
        self._with_intercept = system.fit_intercept
        room = int(min(self.n_rows, cache_size * 2**20 // first.nbytes))
        self._whitened = n_products > 1 and room == self.n_rows
        n_kept = room if self._whitened or feature_map is not None else 0
        self._kept = np.empty((n_kept, self.n_features + self._whitened), dtype=self.dtype)
        for here in row_slices(n_kept, first.nbytes):
            made = mapped_rows(X[rows[here]], feature_map)
            if self._whitened:
                self._kept[here, :-1], self._kept[here, -1] = system.whiten(made), self._with_intercept
            else:
                self._kept[here] = made
        self.kept_megabytes = self._kept.nbytes / 2**20

    def _part(self, positions: np.ndarray) -> np.ndarray:
        """Return the features at some positions, all of them kept or none."""
        if positions[0] < len(self._kept):
            return self._kept[positions]
        return mapped_rows(self._X[self._rows[positions]], self._feature_map)

    def __getitem__(self, positions: Any) -> LinearOperator | np.ndarray:
        """Return the matrix or operator (b, D + 1) of the rows at some positions."""
        if self._whitened:
            return self._kept[positions]
        if isinstance(positions, slice):
            positions = np.arange(self.n_rows)[positions]
        kept = positions < len(self._kept)
        places = [place for place in (np.flatnonzero(kept), np.flatnonzero(~kept)) if len(place)]
        parts = [(place, self._part(positions[place])) for place in places]
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
        for place, features in parts:
            logits[place] = features @ coef
        logits += (shift + weights[-1]).astype(self.dtype)
        return logits

    def _gradient(self, parts: _Parts, residual: np.ndarray) -> np.ndarray:
        total = residual.sum(axis=0)
        cross = sum(features.T @ residual[place] for place, features in parts)
        cross = self.system.whitened_cross(cross, total)
        constant = total if self._with_intercept else np.zeros_like(total)
        return np.vstack([cross, constant]).astype(self.dtype, copy=False)
