"""Bases of the transformers of this package: checks of rows, linear maps, fits from class moments."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import spatial
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.linalg.row_blocks import FLOAT_TYPES, validated
from eigenbench.methods.moments import AnyMoments

#: Rows between which the median distance is taken.
_SAMPLE_ROWS = 1_000


class RowTransformer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of transformers of dense or sparse rows that keep float32 and float64."""

    #: Types of rows that are used as they are; others become the first of them.
    _row_types: ClassVar[list[Any]] = FLOAT_TYPES

    def _training_rows(self, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
        """Check training rows, and targets if they are given; further checks as for ``validate_data``."""
        return validated(self, X, y, accept_sparse="csr", dtype=self._row_types, **checks)

    def _fitted_rows(self, X: Any) -> Any:
        """Check rows like those of ``fit``."""
        check_is_fitted(self)
        return validated(self, X, accept_sparse="csr", dtype=self._row_types, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LinearEmbedding(ClassNamePrefixFeaturesOutMixin, RowTransformer):
    """Base of transformers whose output is a linear function of each row."""

    _n_features_out: int

    @abstractmethod
    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the matrix (d, m), and what is added to the products (m,), None for nothing."""

    def transform(self, X: Any) -> np.ndarray:
        """Map the rows of X linearly, by the directions and offsets found in ``fit``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data; sparse data is not made dense.

        Returns
        -------
        ndarray of shape (n_samples, m)
            One column for each direction: float64 for float64 input, float32 for float32 input.
        """
        X = self._fitted_rows(X)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        matrix, offset = self._linear_map()
        outputs = np.asarray(safe_sparse_dot(X.astype(dtype, copy=False), matrix.astype(dtype, copy=False)))
        if offset is not None:
            outputs += offset.astype(dtype)
        return outputs


class MomentFit(metaclass=ABCMeta):
    """Mixin of estimators that class moments suffice to fit."""

    n_features_in_: int

    @abstractmethod
    def _solve(self, moments: AnyMoments) -> None:
        """Set the fitted attributes."""

    def fit_moments(self, moments: AnyMoments) -> Any:
        """Fit to class moments; the result is that of ``fit`` on their rows.

        Parameters
        ----------
        moments : ClassMoments, PooledMoments or StreamedMoments
            Moments of the training rows. Pooled ones suffice for FisherLDA, SIR, VCA and label embeddings.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            As for ``fit``.
        """
        self._validate_params()  # type: ignore[attr-defined]
        self.n_features_in_ = moments.n_features
        self._solve(moments)
        return self


def median_distance(X: Any, rng: np.random.RandomState, metric: str = "euclidean") -> float:
    """Return the median distance between up to 1,000 rows; that of rows that differ, where most do not.

    Zero if all rows are alike.
    """
    rows = X[np.sort(rng.permutation(X.shape[0])[:_SAMPLE_ROWS])]
    distances = spatial.distance.pdist(rows.toarray() if hasattr(rows, "toarray") else rows, metric)
    apart = distances[distances > 0]
    return float(np.median(distances) or np.median(apart)) if apart.size else 0.0
