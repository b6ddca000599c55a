"""Files of the data folder: where they lie, how they are written whole or not at all, and their sums."""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import TypeAdapter, ValidationError

from eigenbench.atomic_files import replacing_file
from eigenbench.datasets.errors import DatasetError, InsufficientSpace, MalformedData, StorageError
from eigenbench.datasets.strict_model import Sha256

CHUNK = 1 << 20
TEMPORARY_PREFIX = ".partial-"
_REMEDY = "set EIGENBENCH_DATA (or data_dir) to a folder"
_ABANDONED_AFTER_S = 24 * 3600.0

STAMPS = "stamps.json"
_STAMPED = TypeAdapter(dict[str, tuple[str, Sha256]])
"""Content of ``stamps.json``: the stamp that each file had, and its sum then."""

_CLOCK_TICK_NS = 12_000_000
"""Two changes of a file within one tick of the file system's clock, at most 10 ms, get the same time."""


def resolve_data_dir(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for raw and prepared data, as an absolute path that need not exist yet.

    ``data_dir`` is used as it is when given; else ``$EIGENBENCH_DATA``; else the user's cache folder. Raises
    `StorageError` for a folder below ``~`` where there is no home folder.
    """
    if data_dir is None:
        data_dir = os.environ.get("EIGENBENCH_DATA") or None
    if data_dir is None:
        import pooch

        data_dir = pooch.os_cache("eigenbench")
    try:
        return Path(data_dir).expanduser().absolute()
    except RuntimeError as error:
        raise StorageError(f"{data_dir}: {error}; {_REMEDY} that is there") from error


def raw_folder(data_dir: Path, name: str) -> Path:
    """Return the folder of a dataset's files as its sources give them."""
    return data_dir / "raw" / name


def prepared_folder(data_dir: Path, name: str) -> Path:
    """Return the folder of a dataset's arrays and card."""
    return data_dir / "prepared" / name


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, read in chunks, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Turn the operating system's refusals to write under ``folder`` into errors that say what to do."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InsufficientSpace(
                f"{folder}: {error.strerror}; nothing half-written was kept; "
                f"free space or {_REMEDY} with more room"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise StorageError(f"{folder}: {error.strerror}; {_REMEDY} you can write to") from error
        raise


def make_folder(folder: Path) -> Path:
    """Create ``folder`` with its parents and clear it of what interrupted runs left a day ago or more."""
    with storage_errors(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # as below /proc, where a home may lie that isn't there
            raise StorageError(f"{folder}: can't be made; {_REMEDY} you can write to") from error
        for leftover in (*folder.glob(f"{TEMPORARY_PREFIX}*"), *folder.glob(".*.tmp")):
            with suppress(FileNotFoundError, PermissionError):
                if time.time() - leftover.stat().st_mtime > _ABANDONED_AFTER_S:
                    shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return folder


class HashingWriter:
    """Binary sink that counts and hashes what it writes.

    With a ``limit``, one byte more raises `MalformedData`, so that a decompression bomb or an endless
    response stops early; ``name`` is that of the file in the message.
    """

    def __init__(self, stream: BinaryIO, name: str, limit: int | None = None):
        self._stream, self._name, self._limit = stream, name, limit
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes | memoryview) -> int:
        """Write ``data`` and return its length."""
        view = memoryview(data).cast("B")
        if self._limit is not None and self.size + len(view) > self._limit:
            raise MalformedData(
                self._name,
                f"byte {self._limit}",
                f"more data than the {self._limit} bytes allowed",
                "the source holds another file than the catalogue describes",
            )
        self._stream.write(view)
        self._digest.update(view)
        self.size += len(view)
        return len(view)

    def flush(self) -> None:
        """Do nothing: the file is flushed once, before its name appears."""

    @property
    def sha256(self) -> str:
        """SHA-256 of everything written so far, in hexadecimal."""
        return self._digest.hexdigest()


@contextmanager
def atomic_writer(path: Path, limit: int | None = None) -> Iterator[HashingWriter]:
    """Give a sink for a file that gets its name, replacing an earlier one, only when the block succeeds."""
    with storage_errors(path.parent), replacing_file(path) as temporary, temporary.open("wb") as stream:
        yield HashingWriter(stream, path.name, limit)


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` whole or not at all."""
    with atomic_writer(path) as sink:
        sink.write(data)


class FileSums:
    """The sums that ``stamps.json`` of a folder remembers, each with the stamp that the file had then.

    A file whose stamp (size, times of modification and of status change, inode) is the remembered one is
    taken to have the remembered sum; any other is read. A missing or damaged ``stamps.json`` remembers
    nothing.
    """

    def __init__(self, folder: Path):
        self._path = folder / STAMPS
        self._known: dict[str, tuple[str, str]] = {}
        self._changed = False
        with suppress(OSError, ValidationError):
            self._known = _STAMPED.validate_json(self._path.read_bytes())

    def remembered(self, name: str) -> str | None:
        """Return the sum that a name had when it was last read, whatever its stamp is now."""
        return self._known[name][1] if name in self._known else None

    def of_file(self, path: Path, *, name: str | None = None, read: bool = False) -> str:
        """Return the sum of a file, which is remembered under ``name``, by default its own.

        ``read`` has it read in any case. Raises OSError if it is missing or can't be read.
        """
        name = name or path.name
        if read:
            self._known.pop(name, None)
        return self.of(name, stamp_of(path), lambda: sha256_of(path))

    def written(self, path: Path, sha256: str) -> None:
        """Remember the sum of a file that was just written."""
        self._known.pop(path.name, None)
        self.of(path.name, stamp_of(path), lambda: sha256)

    def of(self, name: str, stamp: str, compute: Callable[[], str]) -> str:
        """Return the remembered sum if the stamp is the remembered one, else compute and remember it."""
        known = self._known.get(name)
        if known is None or known[0] != stamp:
            known = self._known[name] = (stamp, compute())
            self._changed = True
        return known[1]

    def save(self) -> None:
        """Write what is new; a folder that can't be written costs reading the files again next time."""
        if self._changed:
            with suppress(OSError, StorageError):
                write_atomically(self._path, _STAMPED.dump_json(self._known, indent=2))
                self._changed = False


def stamp_of(path: Path) -> str:
    """Return size, time of modification, time of status change and inode of a file.

    A file that changed within the last tick of the clock is waited for, so that a later change shows.
    """
    status = path.stat()
    if 0 <= (age := time.time_ns() - status.st_ctime_ns) < _CLOCK_TICK_NS:
        time.sleep((_CLOCK_TICK_NS - age) / 1e9)
        status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def partition_sum(name: str, sums: FileSums, earlier: FileSums | None = None) -> str:
    """Return the SHA-256 of a partition, by its path or URL, which is read only if it was touched since.

    ``earlier`` is where else its sum may be known. Raises OSError if it is missing or can't be read.
    """
    if "://" not in name:
        stamp, compute = stamp_of(Path(name)), lambda: sha256_of(Path(name))
    else:
        filesystem, path = filesystem_of(name)
        stamp, compute = filesystem.ukey(path), lambda: _remote_sum(filesystem, path)
    return sums.of(name, stamp, compute if earlier is None else lambda: earlier.of(name, stamp, compute))


def _remote_sum(filesystem: Any, path: str) -> str:
    digest = hashlib.sha256()
    with filesystem.open(path, "rb") as stream:
        while block := stream.read(CHUNK):
            digest.update(block)
    return digest.hexdigest()


def filesystem_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{url} needs fsspec to be read: pip install 'eigenbench[dask]'") from error
    found: tuple[Any, str] = url_to_fs(url)
    return found
