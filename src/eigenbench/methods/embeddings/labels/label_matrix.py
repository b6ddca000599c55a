"""Labels as a sparse indicator matrix, and the products with it that class moments give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.moments import AnyMoments


def is_indicator(Y: Any) -> bool:
    """Return whether Y is an indicator matrix, dense or sparse, not a vector (or column) of class labels."""
    return Y.ndim == 2 and (sparse.issparse(Y) or Y.shape[1] > 1)


def label_matrix(Y: Any, dtype: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """Return labels as a CSR indicator matrix (n, c), and the sorted labels, or column numbers.

    Y holds class labels of any type (n,), or zeros and ones (n, c), of which rows and columns may be zero;
    the index arrays of a CSR matrix without stored zeros are shared. Raises `ValueError` for anything else.
    """
    if not is_indicator(Y):
        y = column_or_1d(Y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return class_indicators(codes, len(classes), dtype), classes
    indicators = sparse.csr_array(Y)
    odd = np.flatnonzero((indicators.data != 0) & (indicators.data != 1))
    if odd.size:
        row = np.searchsorted(indicators.indptr, odd[0], side="right") - 1
        raise ValueError(
            f"Y[{row}, {indicators.indices[odd[0]]}] is {indicators.data[odd[0]]!s}: "
            "an indicator matrix holds 0 and 1 only."
        )
    if not indicators.data.all():
        indicators = indicators.copy()
        indicators.eliminate_zeros()
    if not indicators.has_canonical_format:
        indicators = indicators.copy()
        indicators.sum_duplicates()
        indicators.data[:] = 1
    return indicators.astype(dtype, copy=False), np.arange(indicators.shape[1])


def target_matrix(Y: Any, dtype: Any, *, centred: bool) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Return labels or real targets as a CSR matrix, the shift of its columns, and the classes.

    ``centred`` allows to shift columns of real numbers by their means, so that the type holds their digits;
    labels and sparse matrices never are. Raises `ValueError` if a vector is not made of class labels.
    """
    entries = Y.data if sparse.issparse(Y) else Y
    if not is_indicator(Y) or np.isin(entries, (0, 1)).all():
        indicators, classes = label_matrix(Y, dtype)
        return indicators, np.zeros(len(classes)), classes
    shift = np.zeros(Y.shape[1])
    if centred and not sparse.issparse(Y):
        shift = Y.mean(axis=0, dtype=np.float64)
    targets = sparse.csr_array(Y if sparse.issparse(Y) else Y - shift).astype(dtype)
    targets.sum_duplicates()
    return targets, shift, np.arange(Y.shape[1])


def class_indicators(codes: np.ndarray, n_classes: int, dtype: Any) -> sparse.csr_array:
    """Return the (n, n_classes) matrix with a one in column ``codes[i]`` of each row i."""
    parts = np.ones(len(codes), dtype=dtype), codes, np.arange(len(codes) + 1)
    return sparse.csr_array(parts, shape=(len(codes), n_classes))


class MomentProducts:
    r"""Products with :math:`X_c^\top Y`, whose columns are the class sums of centred rows."""

    def __init__(self, moments: AnyMoments, *, fit_intercept: bool) -> None:
        self.n_rows = moments.counts.sum()
        self.n_features, self.n_labels = moments.n_features, len(moments.classes)
        self.dtype = np.dtype(np.float64)
        self.label_sums = moments.counts.astype(np.float64)
        self.label_mean = self.label_sums / self.n_rows if fit_intercept else np.zeros(self.n_labels)
        mean = moments.sums.sum(axis=0) / self.n_rows
        self.feature_mean = mean if fit_intercept else np.zeros_like(mean)
        self._sums = moments.sums - np.outer(self.label_sums, self.feature_mean)

    def by_columns(
        self, function: Callable[[np.ndarray], np.ndarray], height: int, columns: np.ndarray
    ) -> np.ndarray:
        """Return ``function(columns)``, of shape (height, p)."""
        return function(columns)

    def cross(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`X_c^\top Y Q`, (c, w) → (d, w)."""
        return self._sums.T @ Q

    def cross_transposed(self, Z: np.ndarray) -> np.ndarray:
        r"""Return :math:`Y^\top X_c Z`, (d, w) → (c, w)."""
        return self._sums @ Z

    def label_covariance(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`(Y - 1\bar y^\top)^\top Y Q`, (c, w) → (c, w); uncentred without an intercept."""
        return self.label_sums[:, None] * Q - np.outer(self.label_mean, self.label_sums @ Q)
