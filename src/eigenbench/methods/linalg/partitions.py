"""Labelled rows that no memory holds: pieces that are read one at a time, by one process or many."""

from __future__ import annotations

import logging
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from joblib import delayed, effective_n_jobs

from eigenbench.methods.linalg.map_reduce import SECONDS_BETWEEN_REPORTS, Sum, merged
from eigenbench.methods.linalg.partition_files import PartitionError, file_readers
from eigenbench.methods.linalg.row_blocks import FeatureBlocks

logger = logging.getLogger(__name__)

#: Tasks for each worker into which partitions are grouped, which bounds the sums that are sent and merged.
TASKS_PER_WORKER = 8

#: Workers that a task may cost. Dask's ``allowed-failures``, 3 by default, has to be larger.
ATTEMPTS = 2


class Reader(Protocol):
    """One partition, which can be read any number of times, also by another process."""

    @property
    def name(self) -> str:
        """Name in messages."""

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        """Yield its rows and labels, block by block."""


class Partitions:
    """Labelled rows in pieces, over which sums are made piece by piece.

    Inside ``joblib.parallel_config(...)`` with more than one worker (loky, threads, or a Dask cluster with
    ``"dask"``) a worker reads its pieces and sends back their sum alone. Dask repeats the tasks of a worker
    that is lost. Otherwise the pieces are read one after the other in this process.

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
        """Return the name of a partition in messages."""
        return self._readers[number].name

    def __getitem__(self, some: slice) -> Partitions:
        """Return some of the partitions; raises `PartitionError` for none."""
        return Partitions(self._readers[some])

    def mapped(self, feature_map: Any) -> Partitions:
        """Return the partitions with features in place of rows, which are made when they are read."""
        if feature_map is None:
            return self
        return Partitions([_Mapped(reader, feature_map) for reader in self._readers])

    def sum(
        self,
        start: Callable[[], Sum],
        prepare: Callable[..., Iterable[tuple[Any, ...]]] | None = None,
        *,
        label: str = "",
    ) -> Sum:
        """Return ``start()``, an accumulator, after it has been given all rows once.

        ``prepare`` maps rows, labels and the place of a block (number of the partition, number in it) to
        arguments for calls of ``add``; one call with (X, y) by default. Both, and the accumulator, can be
        pickled. Sums are merged in the order of the partitions; without a ``label`` no progress is logged. A
        `PartitionError` names a partition that is bad, or that two workers of Dask died on.
        """
        workers = min(effective_n_jobs(None), len(self))
        if workers > 1:
            return self._sum_by_workers(start, prepare, label, TASKS_PER_WORKER * workers)
        total, reported = start(), time.monotonic()
        for number, reader in enumerate(self._readers):
            if label and (number == 0 or time.monotonic() - reported > SECONDS_BETWEEN_REPORTS):
                reported = time.monotonic()
                logger.info("%s: partition %d/%d, %s", label, number + 1, len(self), reader.name)
            _add_all(total, reader, number, prepare)
        return total

    def _sum_by_workers(self, start: Callable[[], Sum], prepare: Any, label: str, most: int) -> Sum:
        groups = np.array_split(np.arange(len(self)), min(most, len(self)))
        tasks = [
            _PartialSum(self._readers[group[0] : group[-1] + 1], group[0], start, prepare) for group in groups
        ]
        total: Sum = merged((delayed(task)() for task in tasks), label, [task.name for task in tasks])
        return total


class _PartialSum:
    """Task of a sum over some partitions, in turn.

    It has no arguments: joblib would scatter them, and Dask loses scattered data with a worker. It counts how
    often Dask has begun it, because joblib waits without end for a task that Dask gives up.
    """

    def __init__(self, readers: Sequence[Reader], first: int, start: Callable[[], Any], prepare: Any) -> None:
        self.name = " to ".join(dict.fromkeys(readers[place].name for place in (0, -1)))
        self._readers, self._first, self._start, self._prepare = readers, first, start, prepare
        self._key = uuid.uuid4().hex

    def __call__(self) -> Any:
        if _on_dask_worker():
            self._count_attempt()
        total = self._start()
        for number, reader in enumerate(self._readers, self._first):
            _add_all(total, reader, number, self._prepare)
        return total

    def _count_attempt(self) -> None:
        from distributed import get_client

        client: Any = get_client()
        earlier = client.get_metadata([self._key], 0)
        if earlier == ATTEMPTS:
            raise PartitionError(
                f"{self.name}: {ATTEMPTS} workers died that read it. Give them more memory, or take it out."
            )
        client.set_metadata([self._key], earlier + 1)


def _on_dask_worker() -> bool:
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return False
    try:
        distributed.get_worker()
    except ValueError:
        return False
    return True


def _add_all(total: Any, reader: Reader, number: int, prepare: Any) -> None:
    for place, (X, y) in enumerate(reader()):
        if not len(y):
            continue
        try:
            for arguments in [(X, y)] if prepare is None else prepare(X, y, (number, place)):
                total.add(*arguments)
        except (TypeError, ValueError) as error:
            raise PartitionError(f"{reader.name}: {error}") from error


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
        self.name, self._piece = name, piece

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        if not _on_dask_worker():
            yield self._piece.compute()
            return
        from distributed import worker_client

        with worker_client():
            pair = self._piece.compute()
        yield pair


class _Mapped:
    """A partition with the features of its rows."""

    def __init__(self, reader: Reader, feature_map: Any) -> None:
        self.name, self._reader, self._feature_map = reader.name, reader, feature_map

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        for X, y in self._reader():
            if len(y):
                for rows, features in FeatureBlocks(X, self._feature_map):
                    yield features, y[rows]


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
    parts = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
    return [_DaskPiece(f"chunk {number}", delayed(part)) for number, part in enumerate(parts)]


def _is_dask(source: Any) -> bool:
    return hasattr(source, "__dask_graph__") and hasattr(source, "to_delayed")
