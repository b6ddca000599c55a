"""The ``decode`` steps of the catalogue: from the bytes a source gives to the bytes of the raw file."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from eigenbench.datasets.adult import adult_to_a9a
from eigenbench.datasets.archives import compression_errors, pack_tar, tar_members
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.storage import CHUNK, HashingWriter

_Step = Callable[[str, BinaryIO, int], BinaryIO]
"""Takes the name for error messages, the step's input and the most bytes to hold; gives its output."""


def decode(path: Path, steps: Sequence[str], sink: HashingWriter, limit: int) -> None:
    """Copy a file through decoding steps into a sink.

    Parameters
    ----------
    path : Path
        The file as its source gave it.
    steps : sequence of str
        Names of steps, applied in order.
    sink : HashingWriter
        Where the result goes; it bounds the size of the result.
    limit : int
        Most bytes that a step which must hold its whole input in memory reads.

    Raises
    ------
    MalformedData
        The input is truncated, not in the format of a step, or too large.
    """
    with compression_errors(path.name), path.open("rb") as source:
        stream: BinaryIO = source
        for step in steps:
            stream = _STEPS[step](path.name, stream, limit)
        while chunk := stream.read(CHUNK):
            sink.write(chunk)


def _whole(transform: Callable[[bytes], bytes]) -> _Step:
    """Make a step of a function that needs its whole input."""

    def step(name: str, stream: BinaryIO, limit: int) -> BinaryIO:
        data = stream.read(limit + 1)
        if len(data) > limit:
            raise MalformedData(name, f"byte {limit}", f"more data than the {limit} bytes allowed")
        return io.BytesIO(transform(data))

    return step


def _decompressor(opened: Callable[[BinaryIO], object]) -> _Step:
    return lambda _name, stream, _limit: cast(BinaryIO, opened(stream))


def _drop_first_line(name: str, stream: BinaryIO, limit: int) -> BinaryIO:
    if not stream.readline(limit).endswith(b"\n"):
        raise MalformedData(name, "line 1", "no header line")
    return stream


def _label_last(data: bytes) -> bytes:
    lines = (line.partition(b",") for line in data.splitlines())
    return b"".join(rest + comma + label + b"\n" for label, comma, rest in lines)


def _sort_lines(data: bytes) -> bytes:
    return b"".join(line + b"\n" for line in sorted(data.splitlines()))


def _pack_tar(name: str, stream: BinaryIO, limit: int) -> BinaryIO:
    return io.BytesIO(pack_tar(tar_members(name, stream, limit)))


_STEPS: dict[str, _Step] = {
    "gzip": _decompressor(gzip.open),
    "bzip2": _decompressor(bz2.open),
    "xz": _decompressor(lzma.open),
    "drop_first_line": _drop_first_line,
    "label_last": _whole(_label_last),
    "sort_lines": _whole(_sort_lines),
    "adult_to_a9a": _whole(adult_to_a9a),
    "pack_tar": _pack_tar,
}
