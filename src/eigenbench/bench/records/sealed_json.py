"""JSON files with a seal, which shows that one was changed after it was written.

The seal is a field of the JSON object: the SHA-256 of the file's bytes with the 64 hexadecimal digits of the
seal itself replaced by zeros. It is no signature: whoever changes a file on purpose can compute it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import json_text, replacing_file

_NO_SEAL = "0" * 64
# A JSON string has no line feed, so this is the key of the object itself, never one inside it.
_SEAL_KEY = b'\n "seal": "'


def write_sealed(path: Path, fields: dict[str, Any]) -> None:
    """Write fields and their seal; ``path`` is either the old file or the whole new one.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
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
