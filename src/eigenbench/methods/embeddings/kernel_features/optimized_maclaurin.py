"""Optimised Maclaurin features: features are shared among the powers of the kernel by their variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenbench.methods.embeddings.kernel_features.random_maclaurin import (
    MaclaurinMap,
    product_of_signs_moments,
)
from eigenbench.methods.embeddings.kernel_features.spherical_density import maclaurin_coefficients

#: Rows whose pairs estimate the variance of each power.
_SAMPLE_ROWS = 500


class OptimizedMaclaurin(MaclaurinMap):
    r"""Approximate the polynomial kernel on the sphere by Maclaurin features, shared out by variance.

    The kernel is :math:`\alpha (q + x^\top y)^p = \sum_n a_n (x^\top y)^n`, q = a²/2 − 1, α = (2/a²)^p.
    :class:`RandomMaclaurin` draws the power n of each feature at random; here power n gets :math:`D_n`
    features :math:`\sqrt{a_n / D_n} \prod_{j \le n} \omega_j^\top x`. The whole numbers :math:`D_n \ge 1`
    minimise the variance :math:`\sum_n a_n^2 V_n / D_n` of the kernel's estimate [1]_, with :math:`V_n` the
    variance of one feature of power n, in the mean over pairs of up to 500 training rows. The constant is
    exact, and so is the linear term, by the d inputs themselves, where that lowers the variance.

    Parameters
    ----------
    degree, a, rows
        As for :class:`RandomMaclaurin`.
    n_components : int, default=512
        Number of features D. With p or fewer the D powers of largest :math:`a_n` have one each, and the
        estimate is biased by the others.
    random_state : int, RandomState instance or None, default=None
        Seed of the signs and of the sampled rows.

    Attributes
    ----------
    n_features_of_power_ : ndarray of shape (p + 1,)
        The numbers :math:`D_n`; of the linear term d where it is exact.
    variance_ : float
        The minimum: the variance of the kernel's estimate, in the mean over the sampled pairs.
    orders_ : ndarray of shape (n_sampled,)
        The power of each sampled feature, ascending.
    signs_ : list of ndarray of shape (d, n_j)
        For j = 1 … the j-th sign vectors of the last ``n_j`` features: those of power j or more.
    weights_ : ndarray of shape (n_sampled,)
        The factors :math:`\sqrt{a_n / D_n}`.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` costs 500²·(d + p) flops and p·D log D for the allocation. A transform costs 2·n·d flops for each
    sign vector, which are at most p·D.

    References
    ----------
    .. [1] J. Wacker, M. Kanagawa and M. Filippone, "Improved Random Features for Dot Product Kernels", 2022,
       section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench import OptimizedMaclaurin
    >>> X, _ = load_digits(return_X_y=True)
    >>> OptimizedMaclaurin(3, n_components=100, random_state=0).fit(X).n_features_of_power_
    array([ 1, 64, 33,  2])
    """

    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        coefficients = maclaurin_coefficients(self.degree, self.a)
        variances = coefficients**2 * self._power_variances(X[rng.permutation(X.shape[0])[:_SAMPLE_ROWS]])
        kept = np.sort(np.argsort(-coefficients, kind="stable")[: self.n_components])
        counts = np.zeros(self.degree + 1, dtype=int)
        counts[kept] = allocation(variances[kept], self.n_components)
        room, others = self.n_components - X.shape[1], np.arange(self.degree + 1) != 1
        self._exact = False
        if room >= self.degree:
            with_exact = np.full(self.degree + 1, X.shape[1])
            with_exact[others] = allocation(variances[others], room)
            if _total(variances[others], with_exact[others]) < _total(variances, counts):
                counts, variances[1], self._exact = with_exact, 0, True
        self.n_features_of_power_, self.variance_ = counts, _total(variances, counts)
        self.orders_ = np.repeat(np.arange(self.degree + 1), counts)
        weights = np.sqrt(coefficients / np.maximum(counts, 1))
        if self._exact:
            self.orders_ = self.orders_[1:][self.orders_[1:] != 1]
            weights[0] = 0  # the first column is the constant; more of them are left when nothing else varies
        self.weights_ = weights[self.orders_]
        self._draw_signs(X.shape[1], X.dtype, rng)

    def _power_variances(self, rows: Any) -> np.ndarray:
        """Return the variance of one feature of each power, in the mean over pairs of different rows."""
        cosines, second = product_of_signs_moments(rows, rows)
        pairs = ~np.eye(len(cosines), dtype=bool) if len(cosines) > 1 else np.ones((1, 1), dtype=bool)
        cosines, second = cosines[pairs], second[pairs]
        powers = range(self.degree + 1)
        return np.array([max(0.0, float(np.mean(second**n - cosines ** (2 * n)))) for n in powers])

    def _low_orders_exact(self) -> bool:
        return self._exact

    def _product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance over draws of the signs, with the fitted numbers of features."""
        cosines, second = product_of_signs_moments(X, Y)
        mean, variance = np.zeros_like(cosines), np.zeros_like(cosines)
        coefficients = maclaurin_coefficients(self.degree, self.a)
        for n, (coefficient, count) in enumerate(zip(coefficients, self.n_features_of_power_, strict=True)):
            mean += coefficient * cosines**n if count else 0
            if count and not (self._exact and n == 1):
                variance += coefficient**2 / count * (second**n - cosines ** (2 * n))
        return mean, variance


def allocation(variances: np.ndarray, total: int) -> np.ndarray:
    """Return the whole numbers ≥ 1 of sum ``total`` that minimise the sum of variances over numbers.

    One more for a term lowers it by v / (m·(m + 1)), less each time, so the largest gains of all are taken.
    """
    counts = np.arange(1, total - len(variances) + 1)
    gains = (variances[:, None] / (counts * (counts + 1.0))).ravel()
    taken = np.argsort(-gains, kind="stable")[: total - len(variances)] // max(1, len(counts))
    return 1 + np.bincount(taken, minlength=len(variances))


def _total(variances: np.ndarray, counts: np.ndarray) -> float:
    return float(np.sum(variances[counts > 0] / counts[counts > 0]))
