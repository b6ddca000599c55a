"""What GEM and its other forms share: projections on detectors."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.moments import ClassMoments

#: Types of rows that are used as they are.
ROW_TYPES = [np.float64, np.float32, np.uint8]


class Detectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of transformers that have found ``detectors_`` (d, m) from rows and their targets."""

    theta: float
    detectors_: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Project the rows of X on the detectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data; sparse data is not made dense.

        Returns
        -------
        ndarray of shape (n_samples, m)
            ``X @ detectors_``, plus the offsets where there are some: float64 for float64 input, else
            float32.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=ROW_TYPES, reset=False)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        projections = np.asarray(safe_sparse_dot(X.astype(dtype, copy=False), self.detectors_.astype(dtype)))
        shift = self._shift()
        if shift is not None:
            projections += shift.astype(dtype)
        return projections

    def _reaching_theta(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return which detectors are kept, (m,); at least one has to be."""
        kept = eigenvalues >= self.theta
        if not kept.any():
            raise ValueError(
                f"no detector has λ ≥ theta={self.theta}: the largest is {eigenvalues.max():.4g}."
                " Lower theta."
            )
        return kept

    def _shift(self) -> np.ndarray | None:
        """Return what is added to the projections, (m,)."""
        return None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LabelDetectors(Detectors, metaclass=ABCMeta):
    """Base of those that are found from rows and the labels of at least two classes."""

    @abstractmethod
    def _fit_rows(self, X: Any, y: np.ndarray) -> Any:
        """Set the fitted attributes from valid rows and labels; return the estimator itself."""

    def fit(self, X: Any, y: Any) -> Any:
        """Find the detectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows; uint8, float32 and float64 are used without a copy of the whole.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            If there is one class only, if a matrix that has to be inverted is singular, or if no detector
            reaches ``theta``.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=ROW_TYPES)
        check_classification_targets(y)
        return self._fit_rows(X, y)

    def _check_number(self, n_classes: int) -> None:
        if n_classes < 2:
            raise ValueError(
                f"{type(self).__name__} compares classes and needs at least two, got {n_classes} class."
            )


class ClassDetectors(LabelDetectors):
    """Base of those whose detectors follow from the moments of the classes."""

    @abstractmethod
    def _solve(self, moments: ClassMoments) -> None:
        """Set the fitted attributes."""

    def _fit_rows(self, X: Any, y: np.ndarray) -> Any:
        return self._fit(ClassMoments.of(X, y))

    def fit_moments(self, moments: ClassMoments) -> Any:
        """Find the detectors from class moments; the result equals that of ``fit`` on their rows.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the training rows.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            As for ``fit``.
        """
        self.n_features_in_ = moments.n_features
        return self._fit(moments)

    def _fit(self, moments: ClassMoments) -> Any:
        self._validate_params()
        self._check_number(len(moments.classes))
        self._solve(moments)
        self.classes_ = moments.classes
        self._n_features_out = self.detectors_.shape[1]
        return self
