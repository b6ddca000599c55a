"""Partitions that stay where they are: a list of their names and sums stands for them."""

import hashlib
from pathlib import Path
from typing import Any

from eigenbench.datasets.file_sums import FileSums, stamp_of
from eigenbench.datasets.source_kinds import PartitionsSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.storage import CHUNK, sha256_of
from eigenbench.datasets.strict_model import Sha256, StrictModel

#: The file of a prepared folder that stands for the training rows.
TRAINING_FILES = "X_train.json"


class PartitionRecord(StrictModel):
    """A partition: its path or URL, and the SHA-256 of its bytes."""

    name: str
    sha256: Sha256


class Listing(StrictModel):
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


def write_listing(source: PartitionsSource, staging: StagingArea) -> Path:
    """Write the list of the partitions and return its path.

    Raises
    ------
    SourceUnavailable
        No such file, or no access to the place.
    """
    staging.say(f"reading the sums of {source.partitions}")
    path = staging.folder / "listing.json"
    path.write_bytes(_listing(source, staging.sums))
    return path


def listing_sum(source: PartitionsSource, sums: FileSums) -> str:
    """Return the SHA-256 of the list of the partitions as they are now; only those that changed are read."""
    return hashlib.sha256(_listing(source, sums)).hexdigest()


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
        filesystem, path = _filesystem(name)
        stamp, compute = filesystem.ukey(path), lambda: _remote_sum(filesystem, path)
    return sums.of(name, stamp, compute if earlier is None else lambda: earlier.of(name, stamp, compute))


def _listing(source: PartitionsSource, sums: FileSums) -> bytes:
    try:
        names = _names(source.partitions)
        records = tuple(PartitionRecord(name=name, sha256=partition_sum(name, sums)) for name in names)
    except OSError as error:
        raise SourceUnavailable(f"{source.partitions}: {error}") from error
    if not records:
        raise SourceUnavailable(f"no file {source.partitions}")
    return Listing(files=records).model_dump_json(indent=1).encode()


def _names(pattern: str) -> list[str]:
    if "://" not in pattern:
        found = Path(Path(pattern).anchor).glob(pattern.removeprefix(Path(pattern).anchor))
        return sorted(str(path) for path in found if path.is_file())
    filesystem, path = _filesystem(pattern)
    return sorted(filesystem.unstrip_protocol(name) for name in filesystem.glob(path))


def _remote_sum(filesystem: Any, path: str) -> str:
    digest = hashlib.sha256()
    with filesystem.open(path, "rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise SourceUnavailable(f"{url} needs fsspec to be read: pip install 'eigenbench[dask]'") from error
    found: tuple[Any, str] = url_to_fs(url)
    return found
