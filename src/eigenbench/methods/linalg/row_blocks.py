"""Rows in blocks of bounded size, mapped to features and kept within a budget."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController

#: Types of rows that methods use as they are; rows of other types become the first of them.
FLOAT_TYPES = [np.float64, np.float32]
ROW_TYPES = [*FLOAT_TYPES, np.uint8]

#: Bytes of one dense row block: large enough for BLAS to run at full rate, small beside any data set.
BLOCK_BYTES = 128 * 2**20


def row_slices(n_rows: int, bytes_per_row: int, block_bytes: int = BLOCK_BYTES) -> list[slice]:
    """Cut rows into consecutive slices of near-equal length, of about ``block_bytes`` or one row."""
    if n_rows == 0:
        return []
    rows_per_block = max(1, block_bytes // max(1, bytes_per_row))
    n_blocks = -(-n_rows // rows_per_block)
    step = -(-n_rows // n_blocks)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def dense_block(X: Any, dtype: Any = None) -> np.ndarray:
    """Return a row block as a C-contiguous float array; by default float64 stays, others become float32."""
    block = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    if dtype is None:
        dtype = np.float64 if block.dtype == np.float64 else np.float32
    return np.ascontiguousarray(block, dtype=dtype)


def class_indicators(codes: np.ndarray, n_classes: int, dtype: Any = np.float64) -> sparse.csr_array:
    """Return the (n, n_classes) matrix with a one in column ``codes[i]`` of each row i."""
    parts = np.ones(len(codes), dtype=dtype), codes, np.arange(len(codes) + 1)
    return sparse.csr_array(parts, shape=(len(codes), n_classes))


def validated(estimator: Any, *data: Any, **checks: Any) -> Any:
    """Return what ``validate_data`` does, as NumPy or SciPy arrays, also for arrays of other libraries.

    Also under scikit-learn's ``array_api_dispatch``: the estimators compute by NumPy and SciPy alone.
    """
    from sklearn import config_context  # datasets use this module without estimators
    from sklearn.utils.validation import validate_data

    with config_context(array_api_dispatch=False):
        return validate_data(estimator, *data, **checks)


def checked_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Return weights (n,) in float64, None where none are given.

    Raises `ValueError` if a weight is negative or not finite, if all are zero, or if there is not one for
    each row.
    """
    from sklearn.utils.validation import _check_sample_weight

    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero, so that no row is left.")
    return weights


def rows_that_count(X: Any, y: Any, weights: np.ndarray | None) -> tuple[Any, Any, Any]:
    """Leave out the rows of weight zero."""
    if weights is None or weights.all():
        return X, y, weights
    rows = np.flatnonzero(weights)
    return X[rows], y[rows], weights[rows]


class FeatureBlocks:
    """Iterate over ``feature_map.transform(X)`` in row blocks, any number of times, alike in every pass.

    The first blocks are kept for later passes, up to ``cache_size`` MB. ``token`` identifies the object among
    all, also those of other processes.
    """

    def __init__(self, X: Any, feature_map: Any, *, cache_size: float = 0.0) -> None:
        self.X = X
        self.feature_map = feature_map
        self.cache_size = cache_size
        self.token = uuid.uuid4().hex
        probe = self._features(slice(0, 1))
        self.n_rows, self.n_features, self.dtype = X.shape[0], probe.shape[1], probe.dtype
        self._slices = row_slices(self.n_rows, self.n_features * self.dtype.itemsize)
        self._kept: list[np.ndarray] = []
        self._budget = cache_size * 2**20

    def _features(self, rows: slice) -> np.ndarray:
        block = self.X[rows]
        return dense_block(block if self.feature_map is None else self.feature_map.transform(block))

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield ``(rows, features)``; treat the features as read-only."""
        for index, rows in enumerate(self._slices):
            if index < len(self._kept):
                yield rows, self._kept[index]
                continue
            block = self._features(rows)
            if self.feature_map is not None and index == len(self._kept) and block.nbytes <= self._budget:
                self._budget -= block.nbytes
                self._kept.append(block)
            yield rows, block


def blas_threads() -> int:
    """Return how many threads BLAS may have."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return max((library["num_threads"] for library in libraries), default=1)
