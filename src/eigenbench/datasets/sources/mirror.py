"""Files under the folder that the environment variable EIGENBENCH_MIRROR names."""

import lzma
import os
from pathlib import Path
from typing import BinaryIO, cast

from eigenbench.datasets.archives import tar_members
from eigenbench.datasets.catalogue import MirrorSource
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.storage import atomic_writer

_TAR_LIMIT = 1 << 30
"""Most bytes of all members of a tar up to the one that is wanted."""


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
    return path if source.member is None else _copy_member(path, source.member, staging, limit)


def mirror_file(source: MirrorSource) -> Path:
    """Return the path of a file of the mirror, whole; raise `SourceUnavailable` if it can't be read."""
    path = mirror_folder() / source.mirror
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


def _copy_member(path: Path, member: str, staging: StagingArea, limit: int) -> Path:
    target = staging.folder / "member"
    try:
        with lzma.open(path) as stream:
            for name, content in tar_members(path.name, cast(BinaryIO, stream), _TAR_LIMIT):
                if name == member:
                    with atomic_writer(target, limit) as sink:
                        sink.write(content)
                    return target
    except (EOFError, lzma.LZMAError) as error:
        raise MalformedData(path.name, "compressed stream", str(error)) from error
    raise SourceUnavailable(f"{path} has no member {member}")
