"""Differences of two methods on one dataset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from eigenbench.comparison.mean_intervals import corrected_variance


@dataclass(frozen=True)
class McNemar:
    """Rows on which only one of two methods errs, and the p-value of "both err equally often"."""

    only_first: int
    only_second: int
    p_value: float


@dataclass(frozen=True)
class CorrectedT:
    """A mean difference over splits, its interval, and the p-value of "no difference"."""

    estimate: float
    low: float
    high: float
    statistic: float
    p_value: float


def mcnemar(first_wrong: ArrayLike, second_wrong: ArrayLike) -> McNemar:
    """Test whether two methods err equally often on one test set.

    McNemar's test with the mid-p-value [1]_: given the number of rows on which only one method errs, which of
    the two it is would be a fair coin. It speaks of the two trained models, over new test rows.

    Parameters
    ----------
    first_wrong, second_wrong : array of bool, shape (n,)
        Whether each method errs on each row of *one* test set. Rows of several splits must not be pooled:
        they overlap, and so do the training rows.

    Returns
    -------
    McNemar
        Counts and p-value; 1 where no row tells the methods from each other.

    Raises
    ------
    ValueError
        If the arrays are not boolean and of one length.

    Notes
    -----
    False positives at the level of 5 % over 10,000 simulations without a difference (seed 19; 300 rows,
    beta-distributed difficulty of mean .1): 4.6 %, where the exact test has 3.2 %. Pooled over 5 overlapping
    test sets of nearest-centroid learners it has 16 %. Repeat by ``tests/comparison/test_false_positives.py``
    with ``-m slow``.

    References
    ----------
    .. [1] M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary matched-pairs data: mid-p
       and asymptotic are better than exact conditional", BMC Medical Research Methodology 13 (2013).

    Examples
    --------
    >>> found = mcnemar([True] * 9 + [False] * 11, [False] * 7 + [True] * 3 + [False] * 10)
    >>> f"{found.only_first} against {found.only_second}, p = {found.p_value:.3f}"
    '7 against 1, p = 0.039'
    """
    first, second = np.asarray(first_wrong), np.asarray(second_wrong)
    if first.dtype != bool or second.dtype != bool or first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            "expected for each method whether it errs on each row, booleans of one length; got "
            f"{first.dtype} {first.shape} and {second.dtype} {second.shape}"
        )
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    fewer, coin = min(only_first, only_second), stats.binom(only_first + only_second, 0.5)
    p_value = min(1.0, 2 * coin.cdf(fewer) - coin.pmf(fewer))
    return McNemar(only_first, only_second, float(p_value))


def corrected_resampled_t(
    differences: ArrayLike, *, n_train: int, n_test: int, level: float = 0.95
) -> CorrectedT:
    """Test whether two methods are equally good, over splits drawn from one dataset.

    Student's t on the differences of S splits, whose variance counts that splits share rows:
    ``t = mean / sqrt((1 / S + n_test / n_train) s**2)`` with S - 1 degrees of freedom [1]_.

    Parameters
    ----------
    differences : array of float, shape (S,)
        Error of the first method minus that of the second in each split, on the same test rows.
    n_train, n_test : int
        Training and test rows of a split: their ratio is what corrects the variance.
    level : float, default=0.95
        Confidence of the interval.

    Returns
    -------
    CorrectedT
        Where all differences are 0, p is 1; where they are all the same but not 0, the spread that t needs is
        missing, and statistic, ends and p are NaN.

    Raises
    ------
    ValueError
        If there are fewer than two splits, or a difference is not finite.

    Notes
    -----
    False positives at the level of 5 % over 5,000 simulations without a difference (seed 19; nearest
    centroids that share 4 features and have 4 equally good ones each, 200 rows, 5 splits of 70/30): 3.8 %;
    without the correction 16 %. So the test claims at most its level. Repeat by
    ``tests/comparison/test_false_positives.py`` with ``-m slow``.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52 (2003).

    Examples
    --------
    >>> found = corrected_resampled_t([0.02, 0.03, 0.02, 0.04, 0.03], n_train=700, n_test=300)
    >>> f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}], p = {found.p_value:.3f}"
    '0.028 [0.010, 0.046], p = 0.013'
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"expected finite differences of at least two splits, got {differences!r}")
    mean = float(values.mean())
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        if mean == 0:
            return CorrectedT(0.0, 0.0, 0.0, 0.0, 1.0)
        return CorrectedT(mean, np.nan, np.nan, np.nan, np.nan)
    student = stats.t(len(values) - 1)
    error = np.sqrt(corrected_variance(values, n_train=n_train, n_test=n_test))
    half_width = float(student.ppf((1 + level) / 2) * error)
    statistic = float(mean / error)
    p_value = float(2 * student.sf(abs(statistic)))
    return CorrectedT(mean, mean - half_width, mean + half_width, statistic, p_value)
