"""Greyscale images (binary PGM) in a tar whose folders are the classes."""

import re
from pathlib import Path, PurePosixPath

import numpy as np

from eigenbench.datasets.archives import tar_members
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.base import Rows

_GAP = rb"(?:\s|#[^\n]*\n)+"
_HEADER = re.compile(rb"P5" + _GAP + rb"(\d{1,6})" + _GAP + rb"(\d{1,6})" + _GAP + rb"(\d{1,5})\s")


def read_pgm_tar(path: Path) -> Rows:
    """Read a tar of equally sized images.

    Parameters
    ----------
    path : Path
        Tar with members ``<class>/<image>.pgm``.

    Returns
    -------
    Rows
        uint8 features, one image per row in row-major order, rows in the natural order of the member names;
        labels are the names of the folders.

    Raises
    ------
    MalformedData
        A damaged tar or image, or images of different sizes, with the member's name.
    """
    with path.open("rb") as stream:
        members = dict(tar_members(path.name, stream, limit=path.stat().st_size))
    names = sorted(members, key=natural_key)
    images = [read_pgm(f"{path.name}:{name}", members[name]) for name in names]
    if not images:
        raise MalformedData(path.name, "tar", "no images")
    for name, image in zip(names, images, strict=True):
        if image.shape != images[0].shape:
            raise MalformedData(
                path.name, f"member {name!r}", f"size {image.shape}, others {images[0].shape}"
            )
    labels = np.array([PurePosixPath(name).parent.name for name in names], dtype=np.str_)
    return Rows(np.stack(images).reshape(len(images), -1), labels)


def read_pgm(name: str, data: bytes) -> np.ndarray:
    """Decode one binary PGM image with at most 256 grey levels into a uint8 array (height, width).

    A copy made in text mode, which turned ``\\n`` into ``\\r\\n`` in the pixels too, is turned back.
    """
    match = _HEADER.match(data)
    if match is None:
        raise MalformedData(name, "byte 0", f"{data[:16]!r} doesn't start a binary PGM image")
    width, height, largest = (int(group) for group in match.groups())
    if not 0 < largest < 256 or width == 0 or height == 0:
        raise MalformedData(name, "header", f"size {width} x {height} with largest value {largest}")
    pixels = data[match.end() :]
    if data.startswith(b"P5\r\n"):
        pixels = _undo_text_mode(pixels.removeprefix(b"\n"), width, height)
    if len(pixels) != width * height:
        raise MalformedData(name, f"byte {len(data)}", f"{len(pixels)} pixels, not {width} x {height}")
    return np.frombuffer(pixels, dtype=np.uint8).reshape(height, width)


def _undo_text_mode(pixels: bytes, width: int, height: int) -> bytes:
    """Turn ``\\r\\n`` back into ``\\n``.

    The conversion leaves an ``\\r\\n`` that was there before as it is. A result one pixel short shows that
    there was one such pair; of the possible images the smoothest is taken.
    """
    pieces = pixels.split(b"\r\n")
    restored = b"\n".join(pieces)
    if len(restored) != width * height - 1 or len(pieces) == 1:
        return restored
    candidates = [b"\n".join(pieces[:i]) + b"\r\n" + b"\n".join(pieces[i:]) for i in range(1, len(pieces))]
    images = np.frombuffer(b"".join(candidates), dtype=np.uint8).reshape(-1, height, width)
    roughness = np.abs(np.diff(images.astype(np.int32), axis=1)).sum(axis=(1, 2))
    return candidates[int(np.argmin(roughness))]


def natural_key(name: str) -> list[tuple[bool, int, str]]:
    """Sort key by which ``s2`` comes before ``s10``."""
    parts = re.split(r"(\d+)", name)
    return [
        (part.isascii() and part.isdigit(), int(part) if part.isascii() and part.isdigit() else 0, part)
        for part in parts
    ]
