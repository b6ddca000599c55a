"""The ``decode`` steps of the catalogue: from the bytes a source gives to the bytes of the raw file."""

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from eigenbench.datasets.archives import damage_errors, pack_tar, tar_members
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.storage import CHUNK, HashingWriter

_Step = Callable[[str, BinaryIO, int], BinaryIO]
"""Takes the name for error messages, the step's input and the most bytes to hold; gives its output."""


def decode(path: Path, steps: Sequence[str], sink: HashingWriter, limit: int) -> None:
    """Copy a file, as its source gave it, through decoding steps into a sink, which bounds the result.

    A step that must hold its whole input in memory reads at most ``limit`` bytes.
    """
    with damage_errors(path.name, "compressed stream"), path.open("rb") as source:
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


_N_COLUMNS = 15
_MISSING = "?"
_TARGETS = {">50K": "+1", "<=50K": "-1"}


def adult_to_a9a(data: bytes) -> bytes:
    """Turn ``adult.data`` or ``adult.test`` into the svmlight text of ``a9a`` or ``a9a.t``.

    Six numeric columns are binned (a value belongs to the first bin whose upper edge it doesn't exceed),
    eight categorical ones are coded one-hot, a missing value sets no feature: 123 binary features in all. Bin
    edges and order of codes were found by aligning the two published data sets row by row. Lines without 15
    columns are left out, and lines end in the blank that the published files have.
    """
    lines = []
    for number, line in enumerate(data.decode("latin-1").splitlines(), start=1):
        fields = [field.strip() for field in line.rstrip().rstrip(".").split(",")]
        if len(fields) != _N_COLUMNS:
            continue
        try:
            lines.append(_encode(fields))
        except (KeyError, ValueError) as error:
            raise MalformedData("adult", f"line {number}", f"unknown value ({error})") from None
    return "".join(lines).encode("ascii")


@cache
def _adult_columns() -> list[dict[str, Any]]:
    """Return the coding of each column: its first feature, and its values or the upper edges of its bins."""
    path = Path(__file__).parent / "recipes" / "adult_to_a9a.json"
    columns: list[dict[str, Any]] = json.loads(path.read_bytes())
    return columns


def _encode(fields: Sequence[str]) -> str:
    features = []
    for value, column in zip(fields[:-1], _adult_columns(), strict=True):
        if "upper_edges" in column:
            features.append(column["first"] + sum(float(value) > edge for edge in column["upper_edges"]))
        elif value != _MISSING:
            features.append(column["first"] + column["values"].index(value))
    return _TARGETS[fields[-1]] + " " + "".join(f"{feature}:1 " for feature in features) + "\n"


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
