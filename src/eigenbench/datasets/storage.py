"""Files of the data folder and partitions: where they lie, how they are written, and their sums."""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import BinaryIO

from eigenbench.atomic_files import replacing_file
from eigenbench.datasets.errors import DatasetError, InsufficientSpace, MalformedData, StorageError

CHUNK = 1 << 20
TEMPORARY_PREFIX = ".partial-"
_REMEDY = "set EIGENBENCH_DATA (or data_dir) to a folder"
_ABANDONED_AFTER_S = 24 * 3600.0

_CLOCK_SKEW_S = 60.0
"""Seconds by which the clock of a file system may be behind ours."""


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
    """Binary sink that counts and hashes what it writes, named in messages.

    One byte above ``limit`` is `MalformedData`: a decompression bomb or an endless response stops early.
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


def partition_sum(name: str) -> str:
    """Return the SHA-256 of a partition, by its path or URL. Raises OSError if it cannot be read."""
    if "://" not in name:
        return sha256_of(Path(name))
    from eigenbench.methods.linalg.partition_files import filesystem_of  # imports SciPy

    filesystem, path = filesystem_of(name)
    with filesystem.open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def may_have_changed(name: str, since: float) -> bool:
    """Say whether a partition was touched after a moment, in seconds since 1970, or within a minute before.

    True for a URL whose file system does not tell. Raises OSError for a partition that is missing.
    """
    if "://" not in name:
        status = Path(name).stat()
        return max(status.st_mtime, status.st_ctime) > since - _CLOCK_SKEW_S
    from eigenbench.methods.linalg.partition_files import filesystem_of  # imports SciPy

    filesystem, path = filesystem_of(name)
    try:
        modified = filesystem.modified(path)
    except NotImplementedError:
        return True
    return bool(
        (modified if modified.tzinfo else modified.replace(tzinfo=UTC)).timestamp() > since - _CLOCK_SKEW_S
    )
