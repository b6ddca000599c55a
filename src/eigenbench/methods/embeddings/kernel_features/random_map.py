"""What the random feature maps share: scikit-learn's interface, and bounded row blocks."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from eigenbench.methods.embeddings.row_transformer import RowTransformer
from eigenbench.methods.linalg.row_blocks import row_slices

#: Bytes of features made at a time: a block and its temporaries stay in the outer caches.
BLOCK_BYTES = 4 * 2**20


class RandomMap(ClassNamePrefixFeaturesOutMixin, RowTransformer):
    """Base of the random feature maps, which map each row alone.

    A subclass draws its random numbers in ``_draw`` and maps one block of rows in ``_map_block``.
    """

    n_components: int
    random_state: Any

    #: Rows of a block, however wide they are.
    _least_rows: ClassVar[int] = 1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def fit(self, X: Any, y: Any = None) -> Any:
        """Draw the random map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Rows of the width and type to map; what else is used of them, if anything, the class says.
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter is out of its range or does not suit the rows.
        """
        self._validate_params()
        X = self._training_rows(X)
        self._check_rows(X)
        self._draw(X, check_random_state(self.random_state))
        self._n_features_out = self.n_components
        return self

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
        size = self._bytes_per_row(X.dtype.itemsize)
        for rows in row_slices(X.shape[0], size, max(BLOCK_BYTES, self._least_rows * size)):
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
