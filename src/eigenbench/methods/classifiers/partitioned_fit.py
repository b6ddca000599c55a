"""Features, classes and held-out rows of partitions, in sums over rows or shuffled for stochastic steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.classifiers.logistic_decoder import class_targets, multinomial_loss
from eigenbench.methods.classifiers.streamed import hold_out
from eigenbench.methods.linalg.partition_files import PartitionError
from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import FeatureBlocks
from eigenbench.methods.moments.class_sums import joined_labels, labelled_rows


@dataclass(frozen=True)
class PartitionedRows:
    """Sums over the features of partitions, the positions of their classes, and which rows are held out."""

    partitions: Partitions
    feature_map: Any
    classes: np.ndarray
    n_rows: int
    n_features: int
    dtype: np.dtype

    def sum(
        self, start: Callable[[], Any], *, label: str = "", held_out: tuple[float, int] | None = None
    ) -> Any:
        """Return ``start()`` after ``add(features, codes, held_out)`` for all rows.

        ``held_out`` is the share of the rows of every block that is held out, and a seed.
        """
        prepare = _Preparation(self.feature_map, self.classes, held_out)
        return self.partitions.sum(start, prepare, label=label)

    def labelled_blocks(
        self, order: np.ndarray, held_out: tuple[float, int] | None
    ) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield rows, not features, and class positions of what is not held out, partition by partition."""
        prepare = _Preparation(self.feature_map, self.classes, held_out)
        for number in order.tolist():
            for place, (X, y) in enumerate(self.partitions.read(number)):
                try:
                    rows, codes, marks = prepare.coded(X, y, (number, place))
                except ValueError as error:
                    raise PartitionError(f"{self.partitions.name(number)}: {error}") from error
                yield (rows[~marks], codes[~marks]) if marks.any() else (rows, codes)


class PartitionedFit:
    """Mixin of classifiers that rows in partitions suffice to fit."""

    feature_map: Any

    @abstractmethod
    def _fit_sums(self, rows: PartitionedRows) -> None:
        """Learn from the rows."""

    def fit_partitions(self, source: Any, *, target: Any = None) -> Any:
        """Fit the model to rows that no memory holds.

        Parameters
        ----------
        source : Partitions, folder or URL, Dask collection, or iterable of (X, y)
            See :class:`~eigenbench.Partitions`; on the workers of joblib's
            backend, which may be a Dask cluster. Read many times.
        target : str or int, optional
            Column of the labels in files and data frames.

        Returns
        -------
        object
            The estimator itself. ``feature_map`` is used as it is, and has to be fitted.

        Raises
        ------
        NotFittedError
            If ``feature_map`` is not fitted.
        PartitionError
            If a partition has other columns or types than the first, or bad values; the message names it.
        ValueError
            If there is one class only, or ``class_weight`` is set, which only ``fit`` takes.
        """
        self._validate_params()  # type: ignore[attr-defined]
        if getattr(self, "class_weight", None):
            raise ValueError("fit_partitions does not take class_weight: leave it out, or use fit.")
        partitions = Partitions.of(source, target=target)
        self.feature_map_ = self.feature_map
        if self.feature_map_ is not None:
            _check_fitted(self.feature_map_)
        found = partitions.sum(_LabelSurvey, partial(_surveyed, self.feature_map_), label="labels")
        check_classification_targets(found.classes)
        self._set_classes(found.classes)  # type: ignore[attr-defined]
        self.n_features_in_ = found.n_inputs
        self._fit_sums(
            PartitionedRows(
                partitions, self.feature_map_, found.classes, found.n_rows, found.n_features, found.dtype
            )
        )
        return self


