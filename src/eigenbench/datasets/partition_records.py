"""Records of the partitions of a dataset, with their sums; nothing here reads rows."""

import hashlib
from pathlib import Path
from typing import Any

from eigenbench.datasets.file_sums import FileSums, stamp_of
from eigenbench.datasets.storage import CHUNK, sha256_of
from eigenbench.datasets.strict_model import Sha256, StrictModel

#: The file of a prepared folder that stands for the training rows.
TRAINING_FILES = "X_train.json"


class PartitionRecord(StrictModel):
    """A partition: its path or URL, and the SHA-256 of its bytes."""

    name: str
    sha256: Sha256


class PartitionList(StrictModel):
    """The partitions of one part of a dataset, in the order of their names."""

    files: tuple[PartitionRecord, ...]


class TrainingFiles(StrictModel):
    """Content of ``X_train.json``.

    Attributes
    ----------
    files : tuple of PartitionRecord
        The partitions in their order.
    target : str, int or None
        Column of the labels.
    labels : tuple of int or of str
        The labels as the partitions have them, in the order of their codes.
    """

    files: tuple[PartitionRecord, ...]
    target: str | int | None
    labels: tuple[int, ...] | tuple[str, ...]


def read_training_files(path: Path) -> TrainingFiles:
    """Return the content of ``X_train.json``, whose sum the card has."""
    return TrainingFiles.model_validate_json(path.read_bytes())


def partition_sum(name: str, sums: FileSums, earlier: FileSums | None = None) -> str:
    """Return the SHA-256 of a partition, which is read only if it was touched since.

    Parameters
    ----------
    name : str
        Its path or URL.
    sums, earlier : FileSums
        Where sums are remembered, and where else one may be known.

    Raises
    ------
    OSError
        It is missing or can't be read.
    """
    if "://" not in name:
        stamp, compute = stamp_of(Path(name)), lambda: sha256_of(Path(name))
    else:
        filesystem, path = filesystem_of(name)
        stamp, compute = filesystem.ukey(path), lambda: _remote_sum(filesystem, path)
    return sums.of(name, stamp, compute if earlier is None else lambda: earlier.of(name, stamp, compute))


def _remote_sum(filesystem: Any, path: str) -> str:
    digest = hashlib.sha256()
    with filesystem.open(path, "rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{url} needs fsspec to be read: pip install 'eigenbench[dask]'") from error
    found: tuple[Any, str] = url_to_fs(url)
    return found
