"""Files that are on this machine already, or that partitions name: nothing is downloaded."""

import hashlib
import lzma
import os
import tarfile
from collections.abc import Mapping
from datetime import datetime
from glob import escape
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Annotated, BinaryIO, ClassVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from eigenbench.datasets.archives import copy_tar_member
from eigenbench.datasets.card import PartitionList, PartitionRecord
from eigenbench.datasets.errors import MalformedData
from eigenbench.datasets.sources.source import (
    RelativePath,
    Source,
    SourceUnavailable,
    StagingArea,
    mirror_folder,
    readable,
)
from eigenbench.datasets.storage import may_have_changed, partition_sum, sha256_of


class MirrorSource(Source):
    """A file below ``EIGENBENCH_MIRROR``; with ``member``, that path inside the file, a ``.tar.xz``."""

    kind: ClassVar[str] = "mirror"
    mirror: RelativePath
    member: RelativePath | None = None

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path in the mirror, or that of a copy of the member of a tar there."""
        path = readable(mirror_folder() / self.mirror)
        if self.member is None:
            return path
        target = staging.folder / "member"
        if not copy_tar_member(path, lzma.open, self.member, target, limit):
            raise SourceUnavailable(f"{path} has no member {self.member}")
        return target

    def own_sum(self, path: Path, checked: datetime | None) -> str:
        """Return the sum of the whole file."""
        return sha256_of(readable(mirror_folder() / self.mirror))


class PathSource(Source):
    """A file of the user's own, in the folder of the catalogue that names it."""

    kind: ClassVar[str] = "path"
    path: RelativePath

    @field_validator("path")
    @classmethod
    def _beside_the_catalogue(cls, path: str, info: ValidationInfo) -> str:
        return str((info.context or {}).get("folder", Path()) / path)

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path."""
        return readable(Path(self.path))

    def own_sum(self, path: Path, checked: datetime | None) -> str:
        """Return the sum of the file."""
        return sha256_of(readable(Path(self.path)))


class InstalledSource(Source):
    """A data file that an installed package ships; the package is not imported."""

    kind: ClassVar[str] = "installed"
    installed: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.]+$")]
    member: RelativePath

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the file's path inside the package."""
        spec = find_spec(self.installed.partition(".")[0])
        if spec is None or not spec.submodule_search_locations:
            raise SourceUnavailable(f"package {self.installed} is not installed")
        return readable(Path(next(iter(spec.submodule_search_locations))) / self.member)


class FolderSource(Source):
    """A folder below the one that ``EIGENBENCH_MIRROR`` names, of which files are packed into one tar.

    Names are relative to the folder and sorted; times, owners and modes are fixed, so that the same files
    give the same bytes. Links are not followed. ``suffixes`` are ends of the names to take, in small letters;
    capitals match as well.
    """

    kind: ClassVar[str] = "folder"
    folder: RelativePath
    suffixes: Annotated[tuple[str, ...], Field(min_length=1)]

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

    def own_sum(self, path: Path, checked: datetime | None) -> str:
        """Return the sum of the names and sums of the files."""
        folder, names = self._files()
        lines = "".join(f"{name} {sha256_of(folder / name)}\n" for name in names)
        return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()

    def _files(self) -> tuple[Path, list[str]]:
        """Return the folder and the sorted names of its files, relative to it."""
        folder = mirror_folder() / self.folder
        if not folder.is_dir():
            raise SourceUnavailable(f"no folder {folder}")
        found = (Path(top, name) for top, _, names in os.walk(folder, onerror=_refuse) for name in names)
        files = (path for path in found if path.suffix.lower() in self.suffixes and not path.is_symlink())
        paths = sorted(path for path in files if path.is_file())
        if not paths:
            raise SourceUnavailable(f"no file with suffix {' or '.join(self.suffixes)} below {folder}")
        return folder, [path.relative_to(folder).as_posix() for path in paths]


def _refuse(error: OSError) -> None:
    if isinstance(error, PermissionError):
        raise SourceUnavailable(f"no permission to read {error.filename}") from error
    raise error


def _write_tar(folder: Path, names: list[str], stream: BinaryIO) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            with (folder / name).open("rb") as content:
                info.size = os.fstat(content.fileno()).st_size
                tar.addfile(info, content)


def _readable_place(pattern: str) -> str:
    if "://" not in pattern and (not pattern or "\\" in pattern or ".." in PurePosixPath(pattern).parts):
        raise ValueError(f"{pattern!r} is neither a path without '..' nor a URL")
    return pattern


class PartitionsSource(Source):
    """Parquet or .npy files that stay where they are: the file made of them lists their sums.

    ``partitions`` is their names with ``*`` and ``?``: a path, from the folder of the catalogue on unless it
    is absolute, or a URL that fsspec knows.
    """

    kind: ClassVar[str] = "partitions"
    partitions: Annotated[str, AfterValidator(_readable_place)]

    @field_validator("partitions")
    @classmethod
    def _beside_the_catalogue(cls, pattern: str, info: ValidationInfo) -> str:
        folder = Path(escape(str((info.context or {}).get("folder", Path()))))
        return pattern if "://" in pattern else str(folder / pattern)

    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Write the list of the partitions and return its path."""
        staging.say(f"reading the sums of {self.partitions}")
        path = staging.folder / "listing.json"
        path.write_bytes(self._list({}, 0))
        return path

    def own_sum(self, path: Path, checked: datetime | None) -> str | None:
        """Return the sum of the present list, reading partitions touched since; None for a new list."""
        if checked is None:
            return None
        listing = PartitionList.model_validate_json(path.read_bytes()) if path.is_file() else None
        known = {record.name: record.sha256 for record in listing.files} if listing else {}
        return hashlib.sha256(self._list(known, checked.timestamp())).hexdigest()

    def _list(self, known: Mapping[str, str], since: float) -> bytes:
        def sum_of(name: str) -> str:
            return known[name] if name in known and not may_have_changed(name, since) else partition_sum(name)

        try:
            records = tuple(PartitionRecord(name=name, sha256=sum_of(name)) for name in self._names())
        except (OSError, ModuleNotFoundError) as error:
            raise SourceUnavailable(f"{self.partitions}: {error}") from error
        if not records:
            raise SourceUnavailable(f"no file {self.partitions}")
        return PartitionList(files=records).model_dump_json(indent=1).encode()

    def _names(self) -> list[str]:
        if "://" not in self.partitions:
            root = Path(self.partitions).anchor
            found = Path(root).glob(self.partitions.removeprefix(root))
            return sorted(str(path) for path in found if path.is_file())
        from eigenbench.methods.linalg.partition_files import filesystem_of  # imports SciPy

        filesystem, path = filesystem_of(self.partitions)
        return sorted(filesystem.unstrip_protocol(name) for name in filesystem.glob(path))
