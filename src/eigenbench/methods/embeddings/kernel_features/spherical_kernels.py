"""The polynomial kernel on the unit sphere that the random feature maps approximate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils.extmath import safe_sparse_dot


def spherical_polynomial(z: Any, degree: float, a: float) -> np.ndarray:
    r"""Evaluate :math:`K(z) = (1 - z^2/a^2)^p` at distances z of unit rows.

    Parameters
    ----------
    z : array-like of float
        Distances ‖x − y‖ in [0, 2].
    degree : float
        The power p ≥ 1.
    a : float
        The scale a ≥ 2.

    Returns
    -------
    ndarray of float64
        K(z), in [0, 1].

    Examples
    --------
    >>> spherical_polynomial([0.0, 2.0], degree=3, a=4.0).tolist()
    [1.0, 0.421875]
    """
    squared = np.square(np.asarray(z, dtype=np.float64) / a)
    return np.maximum(0.0, 1.0 - squared) ** degree


def spherical_polynomial_kernel(X: Any, Y: Any, degree: float = 7, a: float = 4.0) -> np.ndarray:
    r"""Return the exact kernel matrix :math:`\alpha (q + x^\top y)^p` of unit rows.

    With q = a²/2 − 1 and α = (2/a²)^p this equals :math:`(1 - \|x - y\|^2/a^2)^p`, Equation 1 of [1]_.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, d)
        Unit rows.
    Y : {ndarray, sparse matrix} of shape (m, d)
        Unit rows.
    degree : float, default=7
        The power p ≥ 1.
    a : float, default=4.0
        The scale a ≥ 2.

    Returns
    -------
    ndarray of shape (n, m)
        Kernel values in the type of the product of X and Y.

    References
    ----------
    .. [1] J. Pennington, F. X. Yu and S. Kumar, "Spherical Random Features for Polynomial Kernels",
       NIPS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> spherical_polynomial_kernel(np.eye(2), np.eye(2), degree=1, a=2.0).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    kernel = safe_sparse_dot(X, Y.T, dense_output=True)
    q = a**2 / 2 - 1
    kernel += kernel.dtype.type(q)
    kernel /= kernel.dtype.type(q + 1)
    np.maximum(kernel, 0, out=kernel)
    return np.power(kernel, kernel.dtype.type(degree), out=kernel)


def maclaurin_coefficients(degree: int, a: float) -> np.ndarray:
    r"""Return the coefficients of :math:`\alpha (q + t)^p = \sum_n a_n t^n`.

    They are the probabilities of the binomial distribution with p trials of probability 1/(q + 1) = 2/a²,
    which is how they are computed: nothing over- or underflows.

    Parameters
    ----------
    degree : int
        The power p ≥ 1.
    a : float
        The scale a ≥ 2.

    Returns
    -------
    ndarray of shape (degree + 1,), float64
        a_0 … a_p; they sum to 1.

    Examples
    --------
    >>> maclaurin_coefficients(2, 2.0).round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    return stats.binom.pmf(np.arange(degree + 1), degree, 2 / a**2)
