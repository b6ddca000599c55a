"""Arrays that Python 2 pickled, read without `pickle`.

The bytes of such a file are a small program. This module understands only the instructions of protocols 0 to
2 that build dicts, lists and tuples of plain numpy arrays; it looks up no name and calls nothing, so no file
can make it run code.
"""

import codecs
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from eigenbench.datasets.errors import MalformedData

_MARK = object()
_GLOBALS = frozenset({b"numpy.core.multiarray _reconstruct", b"numpy ndarray", b"numpy dtype"})
_DTYPES = frozenset({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "b1"})

_COMPLAINTS = (
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    StopIteration,
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
class PickledArray:
    """An array; its value is None until its state was read."""

    value: np.ndarray | None = None


def run_pickle(path: Path, content: bytes) -> dict[bytes, Any]:
    """Return the dict that a pickle makes, with each array a `PickledArray`; raise `MalformedData`."""
    machine = _Machine()
    try:
        return machine.run(io.BytesIO(content))
    except _COMPLAINTS as error:
        problem = f"{type(error).__name__}: {error}"[:200]
        raise MalformedData(path.name, f"instruction {machine.count}", problem) from error


class _Machine:
    """Interpreter of the instructions; wrong operands end in ValueError, TypeError or LookupError."""

    def __init__(self) -> None:
        self.count = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._instructions: dict[bytes, Callable[[BinaryIO], None]] = {
            b"(": lambda _: self._stack.append(_MARK),
            b"d": lambda _: self._stack.append(self._to_dict(self._since_mark())),
            b"t": lambda _: self._stack.append(tuple(self._since_mark())),
            b"N": lambda _: self._stack.append(None),
            b"I": lambda stream: self._stack.append(int(_line(stream))),
            b"S": lambda stream: self._stack.append(_unquote(_line(stream))),
            b"c": self._global,
            b"p": lambda stream: self._put(int(_line(stream))),
            b"g": lambda stream: self._stack.append(self._memo[int(_line(stream))]),
            b"R": self._reduce,
            b"b": self._build,
            b"s": self._set_item,
            b"\x80": lambda stream: self._check_protocol(_number(stream, 1)),
            b"}": lambda _: self._stack.append({}),
            b"]": lambda _: self._stack.append([]),
            b"q": lambda stream: self._put(_number(stream, 1)),
            b"r": lambda stream: self._put(_number(stream, 4)),
            b"h": lambda stream: self._stack.append(self._memo[_number(stream, 1)]),
            b"j": lambda stream: self._stack.append(self._memo[_number(stream, 4)]),
            b"K": lambda stream: self._stack.append(_number(stream, 1)),
            b"M": lambda stream: self._stack.append(_number(stream, 2)),
            b"J": lambda stream: self._stack.append(_number(stream, 4, signed=True)),
            b"U": lambda stream: self._stack.append(_exactly(stream, _number(stream, 1))),
            b"T": lambda stream: self._stack.append(_exactly(stream, _number(stream, 4))),
            b"\x85": lambda _: self._pack(1),
            b"\x86": lambda _: self._pack(2),
            b"\x87": lambda _: self._pack(3),
            b"\x89": lambda _: self._stack.append(False),
            b"e": self._append_all,
            b"u": self._set_items,
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
        start = next(i for i in reversed(range(len(self._stack))) if self._stack[i] is _MARK)
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

    def _put(self, place: int) -> None:
        self._memo[place] = self._stack[-1]

    @staticmethod
    def _check_protocol(protocol: int) -> None:
        if protocol != 2:
            raise ValueError(f"protocol {protocol} is not allowed")

    def _pack(self, size: int) -> None:
        if len(self._stack) < size:
            raise ValueError("a tuple of more than there is")
        self._stack[-size:] = [tuple(self._stack[-size:])]

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
            self._stack.append(PickledArray())
        else:
            raise TypeError("ndarray is not called directly")

    def _build(self, _: BinaryIO) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if isinstance(target, _DType):
            order = state[1].decode("ascii")
            if order not in ("<", ">", "|"):
                raise ValueError(f"byte order {order!r}")
            target.order = order
        elif isinstance(target, PickledArray):
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
        self._update({key: value})

    def _set_items(self, _: BinaryIO) -> None:
        self._update(self._to_dict(self._since_mark()))

    def _update(self, items: dict[Any, Any]) -> None:
        if not isinstance(self._stack[-1], dict) or not all(isinstance(key, bytes) for key in items):
            raise TypeError("an item outside the dict")
        self._stack[-1].update(items)

    def _append_all(self, _: BinaryIO) -> None:
        items = self._since_mark()
        if not isinstance(self._stack[-1], list):
            raise TypeError("items outside a list")
        self._stack[-1] += items


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the file ends inside a line")
    return line[:-1]


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("the file ends inside an operand")
    return data


def _number(stream: BinaryIO, size: int, *, signed: bool = False) -> int:
    return int.from_bytes(_exactly(stream, size), "little", signed=signed)


def _unquote(literal: bytes) -> bytes:
    if len(literal) < 2 or literal[:1] not in (b"'", b'"') or literal[-1:] != literal[:1]:
        raise ValueError("a string without quotes")
    return codecs.escape_decode(literal[1:-1])[0]
