"""Files that are on this machine already: in the mirror, beside a catalogue, in an installed package."""

import lzma
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.sources.source import (
    RelativePath,
    Source,
    SourceUnavailable,
    StagingArea,
    mirror_folder,
    readable,
)
from eigenbench.datasets.storage import FileSums


class MirrorSource(Source):
    """A file below the folder that ``EIGENBENCH_MIRROR`` names.

    With ``member`` the file is a tar compressed by xz, and this the path inside it.
    """

    mirror: RelativePath
    member: RelativePath | None = None

    def __str__(self) -> str:
        return f"mirror {self.mirror}" + (f" {self.member}" if self.member else "")

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path in the mirror, or that of a copy of the member of a tar there."""
        path = readable(mirror_folder() / self.mirror)
        if self.member is None:
            return path
        target = staging.folder / "member"
        if not copy_tar_member(path, lzma.open, self.member, target, limit):
            raise SourceUnavailable(f"{path} has no member {self.member}")
        return target

    def own_sum(self, sums: FileSums) -> str:
        """Return the sum of the whole file."""
        return sums.of_file(readable(mirror_folder() / self.mirror), name=str(self))


class PathSource(Source):
    """A file of the user's own, in the folder of the catalogue that names it."""

    path: RelativePath

    @field_validator("path")
    @classmethod
    def _beside_the_catalogue(cls, path: str, info: ValidationInfo) -> str:
        return str((info.context or {}).get("folder", Path()) / path)

    def __str__(self) -> str:
        return f"path {self.path}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path."""
        return readable(Path(self.path))

    def own_sum(self, sums: FileSums) -> str:
        """Return the sum of the file."""
        return sums.of_file(readable(Path(self.path)), name=str(self))


class InstalledSource(Source):
    """A data file that an installed package ships; the package is not imported."""

    installed: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    member: RelativePath

    def __str__(self) -> str:
        return f"installed {self.installed} {self.member}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path inside the package."""
        spec = find_spec(self.installed.partition(".")[0])
        if spec is None or not spec.submodule_search_locations:
            raise SourceUnavailable(f"package {self.installed} is not installed")
        return readable(Path(next(iter(spec.submodule_search_locations))) / self.member)
