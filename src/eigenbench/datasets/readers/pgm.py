"""Greyscale images (binary PGM) in a tar whose folders are the classes."""

import io
import re
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image, ImageFile

from eigenbench.datasets.archives import tar_members
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows, natural_key

_NEWLINE = b"\n"
_PAIR = b"\r\n"


def read_pgm_tar(path: Path, *, block: int = 1) -> RawRows:
    """Read a tar of equally sized images ``<class>/<image>.pgm``, in the natural order of their names.

    Squares of ``block`` x ``block`` pixels, which must fit, are averaged and rounded to a whole grey level.
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
    height, width = images[0].shape
    if height % block or width % block:
        problem = f"size {images[0].shape}, which blocks of {block} x {block} do not fill"
        raise MalformedData(path.name, f"member {names[0]!r}", problem)
    tiles = np.stack(images).reshape(len(images), height // block, block, width // block, block)
    return RawRows(np.rint(tiles.mean(axis=(2, 4))).astype(np.uint8).reshape(len(images), -1), labels)


def read_pgm(name: str, data: bytes) -> np.ndarray:
    """Decode one binary PGM image with at most 256 grey levels into a uint8 array (height, width), white 255.

    A copy made in text mode, which turned ``\\n`` into ``\\r\\n`` in the pixels too, is turned back.
    """
    content = data.replace(_PAIR, _NEWLINE) if data.startswith(b"P5" + _PAIR) else data
    image = _open(name, content)
    start, (width, height) = image.tile[0][2], image.size
    if len(content) == start + width * height - 1 and len(content) < len(data):
        content = _with_one_pair(data, content, start, width)
    if len(content) != start + width * height:
        problem = f"{len(content) - start} pixels, not {width} x {height}"
        raise MalformedData(name, f"byte {len(data)}", problem)
    return np.asarray(_open(name, content))


def _open(name: str, content: bytes) -> ImageFile.ImageFile:
    """Return the image, of which only the header has been read."""
    if not content.startswith(b"P5"):
        raise MalformedData(name, "byte 0", f"{content[:16]!r} doesn't start a binary PGM image")
    try:
        image = Image.open(io.BytesIO(content), formats=("PPM",))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        problem = f"Pillow can't read {content[:30]!r} ({type(error).__name__})"
        raise MalformedData(name, "header", problem) from error
    if image.mode != "L" or 0 in image.size:
        problem = f"size {image.size[0]} x {image.size[1]}, Pillow's mode {image.mode!r} instead of 'L'"
        raise MalformedData(name, "header", problem)
    return image


def _with_one_pair(data: bytes, content: bytes, start: int, width: int) -> bytes:
    """Put one ``\\r`` back that was before a ``\\n`` already in the original, where text mode leaves it.

    Of the possible images that with the least sum of differences between vertical neighbours is taken.
    ``content`` is ``data`` with ``\\n`` for ``\\r\\n``, and begins with the first pixel at ``start``.
    """
    pixels = np.frombuffer(content, dtype=np.uint8, offset=start).astype(np.int64)

    def roughness(place: int) -> int:
        image = np.insert(pixels, place - start, _PAIR[0]).reshape(-1, width)
        return int(np.abs(np.diff(image, axis=0)).sum())

    places = [pair.start() - number for number, pair in enumerate(re.finditer(_PAIR, data))]
    place = min((place for place in places if place >= start), key=roughness, default=None)
    return content if place is None else content[:place] + _PAIR[:1] + content[place:]
