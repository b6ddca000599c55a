"""Folders of many files below the one that EIGENBENCH_MIRROR names."""

import hashlib
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.file_sums import stamp_of
from eigenbench.datasets.source_kinds import FolderSource
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
    folder, names = _folder_and_names(source)
    size = sum((folder / name).stat().st_size for name in names)
    if size > limit:
        raise MalformedData(source.folder, "files", f"{size} bytes in all, more than {limit}")
    packed = staging.folder / f"{folder.name}.tar"
    staging.say(f"packing {len(names)} files of {folder}")
    with packed.open("wb") as stream:
        _write_tar(folder, names, stream)
    return packed


def folder_sum(source: FolderSource) -> str:
    """Return the SHA-256 of the tar that `pack_folder` makes, without keeping it."""
    folder, names = _folder_and_names(source)
    with Path(os.devnull).open("wb") as nowhere:
        sink = HashingWriter(nowhere, folder.name)
        _write_tar(folder, names, cast(BinaryIO, sink))
    return sink.sha256


def folder_stamp(source: FolderSource) -> str:
    """Return one stamp for names and stamps of all files that `pack_folder` takes."""
    folder, names = _folder_and_names(source)
    lines = [f"{name} {stamp_of(folder / name)}\n" for name in names]
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _folder_and_names(source: FolderSource) -> tuple[Path, list[str]]:
    """Return the folder and the sorted names of its files, relative to it."""
    folder = mirror_folder() / source.folder
    if not folder.is_dir():
        raise SourceUnavailable(f"no folder {folder}")
    found = _names_below(str(folder), "", source.suffixes)
    names = sorted(found, key=lambda name: name.split("/"))
    if not names:
        raise SourceUnavailable(f"no file with suffix {' or '.join(source.suffixes)} below {folder}")
    return folder, names


def _names_below(folder: str, prefix: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _names_below(entry.path, f"{prefix}{entry.name}/", suffixes)
            elif entry.is_file(follow_symlinks=False) and Path(entry.name).suffix.lower() in suffixes:
                yield prefix + entry.name


def _write_tar(folder: Path, names: list[str], stream: BinaryIO) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            with (folder / name).open("rb") as content:
                info.size = os.fstat(content.fileno()).st_size
                tar.addfile(info, content)
