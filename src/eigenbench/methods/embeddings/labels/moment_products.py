"""The products of `LabelledRows` from class moments, without the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenbench.methods.moments import AnyMoments


class MomentProducts:
    r"""Products with :math:`X_c^\top Y`, whose columns are the class sums of centred rows.

    Parameters
    ----------
    moments : ClassMoments or PooledMoments
        Moments of the rows; one label per row.
    fit_intercept : bool
        Whether X is centred.

    Attributes
    ----------
    n_rows, n_features, n_labels, dtype, feature_mean, label_sums, label_mean
        As those of `LabelledRows`; float64.
    """

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
