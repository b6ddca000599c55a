"""Leading eigenpairs of a symmetric positive semi-definite operator by randomized subspace iteration."""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np
from scipy import linalg

from eigenbench.methods.linalg.signs import make_peaks_positive

logger = logging.getLogger(__name__)


def leading_eigenpairs(
    apply: Callable[[np.ndarray], np.ndarray],
    size: int,
    k: int,
    *,
    oversampling: int,
    n_iter: int,
    rng: np.random.RandomState,
    dtype: np.dtype | type = np.float64,
    first: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of an operator that is known by its products alone.

    Parameters
    ----------
    apply : callable
        Returns M @ Q for Q of shape (size, w) in ``dtype``.
    size : int
        Order of M.
    k : int
        Number of eigenpairs, at most ``size``.
    oversampling : int
        Directions beyond k that are carried along; fewer where ``size`` leaves no room.
    n_iter : int
        Number of power iterations; M is applied ``n_iter + 1`` times.
    rng : RandomState
        Source of the Gaussian start.
    dtype : numpy dtype
        Type of the matrices given to ``apply``.
    first : callable, optional
        Used in place of ``apply`` on the random start when power iterations follow. It may be less exact.

    Returns
    -------
    eigenvalues : ndarray of shape (k,), float64
        Descending. They approach the true ones from below.
    vectors : ndarray of shape (size, k), float64
        Orthonormal columns; the entry of largest absolute value of each is positive.

    Notes
    -----
    With Q an orthonormal basis of the range after the power iterations, the result is the singular value
    decomposition of MQ, which is half an iteration better than diagonalising QᵀMQ. It is taken from a QR
    factorisation: (MQ)ᵀMQ would square the condition number. Beside ``apply``: about 4·size·w² flops for
    each application and 24·size·w bytes, w = k + oversampling.
    """
    image = rng.standard_normal((size, min(k + oversampling, size)))
    for iteration in range(n_iter + 1):
        basis, _ = linalg.qr(image, mode="economic", overwrite_a=True, check_finite=False)
        product = first if first is not None and iteration == 0 < n_iter else apply
        image = np.asarray(product(basis.astype(dtype)), dtype=np.float64)
        logger.info("subspace iteration %d/%d", iteration + 1, n_iter + 1)
    factor, triangle = linalg.qr(image, mode="economic", overwrite_a=True, check_finite=False)
    rotation, values, _ = linalg.svd(triangle, overwrite_a=True, check_finite=False)
    return values[:k], make_peaks_positive(factor @ rotation[:, :k])
