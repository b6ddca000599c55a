"""Class moments of rows that can be read again: second moments of some classes at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from eigenbench.methods.linalg.partitions import Partitions
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.moments.class_moments import ClassMoments, PooledMoments
from eigenbench.methods.moments.class_sums import label_array
from eigenbench.methods.moments.second_moments import SecondMoments, packed_size, unpacked

logger = logging.getLogger(__name__)

#: MB (2**20 bytes) of second moments that are held at a time.
HELD_MEGABYTES = 4096.0


class StreamedMoments:
    r"""Class moments whose second moments are made when needed, of as many classes as memory may hold.

    One pass gives the count and the sum of every class and the second moment of all rows, which suffices for
    LDA and SIR. For the others ``parts`` goes through the problems that a method has to solve in groups, and
    reads the rows of the classes of each group again: those of one class for per-class PCA, of a pair for
    :class:`~eigenbench.GEM`, of a class and its neighbours for :class:`~eigenbench.NeighborhoodGEM`. Results
    are those of :class:`~eigenbench.ClassMoments` but for rounding.

    Parameters
    ----------
    source : RereadRows or RereadPartitions
        The rows; ``of`` takes arrays, and ``of_partitions`` partitions.
    megabytes : float, default=4096
        Second moments held at a time, in MB (2²⁰ bytes); at least those of one problem are.

    Attributes
    ----------
    classes, counts, sums, n_features
        As those of :class:`~eigenbench.ClassMoments`.

    Notes
    -----
    Memory: ``megabytes``, 8·c·d bytes of sums, and some row blocks. n·d² flops for the first pass, then those
    of the rows of a class each time that it is needed and not held from the group before.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench import GEM, StreamedMoments
    >>> X, y = load_digits(return_X_y=True)
    >>> moments = StreamedMoments.of(X, y, megabytes=0.1)
    >>> GEM(top=2).fit_moments(moments).transform(X).shape
    (1797, 180)
    """

    def __init__(self, source: RereadRows | RereadPartitions, *, megabytes: float = HELD_MEGABYTES) -> None:
        self._source, self._pooled = source, source.pooled()
        self.classes, self.counts, self.sums = self._pooled.classes, self._pooled.counts, self._pooled.sums
        self.n_features = self._pooled.n_features
        self._capacity = held_classes(self.n_features, megabytes)

    @classmethod
    def of(cls, X: Any, y: Any, *, sample_weight: Any = None, **options: Any) -> StreamedMoments:
        """Return the moments of rows in memory or in a mapped file.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n, d)
            The rows; never copied as a whole.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            Weights ≥ 0.
        **options
            ``megabytes``.
        """
        return cls(RereadRows(X, y, sample_weight), **options)

    @classmethod
    def of_partitions(cls, source: Any, *, target: Any = None, **options: Any) -> StreamedMoments:
        """Return the moments of rows in partitions, which are all read again for each group of classes.

        Parameters
        ----------
        source, target
            As for :meth:`eigenbench.ClassMoments.of_partitions`.
        **options
            ``megabytes``, also of every Dask worker.
        """
        return cls(RereadPartitions(Partitions.of(source, target=target)), **options)

    def total(self) -> np.ndarray:
        """Return the second moment Σ x xᵀ over all rows of all classes, (d, d), undivided."""
        return self._pooled.total()

    def parts(self, needs: np.ndarray) -> Iterator[tuple[np.ndarray, HeldMoments]]:
        """Yield which problems, rows of ``needs`` (p, r), can be solved, and moments that hold their classes.

        Every problem comes once, those with classes in common together. The moments hold until the next group
        is asked for.
        """
        held: dict[int, np.ndarray] = {}
        done = 0
        for problems in class_groups(needs, self._capacity):
            wanted = np.unique(needs[problems])
            held = {i: held[i] for i in wanted.tolist() if i in held}
            missing = np.setdiff1d(wanted, list(held))
            if missing.size:
                held |= dict(zip(missing.tolist(), self._read(self.classes[missing]), strict=True))
            yield problems, HeldMoments(self, held)
            done += len(problems)
            logger.info("moments of %d classes held; problem %d/%d", len(wanted), done, len(needs))

    def _read(self, classes: np.ndarray) -> list[np.ndarray]:
        found = self._source.moments_of(classes)
        gone = np.setdiff1d(classes, found.classes)
        if gone.size:
            raise ValueError(
                f"the rows have changed since the first pass: class {gone[0].item()!r} is gone."
                " Fit again to rows that stay as they are."
            )
        return found.triangles


class HeldMoments(SecondMoments):
    """Class moments with the second moments of some classes."""

    def __init__(self, every: StreamedMoments, triangles: dict[int, np.ndarray]) -> None:
        self.classes, self.counts, self.sums = every.classes, every.counts, every.sums
        self._triangles = triangles

    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""
        return unpacked(self._triangles[int(i)])


class RereadPartitions:
    """Rows in partitions, which are read anew for each sum."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def pooled(self) -> PooledMoments:
        """Return the sums over all rows."""
        return PooledMoments.of_partitions(self._partitions)

    def moments_of(self, classes: np.ndarray) -> ClassMoments:
        """Return the moments of the rows that have one of these labels, in ascending order."""
        label = f"moments of {len(classes)} classes"
        return self._partitions.sum(ClassMoments, partial(_rows_of, classes), label=label)


