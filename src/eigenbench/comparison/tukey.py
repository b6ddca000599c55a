"""Tukey's studentized range, and variances moderated over methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import digamma, gammaincinv, ndtr, polygamma

#: Degrees of freedom that count as infinite.
_MANY = 1e6
#: A variance below this share of the median one is taken as that share: it is zero by rounding of counts.
_LEAST_SHARE = 1e-3
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
#: Quantiles of a standard error by the cube of their place: nodes are dense where it comes out small.
_PLACES, _SHARES = ((_NODES + 1) / 2) ** 3, 3 * ((_NODES + 1) / 2) ** 2 * _WEIGHTS / 2
#: A standard normal variable from -8 to 8.
_NORMAL, _DENSITY = 8 * _NODES, 8 * _WEIGHTS * stats.norm.pdf(8 * _NODES)


def moderated_variances(
    variances: ArrayLike, freedom: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shrink the variances of methods towards a common one, as far as they are alike.

    The variances are taken as draws from a scaled inverse chi-squared distribution, whose two parameters are
    estimated from the mean and the spread of their logarithms (G. K. Smyth, "Linear models and empirical
    Bayes methods for assessing differential expression in microarray experiments", Statistical Applications
    in Genetics and Molecular Biology 3, 2004). Where they differ by no more than chance, the common variance
    serves for all. Fewer than three variances stay as they are. Degrees of freedom are never more than the
    sum over methods.
    """
    given = np.asarray(variances, dtype=np.float64)
    own = np.broadcast_to(np.asarray(freedom, dtype=np.float64), given.shape)
    positive = given[given > 0]
    if len(given) < 3 or not len(positive):
        return given, own
    logs = np.log(np.maximum(given, _LEAST_SHARE * np.median(positive)))
    logs = logs - digamma(own / 2) + np.log(own / 2)
    spread = logs.var(ddof=1) - polygamma(1, own / 2).mean()
    if spread <= 0:
        return np.full(given.shape, np.average(given, weights=own)), np.full(given.shape, own.sum())
    prior_freedom = 2 * _inverse_trigamma(spread)
    prior = np.exp(logs.mean() + digamma(prior_freedom / 2) - np.log(prior_freedom / 2))
    moderated = (prior_freedom * prior + own * given) / (prior_freedom + own)
    return moderated, np.minimum(prior_freedom + own, own.sum())


def _inverse_trigamma(value: float) -> float:
    """Solve ``trigamma(x) = value`` by Newton's method, which converges from below."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = polygamma(1, x)
        x += trigamma * (1 - trigamma / value) / polygamma(2, x)
    return float(x)


def range_p_value(statistic: ArrayLike, n_methods: int, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the probability that the studentized range of equal methods is larger than a statistic.

    The statistic is the difference of two means over the standard error of one mean, whose degrees of freedom
    may be infinite. As ``scipy.stats.studentized_range.sf`` to four decimals, but for many standard errors at
    once, which is some hundred times faster.
    """
    values = np.asarray(statistic, dtype=np.float64)
    return _range_sf(values, n_methods, _standard_errors(np.asarray(freedom, dtype=np.float64)))


def _standard_errors(freedom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of a standard error that is 1 on average, on a last axis."""
    halves = np.minimum(freedom, _MANY)[..., None] / 2
    return np.sqrt(gammaincinv(halves, _PLACES) / halves)


def _range_sf(
    values: NDArray[np.float64], n_methods: int, errors: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.asarray(np.sum(_SHARES * _normal_range_sf(values[..., None] * errors, n_methods), axis=-1))


def _normal_range_sf(width: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the probability that n standard normal variables span more than a width."""
    inside = ndtr(_NORMAL) - ndtr(_NORMAL - width[..., None])
    return np.maximum(0, 1 - n * np.sum(_DENSITY * inside ** (n - 1), axis=-1))


def range_quantile(probability: float, n_methods: int, freedom: ArrayLike) -> NDArray[np.float64]:
    """Return the studentized range that equal methods exceed with a probability, for each of some errors."""
    degrees, places = np.unique(np.asarray(freedom, dtype=np.float64), return_inverse=True)
    errors = _standard_errors(degrees)
    low, high = np.full(degrees.shape, -5.0), np.full(degrees.shape, 12.0)
    for _ in range(28):
        middle = (low + high) / 2
        beyond = _range_sf(np.exp(middle), n_methods, errors) > probability
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.exp(high)[places].reshape(np.shape(freedom))
