"""Before a workflow starts: one at a time in a folder, and all its folders can be written."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def check_writable(folders: Mapping[str, str]) -> None:
    """Make sure that files can be written where a workflow writes, before it does any work.

    Parameters
    ----------
    folders : mapping of str to str
        Configuration key to folder; missing folders are created.

    Raises
    ------
    OSError
        Naming the folder, the reason and the configuration key.
    """
    for key, folder in folders.items():
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise OSError(
                f"{folder}: cannot write there ({error.strerror}); make it writable, "
                f"or name another {key} in config/config.yaml"
            ) from error


class RunLock:
    """An advisory lock on a file, held until the process ends, however it ends.

    Parameters
    ----------
    path : Path
        The lock file; it is created, and stays.
    """

    def __init__(self, path: Path):
        self.path = path
        self._handle: int | None = None

    def is_free(self) -> bool:
        """Return whether no other process holds the lock at this moment."""
        try:
            handle = os.open(self.path, os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True

    def acquire(self) -> None:
        """Take the lock.

        Raises
        ------
        RuntimeError
            If another process holds it; the message names that process.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip()
            os.close(handle)
            raise RuntimeError(
                f"another run (process {holder}) is working in this folder; wait for it or stop it"
            ) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        self._handle = handle
