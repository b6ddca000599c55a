"""Archives, read member by member into memory and never unpacked: no member can land outside a folder."""

import errno
import io
import lzma
import os.path
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, BinaryIO

from eigenbench.datasets.errors import FETCH_AGAIN, DatasetError, MalformedData
from eigenbench.datasets.storage import atomic_writer

_TAR_LIMIT = 1 << 30
"""Most bytes of all members of a compressed tar up to the one that is wanted."""

ZIP_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def check_member_name(archive: str, name: str) -> str:
    """Return ``name``, or raise `MalformedData` when it points outside the archive's own folder."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or ":" in path.parts[0]:
        raise MalformedData(
            archive, f"member {name!r}", "the name points outside the archive", "don't use it"
        )
    return name


def tar_members(archive: str, stream: BinaryIO, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the regular files of an uncompressed tar, at most ``limit`` bytes in all.

    Raises `MalformedData` for a link, a device, a name outside the folder, truncated content, or more bytes.
    """
    left, unread = limit, 2 * limit + (1 << 20)

    def read(size: int) -> bytes:  # the headers of a member may announce any length
        nonlocal unread
        chunk = stream.read(size)
        unread -= len(chunk)
        if unread < 0:
            raise MalformedData(archive, "tar headers", f"more bytes than {limit} of members need")
        return chunk

    bounded: Any = SimpleNamespace(read=read)
    with damage_errors(archive, "tar headers"), tarfile.open(fileobj=bounded, mode="r|") as tar:
        for member in tar:
            if member.isdir():
                continue
            check_member_name(archive, member.name)
            content = tar.extractfile(member) if member.isreg() else None
            if content is None:
                raise MalformedData(archive, f"member {member.name!r}", "neither a file nor a folder")
            left -= member.size
            if left < 0:
                raise MalformedData(archive, f"member {member.name!r}", f"more than {limit} bytes in all")
            yield member.name, content.read()


def copy_tar_member(path: Path, opener: Callable[[Path], Any], member: str, target: Path, limit: int) -> bool:
    """Write one member of a compressed tar to a file; return False when there is none of that name.

    ``opener`` is ``gzip.open`` or ``lzma.open``. Raises `MalformedData` as `tar_members`, up to the member;
    or where it has more than ``limit`` bytes, or the compression is damaged.
    """
    with damage_errors(path.name, "compressed stream"), opener(path) as stream:
        for name, content in tar_members(path.name, stream, _TAR_LIMIT):
            if name == member:
                with atomic_writer(target, limit) as sink:
                    sink.write(content)
                return True
    return False


def zip_members(path: Path, pattern: str, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the zip's files that match ``pattern``, at most ``limit`` bytes in all."""
    left = limit
    with damage_errors(path.name, "zip directory"), zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not fnmatchcase(check_member_name(path.name, info.filename), pattern) or info.is_dir():
                continue
            left -= info.file_size
            if left < 0:
                raise MalformedData(path.name, f"member {info.filename!r}", f"more than {limit} bytes in all")
            with damage_errors(path.name, f"member {info.filename!r}"):
                content = archive.read(info.filename)  # never more than the size that it declares
            yield info.filename, content


@contextmanager
def damage_errors(archive: str, place: str, remedy: str = FETCH_AGAIN) -> Iterator[None]:
    """Turn what tarfile, zipfile, decompressors and the like raise for damaged input into `MalformedData`."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:  # what they say of their input has no number, that of a wrong seek has this
        if error.errno not in (None, errno.EINVAL):
            raise
        raise MalformedData(archive, place, str(error), remedy) from error
    except ZIP_DAMAGE as error:
        raise MalformedData(archive, place, str(error) or type(error).__name__, remedy) from error


def pack_tar(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a tar that depends on nothing but the members' relative names and bytes.

    Names lose the folder common to all. So differently packed archives of the same files have one SHA-256.
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
