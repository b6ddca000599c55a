"""Folders of many files below the one that EIGENBENCH_MIRROR names."""

import hashlib
import os
import stat
import tarfile
from pathlib import Path
from typing import BinaryIO, cast

from eigenbench.datasets.catalogue import FolderSource
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.file_sums import stamp_of
from eigenbench.datasets.sources.base import SourceUnavailable, StagingArea
from eigenbench.datasets.sources.mirror import mirror_folder
from eigenbench.datasets.storage import HashingWriter


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
    folder, files = _folder_and_files(source)
    size = sum(path.stat().st_size for path in files)
    if size > limit:
        raise MalformedData(source.folder, "files", f"{size} bytes in all, more than {limit}")
    packed = staging.folder / f"{folder.name}.tar"
    staging.say(f"packing {len(files)} files of {folder}")
    with packed.open("wb") as stream:
        _write_tar(folder, files, stream)
    return packed


def folder_sum(source: FolderSource) -> str:
    """Return the SHA-256 of the tar that `pack_folder` makes, without keeping it."""
    folder, files = _folder_and_files(source)
    with Path(os.devnull).open("wb") as nowhere:
        sink = HashingWriter(nowhere, folder.name)
        _write_tar(folder, files, cast(BinaryIO, sink))
    return sink.sha256


def folder_stamp(source: FolderSource) -> str:
    """Return one stamp for names and stamps of all files that `pack_folder` takes."""
    folder, files = _folder_and_files(source)
    lines = [f"{path.relative_to(folder).as_posix()} {stamp_of(path)}\n" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _folder_and_files(source: FolderSource) -> tuple[Path, list[Path]]:
    folder = mirror_folder() / source.folder
    if not folder.is_dir():
        raise SourceUnavailable(f"no folder {folder}")
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in source.suffixes)
    files = [path for path in paths if stat.S_ISREG(path.lstat().st_mode)]
    if not files:
        raise SourceUnavailable(f"no file with suffix {' or '.join(source.suffixes)} below {folder}")
    return folder, files


def _write_tar(folder: Path, files: list[Path], stream: BinaryIO) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path in files:
            info = tarfile.TarInfo(path.relative_to(folder).as_posix())
            info.size = path.stat().st_size
            with path.open("rb") as content:
                tar.addfile(info, content)
