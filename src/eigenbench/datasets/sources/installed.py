"""Data files that installed packages ship."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from pydantic import Field

from eigenbench.datasets.sources.source import RelativePath, Source, SourceUnavailable, StagingArea, readable


class InstalledSource(Source):
    """A data file that an installed package ships."""

    installed: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    member: RelativePath

    def __str__(self) -> str:
        return f"installed {self.installed} {self.member}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path inside the package, which is not imported."""
        spec = find_spec(self.installed.partition(".")[0])
        if spec is None or not spec.submodule_search_locations:
            raise SourceUnavailable(f"package {self.installed} is not installed")
        return readable(Path(next(iter(spec.submodule_search_locations))) / self.member)
