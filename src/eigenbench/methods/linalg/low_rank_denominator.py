"""Top generalized eigenvectors where the matrices are sums over few rows, without forming them."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from eigenbench.methods.linalg.generalized_eigen import TooFewRows, top_of_gram
from eigenbench.methods.linalg.signs import make_peaks_positive

#: Ridges relative to the trace that make the denominator singular but for rounding.
_ROUNDING = 1e-10


class LowRankDenominator:
    r"""Solve :math:`E^\top E\, v = \lambda\, (F^\top F + g I)\, v` from the rows E and F.

    With :math:`A = F F^\top + g I = L L^\top` the inverse of the denominator is
    :math:`\frac{1}{g} (I - F^\top A^{-1} F)`, and the nonzero λ are those of the m × m matrix
    :math:`\frac{1}{g} (E E^\top - T^\top T)` with :math:`T = L^{-1} F E^\top`.

    Parameters
    ----------
    F : ndarray of shape (n, d), float64
        Rows of the denominator.
    g : float
        What is added to its diagonal.

    Raises
    ------
    TooFewRows
        If g is too small beside the trace of FᵀF for this form of the inverse to be exact.

    Notes
    -----
    n²·d + n³/3 flops, and n² numbers.
    """

    def __init__(self, F: np.ndarray, g: float) -> None:
        gram = linalg.blas.dsyrk(1.0, F.T, trans=1, lower=1)
        if not g > _ROUNDING * np.trace(gram):
            raise TooFewRows("the ridge of the denominator is too small beside its rows")
        gram.flat[:: len(gram) + 1] += g
        self._F, self._g = F, g
        self._factor = linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def top(self, E: np.ndarray, n_vectors: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues, descending, and their vectors with vᵀ(FᵀF + gI)v = 1.

        Parameters
        ----------
        E : ndarray of shape (m, d), float64
            Rows of the numerator.
        n_vectors : int
            How many.

        Returns
        -------
        eigenvalues : ndarray of shape (n_vectors,)
        vectors : ndarray of shape (d, n_vectors)
            The entry of largest size in each column is positive.

        Raises
        ------
        TooFewRows
            If the numerator has a smaller rank than ``n_vectors``.

        Notes
        -----
        2m·n·d + m²·d + m·n² + m²·n + about 2m³ flops.
        """
        T = linalg.solve_triangular(self._factor, self._F @ E.T, lower=True, check_finite=False)
        inner = linalg.blas.dsyrk(1.0, E.T, trans=1, lower=1)
        inner = linalg.blas.dsyrk(-1 / self._g, T, trans=1, beta=1 / self._g, c=inner, lower=1)
        values, U = top_of_gram(inner, n_vectors)
        weights = linalg.solve_triangular(self._factor, T @ U, lower=True, trans="T", check_finite=False)
        vectors = E.T @ U - self._F.T @ weights
        return values, make_peaks_positive(vectors / (self._g * np.sqrt(values)))
