"""Folders of many files below the one that EIGENBENCH_MIRROR names."""

import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

from pydantic import Field

from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.sources.source import (
    RelativePath,
    Source,
    SourceUnavailable,
    StagingArea,
    mirror_folder,
)
from eigenbench.datasets.storage import FileSums, sha256_of, stamp_of


class FolderSource(Source):
    """A folder below the one that ``EIGENBENCH_MIRROR`` names, of which files are packed into one tar.

    Names are relative to the folder and sorted; times, owners and modes are fixed, so that the same files
    give the same bytes. Links are not followed. ``suffixes`` are ends of the names to take, in small letters;
    capitals match as well.
    """

    folder: RelativePath
    suffixes: Annotated[tuple[str, ...], Field(min_length=1)]

    def __str__(self) -> str:
        return f"folder {self.folder}"

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Pack the files into a tar and return its path."""
        folder, names = self._files()
        size = sum((folder / name).stat().st_size for name in names)
        if size > limit:
            raise MalformedData(self.folder, "files", f"{size} bytes in all, more than {limit}")
        packed = staging.folder / f"{folder.name}.tar"
        staging.say(f"packing {len(names)} files of {folder}")
        with packed.open("wb") as stream:
            _write_tar(folder, names, stream)
        return packed

    def own_sum(self, sums: FileSums) -> str:
        """Return the sum of the names and sums of the files; one that was touched has all read."""
        folder, names = self._files()
        stamp = _digest(f"{name} {stamp_of(folder / name)}\n" for name in names)
        return sums.of(
            str(self), stamp, lambda: _digest(f"{name} {sha256_of(folder / name)}\n" for name in names)
        )

    def _files(self) -> tuple[Path, list[str]]:
        """Return the folder and the sorted names of its files, relative to it."""
        folder = mirror_folder() / self.folder
        if not folder.is_dir():
            raise SourceUnavailable(f"no folder {folder}")
        names = sorted(_names_below(str(folder), "", self.suffixes), key=lambda name: name.split("/"))
        if not names:
            raise SourceUnavailable(f"no file with suffix {' or '.join(self.suffixes)} below {folder}")
        return folder, names


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


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
