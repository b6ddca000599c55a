"""Bases of GEM and its other forms: projections on detectors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from eigenbench.methods.embeddings.row_transformer import LinearEmbedding, MomentFit
from eigenbench.methods.linalg.row_blocks import ROW_TYPES
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.streamed_moments import moments_within_memory

#: The largest number of detectors by default, as a multiple of the number of inputs.
DETECTORS_PER_INPUT = 20

#: The largest number by default for any number of inputs: expanded by `SignedPowers` they make 11,520
#: features, whose Gram matrix takes 1 GB.
MOST_DETECTORS = 1920


#: Features that `SignedPowers` makes of each detector by default.
FEATURES_PER_DETECTOR = 6


class DetectorEmbedding(LinearEmbedding):
    """Base of transformers that have found ``detectors_`` (d, m) from rows and their targets."""

    theta: float
    top: int | None
    n_components: int | None
    detectors_: np.ndarray

    #: Detectors of each numerator and denominator when neither ``top`` nor ``n_components`` is given.
    _usual_top: ClassVar[int] = 12

    _row_types: ClassVar[list[Any]] = ROW_TYPES

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [Interval(Real, 0, None, closed="left")],
        "theta": [Interval(Real, 0, None, closed="left")],
        "top": [Interval(Integral, 1, None, closed="left"), None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
    }

    def _given_limit(self) -> int | None:
        """Return the largest number of detectors in all that is asked for."""
        return self.n_components

    def _default_limit(self, n_features: int) -> int | None:
        """Return the largest number of detectors in all when none is given, None for no limit."""
        if self.top is not None or self._given_limit() is not None:
            return None
        return min(DETECTORS_PER_INPUT * n_features, MOST_DETECTORS)

    def _numbers(self, n_problems: int, n_features: int) -> tuple[int, int | None]:
        """Return the numbers of detectors of each eigenproblem and in all, None for as many as there are."""
        limit = self._default_limit(n_features)
        top = self._usual_top if limit is not None else self.top or n_features
        top = min(top, n_features)
        if limit is not None and top * n_problems <= limit:
            return top, None
        if limit is not None:
            warnings.warn(
                f"{type(self).__name__} keeps {limit:,} detectors instead of {top * n_problems:,} ({top} of"
                f" each of {n_problems:,} eigenproblems), because there are {n_features:,} inputs: set"
                " n_components to another number, or top for so many of each.",
                stacklevel=2,
            )
        limit = limit or self._given_limit()
        return top if limit is None else min(top, -(-limit // n_problems)), limit

    def _first(self, values: np.ndarray, top: int, limit: int | None) -> np.ndarray:
        """Return which eigenvalues, ``top`` of every problem in turn, are kept, (m,).

        They reach ``theta`` and are among the first ``limit``: the largest of every problem, then the second
        of every problem and so on, and of the last round those of largest λ.
        """
        first = np.zeros(values.size, dtype=bool)
        first[np.lexsort((-values, np.arange(values.size) % top))[:limit]] = True
        return first & self._reaching_theta(values)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LabelDetectors(DetectorEmbedding):
    """Base of those that are found from rows and the labels of at least two classes."""

    @abstractmethod
    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        """Set the fitted attributes from valid rows, labels and weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the detectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows; uint8, float32 and float64 are used without a copy of the whole.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

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
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self._fit_rows(X, y, sample_weight)
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
    def _find(self, moments: AnyMoments) -> None:
        """Set the detectors and what belongs to them."""

    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._solve(moments_within_memory(X, y, sample_weight))

    def _solve(self, moments: AnyMoments) -> None:
        self._check_number(len(moments.classes))
        self._find(moments)
        self.classes_ = moments.classes
        self._n_features_out = self.detectors_.shape[1]
