"""Labelled rows that no memory holds: pieces that are read one at a time, here or by Dask workers."""

from __future__ import annotations

import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from eigenbench.methods.linalg.accumulation import Accumulator
from eigenbench.methods.linalg.partition_files import PartitionError, file_readers
from eigenbench.methods.linalg.row_blocks import FeatureBlocks

logger = logging.getLogger(__name__)

#: Sums that one task of the tree merges.
MERGED_AT_ONCE = 8

_SECONDS_BETWEEN_REPORTS = 5.0

Sum = TypeVar("Sum", bound=Accumulator)


class Reader(Protocol):
    """One partition, which can be read any number of times, also by another process."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        """Yield its rows and labels, block by block."""


class Partitions:
    """Labelled rows in pieces, over which sums are made piece by piece.

    With a ``distributed.Client`` at hand, or for Dask collections, every piece is read and summed by a task
    of Dask, and the sums are merged by a tree of tasks: Dask's scheduler says where, repeats the tasks of a
    worker that is lost, and gives up on a piece that has cost several workers. Otherwise the pieces are read
    one after the other in this process.

    Parameters
    ----------
    readers : sequence of Reader
        The pieces; use ``of`` for files, Dask collections and blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import ClassMoments, Partitions
    >>> blocks = [(np.eye(2), [0, 1]), (np.ones((3, 2)), [1, 1, 2])]
    >>> ClassMoments.of_partitions(Partitions.of(blocks)).counts.tolist()
    [1, 3, 1]
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        if not len(readers):
            raise PartitionError("there are no partitions: give at least one.")
        self._readers = list(readers)

    def __len__(self) -> int:
        return len(self._readers)

    @classmethod
    def of(cls, source: Any, *, target: Any = None) -> Partitions:
        """Return the partitions of a source.

        Parameters
        ----------
        source : Partitions, str, path, Dask collection, pair of Dask arrays, or iterable of (X, y)
            A folder, local or by a URL that fsspec knows, of Parquet files or of .npy files that hold one
            array (n, d + 1) each; a ``dask.dataframe``; ``(X, y)`` of ``dask.array``, cut alike by rows and
            not by columns; or blocks of rows and labels. A sequence of blocks is kept as it is, another
            iterable is read once and kept.
        target : str or int, optional
            Column of the labels in files and data frames: a name in Parquet, the number of a column in .npy
            files, where the last is the default.

        Raises
        ------
        PartitionError
            If there are none, or if the first is not what it should be. Others are checked when they are
            read: columns and types have to be those of the first.
        """
        if isinstance(source, Partitions):
            return source
        if hasattr(source, "__fspath__") or isinstance(source, str):
            return cls(file_readers(source, target))
        if _is_dask(source):
            return cls(_frame_readers(source, target))
        if isinstance(source, tuple) and len(source) == 2 and all(_is_dask(part) for part in source):
            return cls(_array_readers(*source))
        if not isinstance(source, Iterable):
            raise PartitionError(
                f"partitions cannot be made of {type(source).__name__}: give a folder, a Dask collection or"
                " blocks (X, y)."
            )
        return cls([_Block(f"block {number}", block) for number, block in enumerate(source)])

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield rows and labels of all partitions in their order, block by block, in this process."""
        for number in range(len(self)):
            yield from self.read(number)

    def read(self, number: int) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield rows and labels of one partition, block by block, in this process."""
        for X, y in self._readers[number]():
            if len(y):
                yield X, y

    def name(self, number: int) -> str:
        """Return what messages call a partition."""
        return self._readers[number].name

    def __getitem__(self, some: slice) -> Partitions:
        """Return some of the partitions; raises `PartitionError` for none."""
        return Partitions(self._readers[some])

    def mapped(self, feature_map: Any) -> Partitions:
        """Return the partitions with the features of their rows, which are made when they are read.

        Parameters
        ----------
        feature_map : transformer or None
            Fitted; acts on each row alone. None stands for the identity.
        """
        if feature_map is None:
            return self
        return Partitions([_mapped_reader(reader, feature_map) for reader in self._readers])

    def sum(
        self,
        start: Callable[[], Sum],
        prepare: Callable[..., Iterable[tuple[Any, ...]]] | None = None,
        *,
        label: str = "",
    ) -> Sum:
        """Return ``start()`` after it has been given all rows once.

        Parameters
        ----------
        start : callable
            Returns an empty accumulator; can be pickled, as can the accumulator.
        prepare : callable, optional
            Maps rows, labels and the place of a block (number of the partition, number in it) to arguments
            for calls of the accumulator's ``add``; one call with (X, y) by default. Can be pickled.
        label : str
            What is summed, for the progress lines; none are logged without it.

        Returns
        -------
        Accumulator
            Merged in the order of the partitions.

        Raises
        ------
        PartitionError
            If a partition is missing, damaged or of another kind than the first, or if the workers die that
            are given it, more often than Dask allows; the message names it. No sum is returned then.
        """
        if any(isinstance(reader, _DaskPiece) for reader in self._readers) or _dask_client():
            return self._sum_by_dask(start, prepare, label)
        total, reported = start(), time.monotonic()
        for number, reader in enumerate(self._readers):
            if label and (number == 0 or time.monotonic() - reported > _SECONDS_BETWEEN_REPORTS):
                reported = time.monotonic()
                logger.info("%s: partition %d/%d, %s", label, number + 1, len(self), reader.name)
            _add_all(total, reader.name, reader(), number, prepare)
        return total

    def _sum_by_dask(self, start: Callable[[], Sum], prepare: Any, label: str) -> Sum:
        from dask import delayed

        sum_piece, merge = delayed(_sum_piece, pure=False), delayed(_merged, pure=False)
        names: dict[str, str] = {}
        sums = []
        for number, reader in enumerate(self._readers):
            piece = reader.piece if isinstance(reader, _DaskPiece) else reader
            key = f"{reader.name} {uuid.uuid4().hex}"
            names[key] = reader.name
            sums.append(sum_piece(reader.name, piece, number, start, prepare, dask_key_name=key))
        while len(sums) > 1:
            sums = [merge(start, sums[i : i + MERGED_AT_ONCE]) for i in range(0, len(sums), MERGED_AT_ONCE)]
        total: Sum = _computed(sums[0], names)
        if label:
            logger.info("%s: %d partitions on Dask", label, len(self))
        return total


