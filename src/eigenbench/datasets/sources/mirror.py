"""Files in the folder that EIGENBENCH_MIRROR names."""

import lzma
from pathlib import Path

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.sources.source import (
    RelativePath,
    Source,
    SourceUnavailable,
    StagingArea,
    mirror_folder,
    readable,
)


class MirrorSource(Source):
    """A file under the folder that ``EIGENBENCH_MIRROR`` names.

    Attributes
    ----------
    member : str, optional
        Path inside the file, which then is a tar compressed by xz.
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
