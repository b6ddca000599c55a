"""What the maps of kernels on the sphere share: unit rows, bounded row blocks, scikit-learn's interface."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.linalg.row_blocks import row_slices

#: Bytes of features made at a time: a block and its temporaries stay in the outer caches.
BLOCK_BYTES = 4 * 2**20
#: How far the norm of a row may be from 1 with ``rows="check"``; float32 rounding stays well below it.
NORM_TOLERANCE = 1e-4


def check_unit_rows(X: Any, first_row: int = 0) -> None:
    """Raise when a row does not have unit length.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
        The rows.
    first_row : int
        Number of the first row, for the message.

    Raises
    ------
    ValueError
        Naming the first row whose norm differs from 1 by more than ``NORM_TOLERANCE``, and its norm.
    """
    norms = row_norms(X)
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))
    if wrong.size:
        raise ValueError(
            f"row {first_row + wrong[0]} has norm {norms[wrong[0]]:.6g}, but rows='check' asks for unit "
            "rows: scale the rows to length 1 or use rows='normalize'."
        )


def unit_rows(X: Any) -> tuple[Any, np.ndarray]:
    """Scale rows to unit length.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, d)
        The rows; left as they are.

    Returns
    -------
    scaled : ndarray or CSR matrix of shape (n_rows, d)
        A scaled copy in the type of X; zero rows stay zero.
    zero : ndarray of int
        The numbers of the zero rows.
    """
    # Dividing by the largest entry first keeps the squares from over- and underflowing.
    largest = np.ravel(abs(X).max(axis=1).toarray() if sparse.issparse(X) else np.abs(X).max(axis=1))
    zero = np.flatnonzero(largest == 0)
    largest[zero] = 1
    scaled = _divide_rows(X, largest)
    norms = row_norms(scaled)
    norms[zero] = 1
    return _divide_rows(scaled, norms, copy=False), zero


def _divide_rows(X: Any, divisors: np.ndarray, copy: bool = True) -> Any:
    if sparse.issparse(X):
        result = X.copy() if copy else X
        result.data /= np.repeat(divisors, np.diff(X.indptr)).astype(X.dtype, copy=False)
        return result
    return np.divide(X, divisors[:, None], out=None if copy else X)


class UnitRowMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the random feature maps that act on unit rows.

    A subclass draws its random numbers in ``_draw`` and maps one block of unit rows in ``_map_block``;
    this class validates, scales the rows, cuts them into blocks and sets the features of zero rows to zero.
    """

    n_components: int
    rows: str
    random_state: Any

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "rows": [StrOptions({"normalize", "check"})],
        "random_state": ["random_state"],
    }

    def fit(self, X: Any, y: Any = None) -> UnitRowMap:
        """Draw the random map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Rows of the width and type to map; what else is used of them, if anything, the class says.
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        UnitRowMap
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or if a row is not of unit length with ``rows="check"``.
        """
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        if self.rows == "check":
            check_unit_rows(X)
        self._draw(X, check_random_state(self.random_state))
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The features in the type of X, float32 or float64. A zero row has no direction and gets zero
            features.

        Raises
        ------
        ValueError
            With ``rows="check"``, if a row (a zero row included) is not of unit length.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        features = np.empty((X.shape[0], self.n_components), dtype=X.dtype)
        arrays = self._arrays(X.dtype)
        for rows in row_slices(X.shape[0], self._bytes_per_row(X.dtype.itemsize), BLOCK_BYTES):
            block = X[rows]
            if self.rows == "check":
                check_unit_rows(block, rows.start)
                self._map_block(block, arrays, features[rows])
            else:
                block, zero = unit_rows(block)
                self._map_block(block, arrays, features[rows])
                features[rows][zero] = 0
        return features

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
        """Write the features of a block of unit rows, dense or CSR, into ``out``."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
