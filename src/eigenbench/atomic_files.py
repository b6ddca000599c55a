"""Files that are either as they were or whole and new, whatever interrupts the writing.

New content is written beside its place, flushed to the disk, and renamed, all on one file system.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_SUFFIX = ".tmp"


@contextlib.contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Give an empty file that becomes ``path`` when the block ends, and is removed when it fails.

    It lies in the folder of ``path``, which is created when absent. After an OSError ``path`` is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_SUFFIX}")
    temporary.touch(exist_ok=False)  # with the permissions of the umask, unlike those of `tempfile`
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_entries(folder: Path) -> Iterator[Path]:
    """Give an empty folder whose files and folders replace those of the same names in ``folder``.

    Nothing is replaced before everything has been written and flushed: after an OSError ``folder`` is as it
    was. A folder is replaced as a whole: what it held before is gone. ``folder`` is created when absent.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".", suffix=_SUFFIX) as name:
        new, old = Path(name) / "new", Path(name) / "old"
        new.mkdir()
        old.mkdir()
        yield new
        for path in new.rglob("*"):
            _flush(path)
        for entry in sorted(new.iterdir()):
            target = folder / entry.name
            if target.exists() and (target.is_dir() or entry.is_dir()):
                target.replace(old / entry.name)
            entry.replace(target)


@contextlib.contextmanager
def making_folder(folder: Path) -> Iterator[Path]:
    """Give an empty folder that becomes ``folder`` when the block ends, and is removed when it fails.

    ``folder`` must not exist or be empty; after an OSError there is none. What an earlier call that was
    killed left beside it is removed first.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f".{folder.name}.????????{_SUFFIX}"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.", suffix=_SUFFIX) as name:
        new = Path(name) / "new"
        new.mkdir()
        yield new
        for path in (new, *new.rglob("*")):
            _flush(path)
        new.rename(folder)


def remove_unfinished(folder: Path) -> None:
    """Remove what writers that were killed left anywhere below ``folder``; nobody may be writing there."""
    for left in sorted(folder.rglob(f".*{_SUFFIX}")):
        if not re.fullmatch(rf"\.(.+\.)?[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", left.name):
            continue
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write a value as `json_text`, completely or not at all; a ValueError for NaN and infinity."""
    with replacing_file(path) as temporary:
        temporary.write_text(json_text(value), encoding="utf-8")


def json_text(value: Any) -> str:
    """Return a value as JSON text: one key a line, sorted, each level indented by one space."""
    return json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n"


def _flush(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    # Windows flushes only what is open for writing.
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
