"""Arrays that Python 2 pickled in the text protocol, read without `pickle`.

The bytes of such a file are a small program. This module understands only the dozen instructions that
build a dict of plain numpy arrays; it looks up no name and calls nothing, so no file can make it run code.
"""

import bz2
import codecs
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from scipy.sparse import vstack

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows, indicator
from eigenbench.datasets.readers.expansion import read_expanded

_MARK = object()
_GLOBALS = frozenset({b"numpy.core.multiarray _reconstruct", b"numpy ndarray", b"numpy dtype"})
_DTYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "b1"})

_BYTES_PER_VALUE = 40
"""A number of 8 bytes, each written as up to 4 characters, and something beside them."""

_SLACK_BYTES = 1 << 20

_COMPLAINTS = (
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    MemoryError,
)
"""What instructions with wrong operands raise."""


@dataclass
class _Global:
    name: bytes


@dataclass
class _DType:
    code: str
    order: str = "<"


@dataclass
class _Array:
    value: np.ndarray | None = None


def read_pickled_arrays(*paths: Path, n_values: int) -> Rows:
    """Read bzip2-compressed pickles of ``{'X': array, 'y': array}``, as old scikit-multilearn ships them.

    Parameters
    ----------
    *paths : Path
        The files, whose rows follow each other.
    n_values : int
        Rows times features and labels that there should be; a file that expands to much more is refused.

    Returns
    -------
    Rows
        float32 features (dense) and a uint8 CSR indicator.

    Raises
    ------
    MalformedData
        Truncated or damaged content, any other object in the pickle, or arrays that don't fit together.
    """
    parts = [_read_part(path, n_values) for path in paths]
    for path, part in zip(paths[1:], parts[1:], strict=True):
        widths = [(one.features.shape[1], one.labels.shape[1]) for one in (part, parts[0])]
        if widths[0] != widths[1]:
            raise MalformedData(path.name, "content", f"{widths[0]} features and labels, others {widths[1]}")
    labels = vstack([part.labels for part in parts], format="csr")
    return Rows(np.concatenate([part.features for part in parts]), labels)


def _read_part(path: Path, n_values: int) -> Rows:
    content = read_arrays(path, n_values * _BYTES_PER_VALUE + _SLACK_BYTES)
    if set(content) != {"X", "y"}:
        raise MalformedData(path.name, "content", f"keys {sorted(content)}, expected X and y")
    features, labels = content["X"], content["y"]
    if features.ndim != 2 or labels.ndim != 2 or len(features) != len(labels) or len(features) == 0:
        raise MalformedData(
            path.name, "content", f"shapes {features.shape} and {labels.shape} don't fit together"
        )
    with np.errstate(over="ignore"):
        return Rows(features.astype(np.float32), indicator(path, labels))


def read_arrays(path: Path, limit: int) -> dict[str, np.ndarray]:
    """Return the dict of arrays of a bzip2-compressed protocol-0 pickle of at most ``limit`` bytes."""
    stream = io.BytesIO(read_expanded(path, bz2.open, limit))
    machine = _Machine()
    try:
        content = machine.run(stream)
    except _COMPLAINTS as error:
        raise MalformedData(path.name, f"instruction {machine.count}", _describe(error)) from error
    arrays = {key: item.value for key, item in content.items() if isinstance(item, _Array)}
    if len(arrays) != len(content) or any(array is None for array in arrays.values()):
        raise MalformedData(path.name, "content", "not a dict of arrays")
    return {key.decode("latin-1"): array for key, array in arrays.items() if array is not None}


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]


class _Machine:
    """Interpreter of the instructions; wrong operands end in ValueError, TypeError or LookupError."""

    def __init__(self) -> None:
        self.count = 0
        self._stack: list[Any] = []
        self._memo: dict[bytes, Any] = {}
        self._instructions: dict[bytes, Callable[[BinaryIO], None]] = {
            b"(": lambda _: self._stack.append(_MARK),
            b"d": lambda _: self._stack.append(self._to_dict(self._since_mark())),
            b"t": lambda _: self._stack.append(tuple(self._since_mark())),
            b"N": lambda _: self._stack.append(None),
            b"I": lambda stream: self._stack.append(int(_line(stream))),
            b"S": lambda stream: self._stack.append(_unquote(_line(stream))),
            b"c": self._global,
            b"p": self._put,
            b"g": lambda stream: self._stack.append(self._memo[_line(stream)]),
            b"R": self._reduce,
            b"b": self._build,
            b"s": self._set_item,
        }

    def run(self, stream: BinaryIO) -> dict[bytes, Any]:
        while (code := stream.read(1)) != b".":
            self.count += 1
            if code not in self._instructions:
                raise ValueError(
                    f"instruction {code!r} is not allowed" if code else "the file ends too early"
                )
            self._instructions[code](stream)
        (content,) = self._stack
        if not isinstance(content, dict):
            raise ValueError("not a dict")
        return content

    def _since_mark(self) -> list[Any]:
        start = max(i for i, item in enumerate(self._stack) if item is _MARK)
        items = self._stack[start + 1 :]
        del self._stack[start:]
        return items

    @staticmethod
    def _to_dict(items: list[Any]) -> dict[Any, Any]:
        return dict(zip(items[::2], items[1::2], strict=True))

    def _global(self, stream: BinaryIO) -> None:
        name = _line(stream) + b" " + _line(stream)
        if name not in _GLOBALS:
            raise ValueError(f"the name {name[:60]!r} is not allowed")
        self._stack.append(_Global(name))

    def _put(self, stream: BinaryIO) -> None:
        self._memo[_line(stream)] = self._stack[-1]

    def _reduce(self, _: BinaryIO) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if not isinstance(function, _Global) or not isinstance(arguments, tuple):
            raise TypeError("a call of something else than numpy's constructors")
        if function.name == b"numpy dtype":
            code = arguments[0].decode("ascii")
            if code not in _DTYPES:
                raise ValueError(f"element type {code!r} is not allowed")
            self._stack.append(_DType(code))
        elif function.name == b"numpy.core.multiarray _reconstruct":
            self._stack.append(_Array())
        else:
            raise TypeError("ndarray is not called directly")

    def _build(self, _: BinaryIO) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, _DType):
            order = state[1].decode("ascii")
            if order not in ("<", ">", "|"):
                raise ValueError(f"byte order {order!r}")
            target.order = order
        elif isinstance(target, _Array):
            _, shape, dtype, fortran, data = state
            if not isinstance(dtype, _DType) or not isinstance(data, bytes):
                raise TypeError("array state")
            flat = np.frombuffer(data, dtype=np.dtype(dtype.order + dtype.code))
            if any(size < 0 for size in shape):
                raise ValueError(f"shape {shape}")
            target.value = flat.reshape(shape, order="F" if fortran else "C")
        else:
            raise TypeError("state for something else than an array")

    def _set_item(self, _: BinaryIO) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        if not isinstance(self._stack[-1], dict) or not isinstance(key, bytes):
            raise TypeError("an item outside the dict")
        self._stack[-1][key] = value


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the file ends inside a line")
    return line[:-1]


def _unquote(literal: bytes) -> bytes:
    if len(literal) < 2 or literal[:1] not in (b"'", b'"') or literal[-1:] != literal[:1]:
        raise ValueError("a string without quotes")
    return codecs.escape_decode(literal[1:-1])[0]
