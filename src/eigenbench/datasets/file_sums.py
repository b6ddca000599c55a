"""SHA-256 sums of files and of partitions, computed again only for those that were touched since."""

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from eigenbench.datasets.errors import StorageError
from eigenbench.datasets.storage import CHUNK, sha256_of, write_atomically
from eigenbench.datasets.strict_model import Sha256

STAMPS = "stamps.json"

_CLOCK_TICK_NS = 12_000_000
"""Two changes of a file within one tick of the file system's clock, at most 10 ms, get the same time."""


_STAMPED = TypeAdapter(dict[str, tuple[str, Sha256]])
"""Content of ``stamps.json``: the stamp that each file had, and its sum then."""


class FileSums:
    """The sums that ``stamps.json`` of a folder remembers, each with the stamp that the file had then.

    A file whose stamp (size, times of modification and of status change, inode) is the remembered one is
    taken to have the remembered sum; any other is read.

    Parameters
    ----------
    folder : Path
        Where ``stamps.json`` is or will be; a missing or damaged one remembers nothing.
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
    """Return the SHA-256 of a partition, which is read only if it was touched since.

    Parameters
    ----------
    name : str
        Its path or URL.
    sums, earlier : FileSums
        Where sums are remembered, and where else one may be known.

    Raises
    ------
    OSError
        It is missing or can't be read.
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
