"""Files of the user: beside a catalogue, or in the folder that EIGENBENCH_MIRROR names."""

import lzma
import os
from pathlib import Path

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.source_kinds import MirrorSource, PathSource
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea


def find_in_mirror(source: MirrorSource, staging: StagingArea, limit: int) -> Path:
    """Return the file's path in the mirror, or that of a copy of the member of a tar there.

    Raises
    ------
    SourceUnavailable
        There is no mirror, file or member.
    MalformedData
        The tar is damaged, or its members together have more than ``limit`` bytes up to the one wanted.
    """
    path = mirror_file(source)
    if source.member is None:
        return path
    target = staging.folder / "member"
    if not copy_tar_member(path, lzma.open, source.member, target, limit):
        raise SourceUnavailable(f"{path} has no member {source.member}")
    return target


def mirror_file(source: MirrorSource) -> Path:
    """Return the path of a file of the mirror, whole; raise `SourceUnavailable` if it can't be read."""
    return _readable(mirror_folder() / source.mirror)


def own_file(source: PathSource) -> Path:
    """Return the path of a file beside its catalogue; raise `SourceUnavailable` if it can't be read."""
    return _readable(Path(source.path))


def _readable(path: Path) -> Path:
    if not path.is_file():
        raise SourceUnavailable(f"no file {path}")
    if not os.access(path, os.R_OK):
        raise SourceUnavailable(f"no permission to read {path}")
    return path


def mirror_folder() -> Path:
    """Return the folder that EIGENBENCH_MIRROR names, or raise `SourceUnavailable`."""
    mirror = os.environ.get("EIGENBENCH_MIRROR")
    if not mirror:
        raise SourceUnavailable("EIGENBENCH_MIRROR is not set")
    return Path(mirror).expanduser().absolute()
