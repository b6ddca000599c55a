"""Archives, read member by member into memory and never unpacked: no member can land outside a folder."""

import io
import os.path
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from eigenbench.datasets.errors import MalformedData


def check_member_name(archive: str, name: str) -> str:
    """Return ``name``, or raise `MalformedData` when it points outside the archive's own folder."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]:
        raise MalformedData(
            archive, f"member {name!r}", "the name points outside the archive", "don't use it"
        )
    return name


def tar_members(archive: str, stream: BinaryIO, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of a tar's regular files.

    Parameters
    ----------
    archive : str
        Name for error messages.
    stream : binary file
        The uncompressed tar.
    limit : int
        Most bytes of all members together.

    Yields
    ------
    tuple of str and bytes
        Member name and content.

    Raises
    ------
    MalformedData
        A link, a device, a name outside the folder, truncated content, or more than ``limit`` bytes.
    """
    left = limit
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                check_member_name(archive, member.name)
                if member.isdir():
                    continue
                content = tar.extractfile(member) if member.isreg() else None
                if content is None:
                    raise MalformedData(archive, f"member {member.name!r}", "neither a file nor a folder")
                left -= member.size
                if left < 0:
                    raise MalformedData(archive, f"member {member.name!r}", f"more than {limit} bytes in all")
                yield member.name, content.read()
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise MalformedData(archive, "tar headers", str(error) or type(error).__name__) from error


def zip_members(path: Path, pattern: str, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the zip's files that match ``pattern``, at most ``limit`` bytes in all."""
    left = limit
    with open_zip(path) as archive:
        for info in archive.infolist():
            if info.is_dir() or not fnmatchcase(check_member_name(path.name, info.filename), pattern):
                continue
            left -= info.file_size
            if left < 0:
                raise MalformedData(path.name, f"member {info.filename!r}", f"more than {limit} bytes in all")
            yield info.filename, read_zip_member(archive, path.name, info.filename)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip file, or raise `MalformedData`."""
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise MalformedData(path.name, "zip directory", str(error)) from error


def read_zip_member(archive: zipfile.ZipFile, name: str, member: str) -> bytes:
    """Return one member's bytes; zipfile never returns more than the member's declared size."""
    import zlib

    try:
        return archive.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise MalformedData(name, f"member {member!r}", str(error)) from error


def pack_tar(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar that depends on nothing but the members' relative names and bytes.

    Names lose the folder common to all; members are sorted; times, owners and modes are fixed. So two
    archives of the same files, packed differently, give the same bytes and one SHA-256 serves both.
    """
    content = dict(members)
    root = os.path.commonpath([str(PurePosixPath(name).parent) for name in content]) if content else ""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(content):
            info = tarfile.TarInfo(str(PurePosixPath(name).relative_to(root or ".")))
            info.size = len(content[name])
            tar.addfile(info, io.BytesIO(content[name]))
    return packed.getvalue()
