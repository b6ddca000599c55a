"""Bases of GEM and its other forms: projections on detectors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.embeddings.row_transformer import LabelledFit, LinearEmbedding, MomentFit
from eigenbench.methods.linalg.row_blocks import ROW_TYPES
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.streamed_moments import moments_within_memory
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER

#: The largest number of detectors by default, as a multiple of the number of inputs.
DETECTORS_PER_INPUT = 20

#: The largest number by default for any number of inputs: expanded by `SignedPowers` they make 11,520
#: features, whose Gram matrix takes 1 GB.
MOST_DETECTORS = 1920

#: Rows of a numerator for each of its detectors, by default: with fewer rows the detectors are those of
#: single rows.
ROWS_PER_DETECTOR = 4

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
    _supervised: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "gamma": [NOT_NEGATIVE],
        "theta": [NOT_NEGATIVE],
        "top": [POSITIVE_INTEGER, None],
        "n_components": [POSITIVE_INTEGER, None],
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

    def _keep(
        self,
        found: Sequence[tuple[np.ndarray, np.ndarray]],
        top: int,
        limit: int | None,
        rows: np.ndarray | None = None,
    ) -> np.ndarray:
        """Set the detectors from the ``top`` eigenvalues and vectors of every problem; return which are kept.

        They reach ``theta``, and are among the first ``limit``: the largest of every problem, then the second
        of every problem and so on, and of the last round those of largest λ. By default a problem has no more
        than a quarter as many as its numerator has ``rows``.
        """
        values, vectors = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        place = np.arange(values.size) % top
        order = np.lexsort((-values, place))
        if rows is not None and self._default_limit(len(vectors)) is not None:
            most = np.repeat(np.ceil(rows / ROWS_PER_DETECTOR), top)
            order = order[(place < most)[order]]
        kept = np.zeros(values.size, dtype=bool)
        kept[order[:limit]] = True
        if values.max() < self.theta:
            raise ValueError(
                f"no detector has λ ≥ theta={self.theta}: the largest is {values.max():.4g}. Lower theta."
            )
        kept &= values >= self.theta
        self.detectors_ = np.ascontiguousarray(vectors[:, kept])
        self.eigenvalues_ = values[kept]
        return kept

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.detectors_, None


class LabelDetectors(DetectorEmbedding, LabelledFit):
    """Base of those that are found from rows and the labels of at least two classes."""

    def _groups(self, y: Any, sample_weight: Any) -> Any:
        check_classification_targets(y)
        return y

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
