"""Folders of many files under the one that EIGENBENCH_MIRROR names."""

import os
import stat
import tarfile
from pathlib import Path

from eigenbench.datasets.catalogue import FolderSource
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea


def pack_folder(source: FolderSource, staging: StagingArea, limit: int) -> Path:
    """Pack the folder's files of the wanted suffixes into a tar and return its path.

    Names are relative to the folder and sorted; times, owners and modes are fixed, so that the same files
    give the same bytes. Links are not followed.

    Raises
    ------
    SourceUnavailable
        No mirror, no such folder, or no file of these suffixes in it.
    MalformedData
        More than ``limit`` bytes.
    """
    mirror = os.environ.get("EIGENBENCH_MIRROR")
    if not mirror:
        raise SourceUnavailable("EIGENBENCH_MIRROR is not set")
    folder = Path(mirror).expanduser().absolute() / source.folder
    if not folder.is_dir():
        raise SourceUnavailable(f"no folder {folder}")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in source.suffixes)
    files = [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]
    if not files:
        raise SourceUnavailable(f"no file with suffix {' or '.join(source.suffixes)} below {folder}")
    size = sum(path.stat().st_size for path in files)
    if size > limit:
        raise MalformedData(source.folder, "files", f"{size} bytes in all, more than {limit}")
    packed = staging.folder / f"{folder.name}.tar"
    staging.say(f"packing {len(files)} files of {folder}")
    with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in files:
            info = tarfile.TarInfo(path.relative_to(folder).as_posix())
            info.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(info, content)
    return packed
