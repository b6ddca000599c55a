"""JSON files with a seal, which shows that one was changed after it was written, and sums of other files.

The seal is a field of the JSON object: the SHA-256 of the file's bytes with the 64 hexadecimal digits of the
seal itself replaced by zeros. It is no signature: whoever changes a file on purpose can compute it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import json_text, replacing_file

#: What makes a damaged file again.
REMEDY = "run the same snakemake command again: it is made again"

#: The end of the name of a damaged file that was set aside.
REFUSED = ".refused"

_NO_SEAL = "0" * 64
# A JSON string has no line feed, so this is the key of the object itself, never one inside it.
_SEAL_KEY = b'\n "seal": "'


def write_sealed(path: Path, fields: dict[str, Any]) -> None:
    """Write fields and their seal; ``path`` is either the old file or the whole new one."""
    content = json_text(fields | {"seal": _NO_SEAL}).encode()
    before, key, rest = content.partition(_SEAL_KEY)
    digest = hashlib.sha256(content).hexdigest().encode()
    with replacing_file(path) as temporary:
        temporary.write_bytes(before + key + digest + rest[len(digest) :])


def seal_matches(content: bytes) -> bool:
    """Return whether a file's bytes are those that `write_sealed` wrote."""
    before, key, rest = content.partition(_SEAL_KEY)
    digest = hashlib.sha256(before + key + _NO_SEAL.encode())
    digest.update(rest[len(_NO_SEAL) :])
    return rest[: len(_NO_SEAL)] == digest.hexdigest().encode()


class DamagedFileError(ValueError):
    """A file of a run is missing, cut short, or changed after it was written."""


def file_sums(folder: Path, *names: str) -> dict[str, dict[str, Any]]:
    """Return SHA-256 and size of files by their names: the field ``files`` of a sealed file beside them."""
    sums = {}
    for path in (folder / name for name in names):
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        sums[path.name] = {"sha256": digest, "bytes": path.stat().st_size}
    return sums


def read_sealed(path: Path) -> dict[str, Any]:
    """Read a sealed file and check those that it names; a DamagedFileError names one, which was set aside."""
    content = path.read_bytes()
    if not seal_matches(content):
        raise DamagedFileError(f"{path}: changed after it was written; {set_aside(path)}")
    fields: dict[str, Any] = json.loads(content)
    check_sums(path, fields.get("files") or {}, content)
    return fields


def check_sums(path: Path, files: Mapping[str, Mapping[str, Any]], content: bytes) -> None:
    """Check files by the SHA-256 and size that the sealed file ``path`` beside them names; see `read_sealed`.

    ``content`` is the sealed file as it was read: where another took its place since, nothing is said.
    """
    for name, expected in files.items():
        file = path.with_name(name)
        try:
            intact = file_sums(path.parent, name)[name]["sha256"] == expected["sha256"]
        except OSError as error:
            raise DamagedFileError(f"{file}: cannot be read ({error.strerror}); {REMEDY}") from error
        if not intact and path.exists() and path.read_bytes() == content:
            raise DamagedFileError(f"{file}: not as its record says; {set_aside(file)}")


def set_aside(path: Path) -> str:
    """Rename a damaged file, so that the workflow makes it again; return what was done, for a message."""
    aside = path.with_name(f"{path.name}{REFUSED}")
    with suppress(OSError):
        path.replace(aside)
        return f"set aside as {aside.name}; {REMEDY}"
    return f"it cannot be renamed: delete it, then {REMEDY}"
