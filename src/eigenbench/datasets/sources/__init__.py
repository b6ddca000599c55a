"""The kinds of source: each puts its bytes for a raw file at a local path, or says why it can't."""

from pathlib import Path

from eigenbench.datasets.source_kinds import (
    FolderSource,
    InstalledSource,
    MirrorSource,
    PackageSource,
    PartitionsSource,
    PathSource,
    SdistSource,
    Source,
    UrlSource,
)
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.sources.folder import pack_folder
from eigenbench.datasets.sources.installed import find_installed
from eigenbench.datasets.sources.mirror import find_in_mirror, own_file
from eigenbench.datasets.sources.package import read_from_package
from eigenbench.datasets.sources.partitions import write_listing
from eigenbench.datasets.sources.sdist import read_from_sdist
from eigenbench.datasets.sources.url import download

__all__ = ["SourceUnavailable", "StagingArea", "obtain"]


def obtain(source: Source, staging: StagingArea, limit: int) -> Path:
    """Return the path of the source's bytes, not yet decoded.

    Parameters
    ----------
    source : Source
        An entry of the catalogue's ``sources``.
    staging : StagingArea
        Folder for what has to be downloaded, and what was downloaded before.
    limit : int
        Most bytes to accept.

    Raises
    ------
    SourceUnavailable
        The source can't be reached or lacks the file.
    MalformedData
        What it gave is too large or a broken archive.
    """
    match source:
        case MirrorSource():
            return find_in_mirror(source, staging, limit)
        case PathSource():
            return own_file(source)
        case UrlSource():
            return download(source, staging, limit)
        case PackageSource():
            return read_from_package(source, staging, limit)
        case SdistSource():
            return read_from_sdist(source, staging, limit)
        case InstalledSource():
            return find_installed(source)
        case FolderSource():
            return pack_folder(source, staging, limit)
        case PartitionsSource():
            return write_listing(source, staging)
    raise TypeError(f"unknown kind of source: {source!r}")
