"""Data files that installed packages ship."""

from importlib.util import find_spec
from pathlib import Path

from eigenbench.datasets.source_kinds import InstalledSource
from eigenbench.datasets.sources.base import SourceUnavailable


def find_installed(source: InstalledSource) -> Path:
    """Return the file's path inside the installed package, without importing it."""
    spec = find_spec(source.installed.partition(".")[0])
    if spec is None or not spec.submodule_search_locations:
        raise SourceUnavailable(f"package {source.installed} is not installed")
    path = Path(next(iter(spec.submodule_search_locations))) / source.member
    if not path.is_file():
        raise SourceUnavailable(f"no file {path}")
    return path
