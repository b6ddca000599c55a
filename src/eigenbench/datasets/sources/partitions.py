"""Partitions that stay where they are: a list of their names and sums stands for them."""

import hashlib
from pathlib import Path

from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.partition_records import Listing, PartitionRecord, filesystem_of, partition_sum
from eigenbench.datasets.source_kinds import PartitionsSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea


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


def _listing(source: PartitionsSource, sums: FileSums) -> bytes:
    try:
        names = _names(source.partitions)
        records = tuple(PartitionRecord(name=name, sha256=partition_sum(name, sums)) for name in names)
    except (OSError, ModuleNotFoundError) as error:
        raise SourceUnavailable(f"{source.partitions}: {error}") from error
    if not records:
        raise SourceUnavailable(f"no file {source.partitions}")
    return Listing(files=records).model_dump_json(indent=1).encode()


def _names(pattern: str) -> list[str]:
    if "://" not in pattern:
        found = Path(Path(pattern).anchor).glob(pattern.removeprefix(Path(pattern).anchor))
        return sorted(str(path) for path in found if path.is_file())
    filesystem, path = filesystem_of(pattern)
    return sorted(filesystem.unstrip_protocol(name) for name in filesystem.glob(path))
