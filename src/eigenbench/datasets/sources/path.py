"""Files of the user's own beside a catalogue."""

from pathlib import Path

from pydantic import ValidationInfo, field_validator

from eigenbench.datasets.file_sums import FileSums
from eigenbench.datasets.sources.source import RelativePath, Source, StagingArea, readable


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
