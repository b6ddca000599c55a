"""Bases of the random feature maps: scikit-learn's interface, bounded row blocks, unit rows."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.embeddings.row_transformer import UnsupervisedFit
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, Interval, StrOptions

#: Bytes of features made at a time: a block and its temporaries stay in the outer caches.
BLOCK_BYTES = 4 * 2**20


class RandomMap(ClassNamePrefixFeaturesOutMixin, UnsupervisedFit):
    """Base of the random feature maps, drawn in ``_draw``, which map each row alone, in ``_map_block``."""

    n_components: int
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    def _learn(self, X: Any) -> None:
        self._check_rows(X)
        self._draw(X, check_random_state(self.random_state))
        self._n_features_out = self.n_components

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The rows; sparse rows are made dense in blocks, if at all.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The features in the type of X, float32 or float64.

        Raises
        ------
        ValueError
            If a row does not suit the map.
        """
        X = self._fitted_rows(X)
        features = np.empty((X.shape[0], self.n_components), dtype=X.dtype)
        arrays = self._arrays(X.dtype)
        for rows in row_slices(X.shape[0], self._bytes_per_row(X.dtype.itemsize), BLOCK_BYTES):
            block = X[rows]
            self._check_rows(block, rows.start)
            self._map_rows(block, arrays, features[rows])
        return features

    def _check_rows(self, X: Any, first_row: int = 0) -> None:
        """Raise if the map is not made for these rows, of which ``first_row`` is the number of the first."""

    def _map_rows(self, block: Any, arrays: Any, out: np.ndarray) -> None:
        self._map_block(block, arrays, out)

    def _bytes_per_row(self, itemsize: int) -> int:
        """Size of the widest array that ``_map_block`` makes for one row."""
        return self.n_components * itemsize

    @abstractmethod
    def _draw(self, X: Any, rng: np.random.RandomState) -> None:
        """Draw the random numbers of the map for rows like those of X."""

    @abstractmethod
    def _arrays(self, dtype: np.dtype) -> Any:
        """Return the fitted arrays as blocks of this type need them; called once for a transform."""

    @abstractmethod
    def _map_block(self, block: Any, arrays: Any, out: np.ndarray) -> None:
        """Write the features of a block, dense or CSR, into ``out``."""


#: How far the norm of a row may be from 1 with ``rows="check"``; float32 rounding stays well below it.
NORM_TOLERANCE = 1e-4


def check_unit_rows(X: Any, first_row: int = 0) -> None:
    """Raise `ValueError` naming the first row whose norm differs from 1 by more than ``NORM_TOLERANCE``."""
    norms = row_norms(X)
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))
    if wrong.size:
        raise ValueError(
            f"row {first_row + wrong[0]} has norm {norms[wrong[0]]:.6g}, but rows='check' asks for unit "
            "rows: scale the rows to length 1 or use rows='normalize'."
        )


def unit_rows(X: Any) -> tuple[Any, np.ndarray]:
    """Return a copy of the rows at unit length, and the numbers of zero rows, which stay zero."""
    # Dividing by the largest entry first keeps the squares from over- and underflowing.
    largest = np.ravel(abs(X).max(axis=1).toarray() if sparse.issparse(X) else np.abs(X).max(axis=1))
    zero = np.flatnonzero(largest == 0)
    largest[zero] = 1
    scaled = _divide_rows(X, largest)
    norms = row_norms(scaled)
    norms[zero] = 1
    return _divide_rows(scaled, norms, copy=False), zero


def unit_cosines(X: Any, Y: Any) -> np.ndarray:
    """Return the cosines of the angles between rows, clipped to [-1, 1], in float64 of shape (n, m)."""
    X, Y = (unit_rows(rows.astype(np.float64))[0] for rows in (X, Y))
    return np.clip(safe_sparse_dot(X, Y.T, dense_output=True), -1.0, 1.0)


def unit_squared_products(X: Any, Y: Any) -> np.ndarray:
    """Return the sums of x_i² y_i² of rows at unit length, in float64 of shape (n, m)."""
    X, Y = (unit_rows(rows.astype(np.float64))[0] for rows in (X, Y))
    X, Y = ((rows.multiply(rows).tocsr() if sparse.issparse(rows) else rows**2) for rows in (X, Y))
    return safe_sparse_dot(X, Y.T, dense_output=True)


def _divide_rows(X: Any, divisors: np.ndarray, copy: bool = True) -> Any:
    if sparse.issparse(X):
        result = X.copy() if copy else X
        result.data /= np.repeat(divisors, np.diff(X.indptr)).astype(X.dtype, copy=False)
        return result
    return np.divide(X, divisors[:, None], out=None if copy else X)


class PolynomialKernelMap(RandomMap):
    """Base of the maps for the kernel (1 − ‖x − y‖²/a²)^p on the sphere, by default of integer degree p.

    ``_map_block`` gets unit rows: rows are scaled to length 1, or those of another length are refused; a zero
    row, which has no direction, gets zero features.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RandomMap._parameter_constraints,
        "degree": [POSITIVE_INTEGER],
        "a": [Interval(Real, 2, None, closed="left")],
        "rows": [StrOptions({"normalize", "check"})],
    }

    def __init__(
        self,
        degree: Any = 7,
        a: float = 4.0,
        n_components: int = 512,
        *,
        rows: str = "normalize",
        random_state: Any = None,
    ) -> None:
        self.degree = degree
        self.a = a
        self.n_components = n_components
        self.rows = rows
        self.random_state = random_state

    def _check_rows(self, X: Any, first_row: int = 0) -> None:
        if self.rows == "check":
            check_unit_rows(X, first_row)

    def _map_rows(self, block: Any, arrays: Any, out: np.ndarray) -> None:
        if self.rows == "check":
            self._map_block(block, arrays, out)
            return
        block, zero = unit_rows(block)
        self._map_block(block, arrays, out)
        out[zero] = 0


#: Signs of unit size, and of mean square zero where they are complex.
REAL_SIGNS = np.array([-1, 1], dtype=np.int8)
COMPLEX_SIGNS = np.array([1, -1, 1j, -1j], dtype=np.complex64)


def sketch_width(n_features: int, complex_signs: bool) -> int:
    """Return how many features with such signs make so many real ones: two each of complex ones."""
    if complex_signs and n_features < 2:
        raise ValueError("complex=True makes two features at a time: n_components has no room for them.")
    return n_features // 2 if complex_signs else n_features


def write_parts(features: np.ndarray, out: np.ndarray) -> None:
    """Write the real and the imaginary parts of complex features side by side, and zero where one is left."""
    half = features.shape[1]
    out[:, :half], out[:, half : 2 * half], out[:, 2 * half :] = features.real, features.imag, 0


class ProductMomentsMixin:
    """Mixin of maps whose inner products have known moments over the draws of the map."""

    def _moments_are_known(self) -> bool:
        return True

    @abstractmethod
    def _product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the moments for a fitted map, by the formula of the class."""

    @available_if(lambda estimator: estimator._moments_are_known())  # type: ignore[untyped-decorator]
    def product_moments(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of the product of two feature rows over draws of the map.

        Parameters
        ----------
        X, Y : {array-like, sparse matrix} of shape (n, d) and (m, d)
            Rows, taken at unit length. The moments of a row of zeros have no meaning.

        Returns
        -------
        mean, variance : ndarray of shape (n, m), float64
            Of ``transform(X) @ transform(Y).T``. Costs O(n m d).

        Raises
        ------
        NotFittedError
            If the map has not been drawn.
        """
        check_is_fitted(self)
        return self._product_moments(X, Y)
