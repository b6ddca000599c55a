"""Compressed files, read up to the size that they should have."""

import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.storage import CHUNK


def read_expanded(path: Path, opener: Callable[[Path, str], Any], limit: int) -> bytes:
    """Return the content of a compressed file.

    Parameters
    ----------
    path : Path
        The file.
    opener : callable
        ``gzip.open``, ``bz2.open`` or ``lzma.open``.
    limit : int
        Most bytes to expand.

    Raises
    ------
    MalformedData
        Damaged compression, or more than ``limit`` bytes.
    """
    chunks: list[bytes] = []
    size = 0
    try:
        with opener(path, "rb") as stream:
            while size <= limit and (chunk := stream.read(CHUNK)):
                chunks.append(chunk)
                size += len(chunk)
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise MalformedData(path.name, "compressed stream", str(error)) from error
    except OSError as error:  # gzip and bz2 raise it without a number when they don't understand their input
        if error.errno is not None:
            raise
        raise MalformedData(path.name, "compressed stream", str(error)) from error
    if size > limit:
        problem = f"expands to more than the {limit} bytes that its dataset can need"
        raise MalformedData(path.name, f"byte {limit}", problem)
    return b"".join(chunks)
