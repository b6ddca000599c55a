"""Parquet and .npy files of a folder, each of which is a partition of labelled rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from eigenbench.methods.linalg.row_blocks import BLOCK_BYTES, row_slices

#: Types of columns that become rows, by Arrow's names.
_NUMBERS = {"float", "double", "halffloat", "bool"}
_NUMBERS |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}


class PartitionError(ValueError):
    """A partition is missing, damaged, or of another kind than the first."""


@dataclass(frozen=True)
class ParquetFile:
    """Rows and labels of a Parquet file whose columns have to be these."""

    name: str
    target: str
    columns: tuple[tuple[str, str], ...]

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and labels, block by block."""
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile as Opened

        with _opened(self.name) as stream:
            try:
                opened = Opened(stream)
                found = _arrow_columns(opened.schema_arrow)
                self._check(found)
                width = max(1, len(found) - 1)
                for batch in opened.iter_batches(max(1, BLOCK_BYTES // (8 * width))):
                    yield self._split(batch)
            except (ArrowException, OSError) as error:
                if isinstance(error, FileNotFoundError):
                    raise
                raise PartitionError(f"{self.name} cannot be read as Parquet: {error}") from error

    def _check(self, found: tuple[tuple[str, str], ...]) -> None:
        expected, here = dict(self.columns), dict(found)
        missing = [name for name in expected if name not in here]
        new = [name for name in here if name not in expected]
        if missing or new:
            raise PartitionError(
                f"{self.name} has other columns than the first file: {missing} are missing, {new} are new."
                " Write it again with the same columns, or take it out of the folder."
            )
        for name, kind in expected.items():
            if here[name] != kind:
                raise PartitionError(
                    f"{self.name}: column {name!r} has type {here[name]}, and {kind} in the first file."
                    " Write it again with that type."
                )

    def _split(self, batch: Any) -> tuple[np.ndarray, np.ndarray]:
        labels = batch.column(self.target)
        names = [name for name, _ in self.columns if name != self.target]
        holes = [name for name in [self.target, *names] if batch.column(name).null_count]
        if holes:
            raise PartitionError(f"{self.name}: column {holes[0]!r} has empty places: fill or drop them.")
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in names]
        rows = np.empty((batch.num_rows, len(names)), dtype=np.result_type(np.uint8, *columns))
        for place, column in enumerate(columns):
            rows[:, place] = column
        return rows, np.asarray(labels.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class ArrayFile:
    """Rows and labels of a .npy file that has to have this type and so many columns."""

    name: str
    target: int
    dtype: str
    width: int

    def __call__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows and labels, block by block."""
        array = _read_array(self.name)
        if array.ndim != 2 or array.shape[1] != self.width:
            raise PartitionError(
                f"{self.name} holds an array of shape {array.shape}, and the first file {self.width} columns."
                " Write it again with as many, or take it out of the folder."
            )
        if array.dtype != self.dtype:
            raise PartitionError(
                f"{self.name} holds {array.dtype}, and the first file {self.dtype}."
                " Write it again with that type."
            )
        for here in row_slices(len(array), self.width * array.itemsize):
            block = array[here]
            yield np.delete(block, self.target, axis=1), np.array(block[:, self.target])


def file_readers(folder: str | os.PathLike[str], target: Any) -> Sequence[ParquetFile | ArrayFile]:
    """Return readers of a folder's files by name, as `readers_of`; a `PartitionError` if there are none."""
    files = _listed(str(os.fspath(folder)))
    if not files:
        raise PartitionError(f"{folder}: Parquet files or .npy files were expected, and none found.")
    return readers_of(files, target)


def readers_of(files: Sequence[str], target: Any) -> Sequence[ParquetFile | ArrayFile]:
    """Return readers of Parquet or .npy files, at least one, which have to be as the first one.

    Raises `PartitionError` if they are of both kinds, or of another, or if the first has no such target.
    """
    kinds = {PurePosixPath(name).suffix for name in files}
    if kinds == {".parquet"}:
        columns = _first_columns(files[0])
        if target not in dict(columns):
            raise PartitionError(
                f"{files[0]}: target={target!r} is not a column: it has {[name for name, _ in columns]}."
            )
        bad = [f"{name} ({kind})" for name, kind in columns if name != target and kind not in _NUMBERS]
        if bad:
            raise PartitionError(f"{files[0]}: columns {bad} hold no numbers. Encode or drop them.")
        return [ParquetFile(name, target, columns) for name in files]
    if kinds == {".npy"}:
        first = _read_array(files[0])
        if first.ndim != 2 or first.shape[1] < 2:
            raise PartitionError(
                f"{files[0]} holds an array of shape {first.shape}: rows with a column of labels were"
                " expected."
            )
        place = -1 if target is None else target
        if not (isinstance(place, int) and -first.shape[1] <= place < first.shape[1]):
            raise PartitionError(
                f"{files[0]}: target={target!r} is not the number of one of {first.shape[1]} columns."
            )
        return [ArrayFile(name, place, str(first.dtype), first.shape[1]) for name in files]
    raise PartitionError(
        f"{files[0]}, {files[-1]}: Parquet or .npy files, one kind, were expected, and {sorted(kinds)} found."
    )


def _arrow_columns(schema: Any) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, str(field.type)) for field in schema)


def _first_columns(name: str) -> tuple[tuple[str, str], ...]:
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    with _opened(name) as stream:
        try:
            return _arrow_columns(read_schema(stream))
        except ArrowException as error:
            raise PartitionError(f"{name} cannot be read as Parquet: {error}") from error


def _read_array(name: str) -> np.ndarray:
    try:
        if "://" not in name:
            array = np.load(_existing(name), mmap_mode="r", allow_pickle=False)
        else:
            with _opened(name) as stream:
                array = np.load(stream, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise PartitionError(f"{name} cannot be read as .npy: {error}") from error
    return np.asarray(array)


def _existing(name: str) -> Path:
    if not Path(name).exists():
        raise _missing(name)
    return Path(name)


def _missing(name: str) -> FileNotFoundError:
    return FileNotFoundError(
        f"partition {name} is missing: it was there when the folder was listed. Put it back or begin again."
    )


def _opened(name: str) -> Any:
    if "://" not in name:
        return _existing(name).open("rb")
    try:
        return filesystem_of(name)[0].open(name, "rb")
    except FileNotFoundError as error:
        raise _missing(name) from error


def _listed(folder: str) -> list[str]:
    """Return the Parquet and .npy files of a folder, by name."""
    if "://" not in folder:
        if not Path(folder).is_dir():
            raise PartitionError(f"{folder} is not a folder.")
        files = [str(path) for path in Path(folder).iterdir()]
    else:
        filesystem, path = filesystem_of(folder)
        if not filesystem.isdir(path):
            raise PartitionError(f"{folder} is not a folder.")
        files = [filesystem.unstrip_protocol(name) for name in filesystem.ls(path, detail=False)]
    return sorted(name for name in files if name.endswith((".parquet", ".npy")))


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{url} needs fsspec to be read: pip install 'eigenbench[dask]', or fsspec alone."
        ) from error
    return url_to_fs(url)