def _computed(task: Any, names: Mapping[str, str]) -> Any:
    """Return what a task gives; ``names`` are those of the partitions by the keys of their tasks."""
    try:
        return task.compute()
    except Exception as error:
        if type(error).__name__ != "KilledWorker":
            raise
        raise PartitionError(_killed(error, names)) from error


def _killed(error: Any, names: Mapping[str, str]) -> str:
    """Say which partitions were with all the workers over whose deaths Dask gave up a task.

    Dask counts a death against every task that the worker was given, so it may blame one that only waited.
    """
    deaths = [
        set(event["processing-tasks"])
        for _, event in _dask_client().get_events("all")
        if isinstance(event, dict) and error.task in event.get("processing-tasks", ())
    ]
    shared = set.intersection({error.task, *names}, *deaths)
    found = [name for key, name in names.items() if key in shared]
    given = "this partition" if len(found) == 1 else "these partitions: one of them is the cause"
    return (
        f"{', '.join(found) or 'a sum of several partitions'}: {error.allowed_failures + 1} workers died that"
        f" were given {given if found else 'it'}, of too little memory for instance. {error}"
    )


def _sum_piece(name: str, piece: Any, number: int, start: Callable[[], Sum], prepare: Any) -> Sum:
    total = start()
    _add_all(total, name, piece() if callable(piece) else [piece], number, prepare)
    return total