def _rows_of(classes: np.ndarray, X: Any, y: Any, place: tuple[int, int]) -> Iterator[tuple[Any, Any]]:
    """Yield the rows that have one of these labels, as arguments of ``ClassMoments.update``."""
    labels = label_array(y)
    members = np.flatnonzero(np.isin(labels, classes))
    if members.size:
        yield X[members], labels[members]


class RereadRows:
    """Rows of an array, which are read anew for each sum."""

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        self._X, self._y = X, label_array(y)
        self._weights = None if sample_weight is None else np.asarray(sample_weight)

    def pooled(self) -> PooledMoments:
        """Return the sums over all rows."""
        return PooledMoments.of(self._X, self._y, sample_weight=self._weights)

    def moments_of(self, classes: np.ndarray) -> ClassMoments:
        """Return the moments of the rows that have one of these labels, in ascending order."""
        moments, rows = ClassMoments(), np.flatnonzero(np.isin(self._y, classes))
        for here in row_slices(len(rows), self._X.shape[1] * max(4, self._X.dtype.itemsize)):
            some = rows[here]
            weights = None if self._weights is None else self._weights[some]
            moments.update(self._X[some], self._y[some], weights)
        return moments


def moments_within_memory(X: Any, y: Any, sample_weight: Any = None) -> ClassMoments | StreamedMoments:
    """Return the moments of all classes if ``HELD_MEGABYTES`` hold them, else of some at a time."""
    if len(np.unique(y)) <= held_classes(X.shape[1], HELD_MEGABYTES):
        return ClassMoments.of(X, y, sample_weight=sample_weight)
    return StreamedMoments.of(X, y, sample_weight=sample_weight, megabytes=HELD_MEGABYTES)


def held_classes(n_features: int, megabytes: float) -> int:
    """Return how many classes have second moments that fit into so many MB, at least one."""
    return max(1, int(megabytes * 2**20 / (8 * packed_size(n_features))))


def class_groups(needs: np.ndarray, capacity: int) -> Iterator[np.ndarray]:
    """Cut problems into groups that need few classes together, and few that the group before had not.

    ``needs`` (p, r) are positions of classes. A group has at most ``capacity`` classes unless one problem
    needs more. Yields the ascending positions of the problems of a group.
    """
    waiting = np.arange(len(needs))
    held = np.zeros(needs.max(initial=-1) + 1, dtype=bool)
    while waiting.size:
        group: list[np.ndarray] = []
        start = needs[waiting[np.argmin((~held)[needs[waiting]].sum(axis=1))]]
        held[:] = False
        held[start] = True
        while waiting.size:
            new = (~held)[needs[waiting]].sum(axis=1)
            ready = new == 0
            group.append(waiting[ready])
            waiting = waiting[~ready]
            if not waiting.size:
                break
            next_one = waiting[np.argmin(new[~ready])]
            added = np.union1d(np.flatnonzero(held), needs[next_one])
            if len(added) > capacity:
                break
            held[added] = True
        yield np.sort(np.concatenate(group))
