"""Sparse matrices in three ``.npy`` files each, written row block by row block and memory-mapped."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
from scipy.sparse import csr_array

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.storage import storage_errors

PIECES = ("data", "indices", "indptr")

_MOST_STORED = np.iinfo(np.int32).max


class CSRWriter:
    """Writes a CSR matrix of float32 values and int32 indices whose rows come in blocks.

    The files are ``<name>_data.npy``, ``<name>_indices.npy`` and ``<name>_indptr.npy``. They are complete
    once the context is left; one that was interrupted holds fewer rows than it should, so write into a
    folder that gets its name when all is done.

    Parameters
    ----------
    folder : Path
        An existing folder.
    name : str
        Prefix of the files.
    n_columns : int
        Number of columns.

    Attributes
    ----------
    n_rows, n_stored : int
        Rows and stored values so far.

    Notes
    -----
    Only the row pointers stay in memory, 4 bytes a row. Both index arrays are int32, because scipy would
    copy the one to the type of the other; that allows 2³¹ - 1 stored values.
    """

    def __init__(self, folder: Path, name: str, n_columns: int) -> None:
        self.n_columns = n_columns
        self.n_rows = self.n_stored = 0
        self._folder, self._name = folder, name
        self._pointers = [np.zeros(1, dtype=np.int32)]
        self._files = ExitStack()

    def __enter__(self) -> CSRWriter:
        with storage_errors(self._folder):
            self._data, self._indices = (
                self._files.enter_context(_GrowingArray(self._folder / f"{self._name}_{piece}.npy", dtype))
                for piece, dtype in (("data", np.float32), ("indices", np.int32))
            )
        return self

    def append(self, block: csr_array) -> None:
        """Add rows below those written so far.

        Raises
        ------
        ValueError
            If the block has another number of columns, or the stored values become too many.
        """
        if block.shape[1] != self.n_columns:
            raise ValueError(f"{self._name}: {block.shape[1]} columns after blocks of {self.n_columns}")
        if self.n_stored + block.nnz > _MOST_STORED:
            raise ValueError(f"{self._name}: more than {_MOST_STORED} stored values; make it smaller")
        with storage_errors(self._folder):
            self._data.append(block.data)
            self._indices.append(block.indices)
        self._pointers.append((block.indptr[1:] + self.n_stored).astype(np.int32))
        self.n_stored += block.nnz
        self.n_rows += block.shape[0]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with storage_errors(self._folder), self._files:
            if kind is None:
                np.save(self._folder / f"{self._name}_indptr.npy", np.concatenate(self._pointers))


class _GrowingArray:
    """A one-dimensional ``.npy`` file that is appended to; its header is written again at the end."""

    def __init__(self, path: Path, dtype: type) -> None:
        self._path, self._dtype, self._size = path, np.dtype(dtype), 0

    def __enter__(self) -> _GrowingArray:
        self._stream: BinaryIO = self._path.open("wb")
        self._write_header()
        return self

    def append(self, values: np.ndarray) -> None:
        self._stream.write(np.ascontiguousarray(values, dtype=self._dtype).data)
        self._size += len(values)

    def __exit__(self, *_: object) -> None:
        with self._stream:
            self._stream.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        """Write a header of the same length whatever the size: numpy leaves room for its digits."""
        described = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._size,)}
        np.lib.format.write_array_header_1_0(self._stream, described)


def open_csr(folder: Path, name: str, n_columns: int) -> csr_array:
    """Return a matrix that `CSRWriter` wrote, memory-mapped: nothing but the header of each file is read.

    Parameters
    ----------
    folder : Path
        Where the files are.
    name : str
        Prefix of the files.
    n_columns : int
        Number of columns.

    Returns
    -------
    csr_array of shape (n_rows, n_columns)
        float32, with int32 indices.

    Raises
    ------
    MalformedData
        If a file is missing or truncated, or the files don't belong together.
    """
    parts = {}
    for piece in PIECES:
        path = folder / f"{name}_{piece}.npy"
        try:
            parts[piece] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise MalformedData(path, "header", str(error), _REMEDY) from error
    ends = int(parts["indptr"][-1]) if parts["indptr"].size else -1
    if not ends == len(parts["data"]) == len(parts["indices"]):
        sizes = f"{len(parts['data'])} values and {len(parts['indices'])} indices, row pointers end at {ends}"
        raise MalformedData(folder / f"{name}_indptr.npy", "sizes", sizes, _REMEDY)
    shape = (len(parts["indptr"]) - 1, n_columns)
    return csr_array(tuple(parts[piece] for piece in PIECES), shape=shape, copy=False)


_REMEDY = "delete the folder and make the data again"