@dataclass(frozen=True)
class _Preparation:
    """Makes the features, class positions and held-out marks of a block."""

    feature_map: Any
    classes: np.ndarray
    held_out: tuple[float, int] | None

    def __call__(
        self, X: Any, y: Any, place: tuple[int, int]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        X, codes, marks = self.coded(X, y, place)
        for rows, features in FeatureBlocks(X, self.feature_map):
            yield features, codes[rows], marks[rows]

    def coded(self, X: Any, y: Any, place: tuple[int, int]) -> tuple[Any, np.ndarray, np.ndarray]:
        X, labels = labelled_rows(X, y)
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        new = np.flatnonzero(self.classes[codes] != labels)
        if new.size:
            raise ValueError(
                f"label {labels[new[0]]!r} was not there in the first pass: the partitions have changed."
            )
        marks = np.zeros(len(codes), dtype=bool)
        if self.held_out is not None:
            fraction, seed = self.held_out
            marks = hold_out(codes, fraction, np.random.RandomState([seed, *place]))
        return X, codes, marks


class _LabelSurvey:
    """Labels, number of rows and shape of features."""

    def __init__(self) -> None:
        self.classes: Any = np.empty(0, dtype=np.int64)
        self.n_rows = self.n_inputs = self.n_features = 0
        self.dtype = np.dtype(np.float32)

    def add(self, labels: np.ndarray, n_rows: int, n_inputs: int, n_features: int, dtype: np.dtype) -> None:
        if self.n_rows and self.n_inputs != n_inputs:
            raise ValueError(f"X has {n_inputs} features, but other partitions have {self.n_inputs}.")
        self.classes = joined_labels(self.classes, labels)
        self.n_rows += n_rows
        self.n_inputs, self.n_features = n_inputs, n_features
        self.dtype = np.result_type(self.dtype, dtype)

    def merge(self, other: _LabelSurvey) -> None:
        if other.n_rows:
            self.add(other.classes, other.n_rows, other.n_inputs, other.n_features, other.dtype)


def _surveyed(feature_map: Any, X: Any, y: Any, place: tuple[int, int]) -> Iterator[tuple[Any, ...]]:
    X, labels = labelled_rows(X, y)
    blocks = FeatureBlocks(X[:1], feature_map)
    yield np.unique(labels), *X.shape, blocks.n_features, blocks.dtype


def _check_fitted(feature_map: Any) -> None:
    try:
        check_is_fitted(feature_map)
    except NotFittedError as error:
        raise NotFittedError(
            f"feature_map={feature_map!r} has to be fitted before fit_partitions: embeddings by"
            " fit_moments(ClassMoments.of_partitions(...)), others on a sample of the rows."
        ) from error


#: Share of the rows of every block that is held out, and a seed; None for none.
HeldOut = tuple[float, int] | None


class SampledGram:
    """Counts of the classes of rows that are not held out, and the Gram matrix of an even sample of them."""

    def __init__(self, rows: PartitionedRows, share: float, *, fit_intercept: bool) -> None:
        self.system = RidgeSystem(rows.n_features, rows.dtype, fit_intercept=fit_intercept)
        self.counts = np.zeros(len(rows.classes), dtype=np.int64)
        self._share = share

    def add(self, features: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        """Add the rows of a block."""
        kept = np.flatnonzero(~held_out)
        self.counts += np.bincount(codes[kept], minlength=len(self.counts))
        steps = np.floor(np.arange(len(kept) + 1) * self._share)
        self.system.add(features[kept[np.flatnonzero(np.diff(steps))]])

    def merge(self, other: SampledGram) -> None:
        """Add those of another."""
        self.counts += other.counts
        self.system.merge(other.system)


class HeldOutLoss:
    """Sum of the log losses of held-out rows, and their number."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray) -> None:
        self._coef, self._intercept = coef, intercept
        self.total, self.n_rows = 0.0, 0

    def add(self, features: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        """Add the rows of a block."""
        if held_out.any():
            logits = features[held_out] @ self._coef + self._intercept
            self.total += multinomial_loss(logits, class_targets(codes[held_out], logits.shape[1]))
            self.n_rows += len(logits)

    def merge(self, other: HeldOutLoss) -> None:
        """Add those of another."""
        self.total += other.total
        self.n_rows += other.n_rows


def shuffled_chunks(
    rows: PartitionedRows, held_out: HeldOut, batch_size: int, megabytes: float, rng: np.random.RandomState
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Yield all rows that are not held out once, in parts of about so many MB.

    Partitions come in random order; rows are put into random order within a part. Yields rows (not yet
    features), positions of their classes, and the places in which they are to be taken: a multiple of
    ``batch_size`` in number, but in the last part. The rows left come first in the next part.
    """
    order = rng.permutation(len(rows.partitions)) if len(rows.partitions) > 1 else np.zeros(1, dtype=int)
    left: tuple[Any, np.ndarray] | None = None
    for X, codes in _joined(rows.labelled_blocks(order, held_out), megabytes):
        places = rng.permutation(len(codes))
        if left is not None:
            places = np.concatenate([np.arange(len(left[1])), places + len(left[1])])
            X, codes = _stacked([left[0], X]), np.concatenate([left[1], codes])
        whole = len(places) - len(places) % batch_size
        left = X[places[whole:]], codes[places[whole:]]
        if whole:
            yield X, codes, places[:whole]
    if left is not None and len(left[1]):
        yield *left, np.arange(len(left[1]))


def _joined(blocks: Iterable[tuple[Any, np.ndarray]], megabytes: float) -> Iterator[tuple[Any, np.ndarray]]:
    """Put blocks together until they take so many MB."""
    waiting: list[tuple[Any, np.ndarray]] = []
    size = 0
    for X, codes in blocks:
        waiting.append((X, codes))
        size += X.data.nbytes
        if size >= megabytes * 2**20:
            yield _stacked([part for part, _ in waiting]), np.concatenate([part for _, part in waiting])
            waiting, size = [], 0
    if waiting:
        yield _stacked([part for part, _ in waiting]), np.concatenate([part for _, part in waiting])


def _stacked(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
