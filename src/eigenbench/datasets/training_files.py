"""Training rows in partitions, as float32 and class codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenbench.datasets.partition_records import TrainingFiles
from eigenbench.methods.linalg.partition_files import ArrayFile, ParquetFile, PartitionError, readers_of
from eigenbench.methods.linalg.partitions import Partitions


def partitions_of(training: TrainingFiles) -> Partitions:
    """Return the rows as float32, and the codes of their labels.

    Raises
    ------
    PartitionError
        If the first partition can't be read.
    """
    readers = readers_of([record.name for record in training.files], training.target)
    return Partitions([CodedFile(reader, training.labels) for reader in readers])


@dataclass(frozen=True)
class CodedFile:
    """A file of labelled rows, as float32 and class codes."""

    reader: ParquetFile | ArrayFile
    labels: tuple[int, ...] | tuple[str, ...]

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.reader.name

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and codes, block by block."""
        known = np.array(self.labels)
        order = np.argsort(known)
        for X, y in labelled_blocks(self.reader):
            place = np.minimum(np.searchsorted(known[order], y), len(known) - 1)
            codes = order[place]
            if (new := np.flatnonzero(known[codes] != y)).size:
                raise PartitionError(
                    f"{self.name}: label {y[new[0]]!r} was not there when the data were prepared."
                )
            yield X, codes


def labelled_blocks(reader: ParquetFile | ArrayFile) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield finite float32 rows, and labels as int64 or texts.

    Raises
    ------
    PartitionError
        Naming the file: a value that is not finite, or too large for float32, a label that is a fraction.
    """
    for X, y in reader():
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X, dtype=np.float32)
        if not np.isfinite(rows).all():
            raise PartitionError(
                f"{reader.name}: a value is NaN, infinite or too large for float32."
                " Replace it, or drop its row."
            )
        yield rows, _plain_labels(reader.name, y)


def _plain_labels(name: str, y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.round(y)) & (np.abs(y) < 2**53)
        if not whole.all():
            raise PartitionError(f"{name}: label {y[~whole][0]} is not a whole number.")
    if y.dtype.kind in "fiub":
        return y.astype(np.int64)
    return y.astype(str)
