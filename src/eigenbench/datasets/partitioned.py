"""Datasets in partitions: training rows are read once and left where they are, test rows are stored."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eigenbench.datasets.card import TRAINING_FILES, ArrayRecord, PartitionList, TrainingFiles
from eigenbench.datasets.catalogue import CatalogueEntry, Part
from eigenbench.datasets.dataset import labelled_blocks
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.formats import PartitionsFormat
from eigenbench.datasets.readers.raw_rows import natural_key
from eigenbench.datasets.storage import CHUNK, HashingWriter, atomic_writer
from eigenbench.methods.linalg.partition_files import ArrayFile, ParquetFile, PartitionError, readers_of

logger = logging.getLogger(__name__)

_REMEDY = "put the files right and run the same command again"


def prepare_partitions(
    name: str, entry: CatalogueEntry, raw: Path, folder: Path
) -> tuple[dict[str, ArrayRecord], TrainingFiles]:
    """Read all partitions once; write what a prepared folder keeps of them, and return its description.

    ``raw`` is the folder with the lists of partitions. Needs memory for one block of rows, and the labels of
    the test rows. A partition unlike the first one for training is `MalformedData`, as is one in both parts,
    and a class without a training row. Test rows may then be written already, but their dataset gets no card.
    """
    assert isinstance(entry.format, PartitionsFormat)
    lists: dict[Part, PartitionList] = {
        part: PartitionList.model_validate_json((raw / files[0]).read_bytes())
        for part, files in entry.parts.items()
    }
    names = {part: [record.name for record in listing.files] for part, listing in lists.items()}
    if both := sorted(set(names["train"]) & set(names["test"])):
        raise MalformedData(name, "partitions", f"{both[0]} is for training and for the test", _REMEDY)
    with _named(name):
        readers = readers_of([*names["train"], *names["test"]], entry.format.target)
        train, test = readers[: len(names["train"])], readers[len(names["train"]) :]
        n_train, found = _surveyed(train)
        _check_count(name, entry, "train", n_train, len(train))
        labels = _ordered(name, entry, found)
        content = TrainingFiles(files=lists["train"].files, target=entry.format.target, labels=labels)
        arrays = _write_test(name, entry, folder, test, labels)
    with atomic_writer(folder / TRAINING_FILES) as sink:
        sink.write(content.model_dump_json(indent=1).encode())
    arrays[TRAINING_FILES] = _record_of(sink, (n_train, entry.expect.features), np.float32)
    return arrays, content


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except (PartitionError, FileNotFoundError) as error:
        raise MalformedData(name, "partitions", str(error), _REMEDY) from error


def _surveyed(readers: Any) -> tuple[int, Collection[Any]]:
    """Return the number of rows, and their labels."""
    n_rows, labels = 0, set[Any]()
    for number, reader in enumerate(readers, 1):
        for X, y in labelled_blocks(reader):
            n_rows += len(X)
            labels.update(np.unique(y).tolist())
        if number % 20 == 0 or number == len(readers):
            logger.info("partition %d/%d: %d rows, %d classes", number, len(readers), n_rows, len(labels))
    return n_rows, labels


def _ordered(name: str, entry: CatalogueEntry, found: Collection[Any]) -> tuple[int, ...] | tuple[str, ...]:
    """Return the labels in the order of their codes: by value, texts with numbers in them as people count."""
    kinds = Counter(type(label) for label in found)
    if len(kinds) > 1:
        raise MalformedData(name, "labels", "some partitions have texts and others numbers", _REMEDY)
    labels = sorted(found, key=natural_key if str in kinds else None)
    if len(labels) != entry.expect.classes:
        problem = (
            f"{len(labels)} classes in the training partitions, the catalogue says {entry.expect.classes}"
        )
        raise MalformedData(name, "labels", problem, _REMEDY)
    return tuple(labels)


def _check_count(name: str, entry: CatalogueEntry, part: Part, n_rows: int, n_files: int) -> None:
    expected = entry.expect.rows[part]
    if entry.expect.exact_rows and n_rows != expected:
        problem = f"{n_rows} rows in {n_files} partitions, the catalogue says {expected}"
        raise MalformedData(name, f"{part} rows", problem, _REMEDY)


def _write_test(
    name: str, entry: CatalogueEntry, folder: Path, readers: Any, labels: tuple[Any, ...]
) -> dict[str, ArrayRecord]:
    codes_of = {label: code for code, label in enumerate(labels)}
    codes: list[np.ndarray] = []
    counts = (_n_rows(reader, entry.expect.features) for reader in readers)
    shape = (sum(counts), entry.expect.features)
    _check_count(name, entry, "test", shape[0], len(readers))
    with _array_writer(folder / "X_test.npy", np.dtype(np.float32), shape) as sink:
        for reader in readers:
            for X, y in labelled_blocks(reader):
                new = [label for label in np.unique(y).tolist() if label not in codes_of]
                if new:
                    raise PartitionError(f"{reader.name}: class {new[0]!r} has no training row.")
                sink.write(X.data)
                codes.append(np.array([codes_of[label] for label in y.tolist()], dtype=np.int64))
    return {
        "X_test.npy": _record_of(sink, shape, np.float32),
        "y_test.npy": write_array(folder / "y_test.npy", np.concatenate(codes)),
    }


def _n_rows(reader: ParquetFile | ArrayFile, n_features: int) -> int:
    n_rows = 0
    for X, _ in labelled_blocks(reader):
        if X.shape[1] != n_features:
            raise PartitionError(f"{reader.name}: {X.shape[1]} features, the catalogue says {n_features}.")
        n_rows += len(X)
    return n_rows


@contextmanager
def _array_writer(path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> Iterator[HashingWriter]:
    """Give a sink for the values of a ``.npy`` file, row by row."""
    described = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    with atomic_writer(path) as sink:
        np.lib.format.write_array_header_1_0(sink, described)
        yield sink


def write_array(path: Path, array: np.ndarray) -> ArrayRecord:
    """Write a ``.npy`` file and return its record."""
    array = np.ascontiguousarray(array)
    with _array_writer(path, array.dtype, array.shape) as sink:
        flat = array.reshape(-1).view(np.uint8)
        for start in range(0, len(flat), CHUNK):
            sink.write(flat[start : start + CHUNK].data)
    return _record_of(sink, array.shape, array.dtype)


def _record_of(sink: HashingWriter, shape: tuple[int, ...], dtype: Any) -> ArrayRecord:
    """Return the record of what was written."""
    return ArrayRecord(sha256=sink.sha256, bytes=sink.size, shape=shape, dtype=str(np.dtype(dtype)))