def _merged(start: Callable[[], Sum], sums: list[Sum]) -> Sum:
    """Merge into a new sum: Dask may repeat the task, and then needs the parts as they were."""
    total = start()
    for part in sums:
        total.merge(part)
    return total


def _add_all(total: Any, name: str, blocks: Iterable[Any], number: int, prepare: Any) -> None:
    for place, (X, y) in enumerate(blocks):
        if not len(y):
            continue
        try:
            for arguments in [(X, y)] if prepare is None else prepare(X, y, (number, place)):
                total.add(*arguments)
        except (TypeError, ValueError) as error:
            raise PartitionError(f"{name}: {error}") from error


class _Block:
    """A block in memory."""

    def __init__(self, name: str, block: Any) -> None:
        if not (isinstance(block, tuple | list) and len(block) == 2):
            raise PartitionError(
                f"{name}: a pair of rows and labels was expected, not {type(block).__name__}."
            )
        self.name, self._block = name, block

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        yield self._block[0], np.asarray(self._block[1])


class _DaskPiece:
    """A piece of a Dask collection: a task that gives (X, y)."""

    def __init__(self, name: str, piece: Any) -> None:
        self.name, self.piece = name, piece

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        yield self.piece.compute()


class _Mapped:
    """A partition with the features of its rows."""

    def __init__(self, reader: Reader, feature_map: Any) -> None:
        self.name, self._reader, self._feature_map = reader.name, reader, feature_map

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        for X, y in self._reader():
            yield from _features(self._feature_map, X, y)


def _mapped_reader(reader: Reader, feature_map: Any) -> Reader:
    if not isinstance(reader, _DaskPiece):
        return _Mapped(reader, feature_map)
    from dask import delayed

    return _DaskPiece(reader.name, delayed(_mapped_pair)(feature_map, reader.piece))


def _features(feature_map: Any, X: Any, y: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if len(y):
        for rows, features in FeatureBlocks(X, feature_map):
            yield features, y[rows]


def _mapped_pair(feature_map: Any, pair: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    parts = list(_features(feature_map, *pair))
    if not parts:
        return pair
    features, labels = zip(*parts, strict=True)
    return np.concatenate(features), np.concatenate(labels)


def _frame_readers(frame: Any, target: Any) -> list[_DaskPiece]:
    from dask import delayed

    columns = [str(name) for name in frame.columns]
    if target not in columns:
        raise PartitionError(f"target={target!r} is not a column of the data frame: it has {columns}.")
    split = delayed(_split_frame)
    return [
        _DaskPiece(f"partition {number}", split(part, target, columns))
        for number, part in enumerate(frame.to_delayed())
    ]


def _split_frame(frame: Any, target: str, columns: list[str]) -> tuple[np.ndarray, np.ndarray]:
    if list(frame.columns) != columns:
        raise PartitionError(
            f"a partition of the data frame has columns {list(frame.columns)}, not {columns}."
        )
    return frame.drop(columns=target).to_numpy(), frame[target].to_numpy()


def _array_readers(X: Any, y: Any) -> list[_DaskPiece]:
    from dask import delayed

    if len(X.chunks) != 2 or len(X.chunks[1]) != 1 or len(y.chunks) != 1 or X.chunks[0] != y.chunks[0]:
        raise PartitionError(
            f"the chunks of X {X.chunks} and y {y.chunks} differ, or cut columns: rechunk X to (rows, -1) and"
            " y to the same rows."
        )
    pair = delayed(_pair)
    parts = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
    return [_DaskPiece(f"chunk {number}", pair(*part)) for number, part in enumerate(parts)]


def _pair(rows: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows, labels


def _is_dask(source: Any) -> bool:
    return hasattr(source, "__dask_graph__") and hasattr(source, "to_delayed")


def _dask_client() -> Any:
    """Return the client of a Dask cluster that this thread works with, None without one."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        return None
