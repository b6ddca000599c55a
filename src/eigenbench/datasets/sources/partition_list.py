"""Partitions that stay where they are: a list of their names and sums stands for them."""

import hashlib
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo, field_validator

from eigenbench.datasets.card import PartitionList, PartitionRecord
from eigenbench.datasets.sources.source import Source, SourceUnavailable, StagingArea
from eigenbench.datasets.storage import FileSums, filesystem_of, partition_sum


def _readable_place(pattern: str) -> str:
    if "://" not in pattern and (not pattern or "\\" in pattern or ".." in PurePosixPath(pattern).parts):
        raise ValueError(f"{pattern!r} is neither a path without '..' nor a URL")
    return pattern


class PartitionsSource(Source):
    """Parquet or .npy files that stay where they are: the file made of them lists their sums.

    ``partitions`` is their names with ``*`` and ``?``: a path, from the folder of the catalogue on unless it
    is absolute, or a URL that fsspec knows.
    """

    partitions: Annotated[str, AfterValidator(_readable_place)]

    @field_validator("partitions")
    @classmethod
    def _beside_the_catalogue(cls, pattern: str, info: ValidationInfo) -> str:
        return pattern if "://" in pattern else str((info.context or {}).get("folder", Path()) / pattern)

    def __str__(self) -> str:
        return f"partitions {self.partitions}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Write the list of the partitions and return its path."""
        staging.say(f"reading the sums of {self.partitions}")
        path = staging.folder / "listing.json"
        path.write_bytes(self._list(staging.sums))
        return path

    def own_sum(self, sums: FileSums) -> str:
        """Return the sum of the list of the partitions as they are now; only those that changed are read."""
        return hashlib.sha256(self._list(sums)).hexdigest()

    def _list(self, sums: FileSums) -> bytes:
        try:
            names = self._names()
            records = tuple(PartitionRecord(name=name, sha256=partition_sum(name, sums)) for name in names)
        except (OSError, ModuleNotFoundError) as error:
            raise SourceUnavailable(f"{self.partitions}: {error}") from error
        if not records:
            raise SourceUnavailable(f"no file {self.partitions}")
        return PartitionList(files=records).model_dump_json(indent=1).encode()

    def _names(self) -> list[str]:
        if "://" not in self.partitions:
            root = Path(self.partitions).anchor
            found = Path(root).glob(self.partitions.removeprefix(root))
            return sorted(str(path) for path in found if path.is_file())
        filesystem, path = filesystem_of(self.partitions)
        return sorted(filesystem.unstrip_protocol(name) for name in filesystem.glob(path))
