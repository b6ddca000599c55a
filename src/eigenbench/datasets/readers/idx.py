"""The idx format of MNIST: a big-endian header (type, number of dimensions, sizes), then bytes."""

import gzip
import struct
from math import prod
from pathlib import Path

import numpy as np

from eigenbench.datasets.archives import damage_errors
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.readers.raw_rows import RawRows


def read_idx(images: Path, labels: Path) -> RawRows:
    """Read uncompressed idx files of unsigned bytes: images of 2 or more dimensions, and their labels."""
    return _labelled(labels, read_idx_array(images), read_idx_array(labels))


def read_emnist(images: Path, labels: Path) -> RawRows:
    """Read gzip-compressed idx files of EMNIST, whose images are transposed, and turn the images upright."""
    arrays = []
    for path in (images, labels):
        with damage_errors(path.name, "compressed stream"), gzip.open(path) as stream:
            arrays.append(parse_idx(path.name, stream.read()))
    return _labelled(labels, *arrays, transposed=True)


def _labelled(path: Path, images: np.ndarray, labels: np.ndarray, *, transposed: bool = False) -> RawRows:
    if images.ndim < 2 or labels.ndim != 1 or len(images) != len(labels):
        problem = f"labels of shape {labels.shape} for images of shape {images.shape}"
        raise MalformedData(path.name, "header", problem)
    upright = np.ascontiguousarray(images.swapaxes(1, -1)) if transposed else images
    return RawRows(upright.reshape(len(images), prod(images.shape[1:])), labels.astype(np.int64))


def read_idx_array(path: Path) -> np.ndarray:
    """Read one idx file of unsigned bytes into an array of the shape its header names."""
    return parse_idx(path.name, path.read_bytes())


def parse_idx(name: str, data: bytes) -> np.ndarray:
    """Return the array of unsigned bytes that an idx file's content holds; ``name`` is for messages."""
    with damage_errors(name, "header"):  # NumPy's too, where sizes and bytes do not fit together
        if data[:3] != b"\0\0\x08" or not any(data[3:4]):
            raise ValueError(f"{data[:4]!r} doesn't start an idx file of unsigned bytes")
        shape = struct.unpack_from(f">{data[3]}I", data, 4)
        return np.frombuffer(data, dtype=np.uint8, offset=4 + 4 * data[3]).reshape(shape)
