"""MATLAB 5 files with one matrix of examples and one of labels.

Parsed here because SciPy's parser, in C, ends the process with a segmentation fault on a damaged file.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, integer_labels

# Numbers of the MATLAB 5 format: types of stored numbers, and classes of variables.
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_MATRIX, _COMPRESSED = 14, 15
_HEADER_BYTES = 128
_COMPLEX = 0x08

#: A compressed variable may not be larger.
_LARGEST = 2**31


def read_mat(path: Path, *, features: str, labels: str, image: tuple[int, int] | None = None) -> Rows:
    """Read two numeric matrices of a file; no other variable is touched.

    Parameters
    ----------
    path : Path
        A MATLAB 5 file (not the HDF5 one of version 7.3).
    features, labels : str
        Names of the variables: one row per example, and one whole number per example.
    image : pair of int, optional
        Height and width of the images that the rows hold column by column; they are turned to row by row.

    Returns
    -------
    Rows
        float32 features and int64 labels, in the file's order.

    Raises
    ------
    MalformedData
        A damaged file, a variable that is missing or no numeric matrix, or sizes that don't fit together.
    """
    matrices = _load(path, (features, labels))
    table, codes = matrices[features], matrices[labels]
    if len(table) == 0 or codes.size != len(table):
        raise MalformedData(path.name, labels, f"{codes.size} labels for {len(table)} rows of {features}")
    if image is not None:
        if image[0] * image[1] != table.shape[1]:
            raise MalformedData(
                path.name, features, f"{table.shape[1]} pixels are not {image[0]} x {image[1]}"
            )
        table = table.reshape(-1, image[1], image[0]).transpose(0, 2, 1).reshape(len(table), -1)
    with np.errstate(over="ignore"):
        return Rows(table.astype(np.float32), integer_labels(path, codes.ravel()))


class _DamagedError(ValueError):
    """What is wrong with the bytes."""


def _load(path: Path, names: tuple[str, str]) -> dict[str, np.ndarray]:
    """Return the wanted variables; only the element types that numeric matrices are made of are read."""
    content = path.read_bytes()
    found: dict[str, np.ndarray] = {}
    try:
        order = {b"IM": "<", b"MI": ">"}.get(content[126:_HEADER_BYTES])
        if order is None:
            raise _DamagedError("no MATLAB 5 header")
        for kind, payload in _elements(memoryview(content)[_HEADER_BYTES:], order):
            if kind == _COMPRESSED:
                kind, payload = next(_elements(memoryview(_inflate(payload)), order))
            if kind != _MATRIX:
                raise _DamagedError(f"an element of type {kind} where a variable should be")
            name, parts = _variable(payload, order)
            if name in names:
                found[name] = _numbers(path, name, parts, order)
    except (_DamagedError, StopIteration, zlib.error, struct.error) as error:
        reason = str(error) or "an empty variable"
        raise MalformedData(path.name, "file", f"not readable as MATLAB 5 data: {reason}") from error
    for name in names:
        if name not in found:
            raise MalformedData(path.name, name, "no such variable")
    return found


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of the elements that stand one after the other."""
    start = 0
    while start < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, start)
        if kind >> 16:
            kind, size, begin, stop = kind & 0xFFFF, kind >> 16, start + 4, start + 8
            if size > 4:
                raise _DamagedError(f"a short element of {size} bytes")
        else:
            begin = start + 8
            stop = begin + size + (0 if kind == _COMPRESSED else -size % 8)
        if begin + size > len(data):
            raise _DamagedError(f"an element of {size} bytes where {len(data) - begin} are left")
        yield kind, data[begin : begin + size]
        start = stop


def _inflate(data: memoryview) -> bytes:
    stream = zlib.decompressobj()
    inflated = stream.decompress(data, _LARGEST)
    if not stream.eof:
        raise _DamagedError("a compressed variable that is cut off or too large")
    return inflated


def _variable(data: memoryview, order: str) -> tuple[str, list[tuple[int, memoryview]]]:
    """Return the name of a variable and its elements: flags, sizes, name, numbers."""
    parts = []
    for part in _elements(data, order):
        parts.append(part)
        if len(parts) == 4:
            break
    if len(parts) < 3:
        raise _DamagedError("a variable without a name")
    return bytes(parts[2][1]).decode("ascii", "replace"), parts


def _numbers(path: Path, name: str, parts: list[tuple[int, memoryview]], order: str) -> np.ndarray:
    flags, sizes = parts[0][1], parts[1][1]
    if len(flags) != 8 or len(sizes) != 8 or len(parts) < 4:
        raise MalformedData(path.name, name, "not a real numeric matrix")
    (bits,) = struct.unpack_from(f"{order}I", flags)
    shape = struct.unpack(f"{order}ii", sizes)
    kind, numbers = parts[3]
    if (bits & 0xFF) not in _CLASSES or (bits >> 8) & _COMPLEX or kind not in _STORED or min(shape) < 0:
        raise MalformedData(path.name, name, "not a real numeric matrix")
    stored = np.dtype(order + _STORED[kind])
    if len(numbers) != shape[0] * shape[1] * stored.itemsize:
        raise MalformedData(path.name, name, f"{len(numbers)} bytes for shape {shape} of {stored}")
    values = np.frombuffer(numbers, stored).reshape(shape, order="F")
    return values.astype(_CLASSES[bits & 0xFF])
