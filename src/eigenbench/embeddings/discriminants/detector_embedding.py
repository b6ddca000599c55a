"""What GEM and its other forms share: projections on detectors."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.embeddings.row_transformer import LinearEmbedding, MomentFit
from eigenbench.linalg.row_blocks import ROW_TYPES
from eigenbench.moments import ClassMoments


class DetectorEmbedding(LinearEmbedding):
    """Base of transformers that have found ``detectors_`` (d, m) from rows and their targets."""

    theta: float
    detectors_: np.ndarray

    _row_types: ClassVar[list] = ROW_TYPES

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "gamma": [Interval(Real, 0, None, closed="left")],
        "theta": [Interval(Real, 0, None, closed="left")],
        "top": [Interval(Integral, 1, None, closed="left")],
    }

    def _reaching_theta(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return which detectors are kept, (m,); at least one has to be."""
        kept = eigenvalues >= self.theta
        if not kept.any():
            raise ValueError(
                f"no detector has λ ≥ theta={self.theta}: the largest is {eigenvalues.max():.4g}."
                " Lower theta."
            )
        return kept

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.detectors_, None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LabelDetectors(DetectorEmbedding):
    """Base of those that are found from rows and the labels of at least two classes."""

    @abstractmethod
    def _fit_rows(self, X: Any, y: np.ndarray) -> None:
        """Set the fitted attributes from valid rows and labels."""

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
        self._validate_params()
        X, y = self._training_rows(X, y)
        check_classification_targets(y)
        self._fit_rows(X, y)
        self._n_features_out = self.detectors_.shape[1]
        return self

    def _check_number(self, n_classes: int) -> None:
        if n_classes < 2:
            raise ValueError(
                f"{type(self).__name__} compares classes and needs at least two, got {n_classes} class."
            )


class ClassDetectors(MomentFit, LabelDetectors):
    """Base of those whose detectors follow from the moments of the classes."""

    @abstractmethod
    def _find(self, moments: ClassMoments) -> None:
        """Set the detectors and what belongs to them."""

    def _fit_rows(self, X: Any, y: np.ndarray) -> None:
        self._solve(ClassMoments.of(X, y))

    def _solve(self, moments: ClassMoments) -> None:
        self._check_number(len(moments.classes))
        self._find(moments)
        self.classes_ = moments.classes
        self._n_features_out = self.detectors_.shape[1]
