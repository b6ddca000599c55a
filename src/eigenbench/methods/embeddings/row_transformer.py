"""Bases of the transformers of this package: checks of rows, linear maps, fits from class moments."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy import spatial
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.linalg.row_blocks import FLOAT_TYPES, ROW_TYPES, checked_weights, validated
from eigenbench.methods.moments import AnyMoments

#: Rows between which the median distance is taken.
_SAMPLE_ROWS = 1_000


class RowTransformer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of transformers of dense or sparse rows that keep float32 and float64."""

    #: Types of rows that are used as they are; others become the first of them.
    _row_types: ClassVar[list[Any]] = FLOAT_TYPES

    #: Whether ``fit`` needs a target of each row.
    _supervised: ClassVar[bool] = False

    def _training_rows(self, X: Any, y: Any = "no_validation", **checks: Any) -> Any:
        """Check training rows, and targets if they are given; further checks as for ``validate_data``."""
        return validated(self, X, y, accept_sparse="csr", dtype=self._row_types, **checks)

    def _fitted_rows(self, X: Any) -> Any:
        """Check rows like those of ``fit``."""
        check_is_fitted(self)
        return validated(self, X, accept_sparse="csr", dtype=self._row_types, reset=False)

    def _needs_targets(self) -> bool:
        """Return whether ``fit`` needs a target of each row."""
        return self._supervised

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._needs_targets()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class UnsupervisedFit(RowTransformer):
    """Base of transformers that are fitted to rows without targets."""

    @abstractmethod
    def _learn(self, X: Any) -> None:
        """Set the fitted attributes from valid rows."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Fit the map to rows of the width and type to transform.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The rows; what is used of them beside width and type, if anything, the class says.
        y : ignored
            Present for the scikit-learn interface.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter is out of its range or does not suit the rows.
        """
        self._validate_params()
        self._learn(self._training_rows(X))
        return self


class LinearEmbedding(ClassNamePrefixFeaturesOutMixin, RowTransformer):
    """Base of transformers whose output is a linear function of each row."""

    @abstractmethod
    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the matrix (d, m), and what is added to the products (m,), None for nothing."""

    @property
    def _n_features_out(self) -> int:
        return self._linear_map()[0].shape[1]

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


class LabelledFit(LinearEmbedding):
    """Base of linear embeddings that are found from rows, their labels and weights."""

    _row_types: ClassVar[list[Any]] = ROW_TYPES
    _supervised: ClassVar[bool] = True

    @abstractmethod
    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Set the fitted attributes from valid rows, labels and weights."""

    def _groups(self, y: Any, sample_weight: Any) -> Any:
        """Return what rows are grouped by."""
        return y

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the directions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows; uint8, float32 and float64 are used without a copy of the whole.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones; may be left out where classes play no part.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If the data hold NaN or infinity, if classes are compared and there is one only, if a matrix that
            has to be inverted is singular, or if no direction is left.
        """
        self._validate_params()
        if self._needs_targets():
            X, y = self._training_rows(X, y)
            groups = self._groups(y, sample_weight)
        else:
            X = self._training_rows(X)
            groups = np.zeros(X.shape[0], dtype=np.int64)
        weights = checked_weights(sample_weight, X)
        # Weights below one, such as those that sum to one, are no counts of rows.
        if weights is not None and (mean := weights[weights > 0].mean()) < 1:
            weights = weights / mean
        self._fit_rows(X, groups, weights)
        return self


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
        self : object

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
