"""The model of all kinds of source, and the folder that a fetch works in."""

import os
import re
import sys
from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from eigenbench.datasets.strict_model import Sha256, StrictModel


def _relative(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\\" in path or ".." in parts:
        raise ValueError(f"{path!r} is not a relative path inside its folder")
    return path


RelativePath = Annotated[str, AfterValidator(_relative)]
Requirement = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+$")]
Step = Literal[
    "gzip", "bzip2", "xz", "drop_first_line", "label_last", "sort_lines", "pack_tar", "adult_to_a9a"
]


#: User name and password of an address, and the values of its query.
_SECRETS = re.compile(r"(?<=://)[^/\s'\"]*@|(?<=\?)[^\s'\"()]*=[^\s'\"()]*")


def without_secrets(text: str) -> str:
    """Return a text whose addresses have no user name, password or query."""
    return _SECRETS.sub(lambda found: "…" if found[0][-1] != "@" else "", text)


class SourceUnavailable(Exception):
    """A source can't be reached or lacks the file; the message says why. The next source is tried."""

    def __init__(self, message: str):
        super().__init__(without_secrets(message))


@dataclass
class StagingArea:
    """A temporary folder of one fetch, on the file system of the data folder; removed when the fetch ends.

    ``downloads`` has the archive, or why there is none, by what was asked for: several files often share one.
    """

    folder: Path
    dataset: str
    progress: bool
    downloads: dict[str, Path | str] = field(default_factory=dict)

    def say(self, message: str) -> None:
        """Print a progress line."""
        if self.progress:
            print(f"{self.dataset}: {without_secrets(message)}", file=sys.stderr, flush=True)


class Source(StrictModel):
    """A place that may have a raw file.

    ``sha256`` is the sum of the bytes as the source gives them, checked before anything is decoded; without
    it only the file's own sum, that of the decoded bytes, is checked. ``decode`` are the steps, in order,
    from the source's bytes to the file's bytes. ``kind`` names the key that says where it is.
    """

    kind: ClassVar[str]
    sha256: Sha256 | None = None
    decode: tuple[Step, ...] = ()

    def __str__(self) -> str:
        member = getattr(self, "member", None)
        place = without_secrets(getattr(self, self.kind))
        return " ".join([self.kind, place, *([member] if member else [])])

    @abstractmethod
    def obtain(self, staging: StagingArea, limit: int) -> Path:
        """Return the path of the source's bytes, not yet decoded and at most ``limit`` of them.

        Raises `SourceUnavailable` if the source can't be reached or lacks the file; `MalformedData` or
        `ChecksumMismatch` for what is too large, a broken archive, or not what an index says.
        """

    def own_sum(self, path: Path, checked: datetime | None) -> str | None:
        """Return the SHA-256 of what the user has there now, None for a source that is not the user's.

        ``path`` is the raw file, ``checked`` when what it was made from was read, None for a new one. Raises
        `SourceUnavailable` if nothing is there.
        """
        return None


def readable(path: Path) -> Path:
    """Return the path of a file, or raise `SourceUnavailable` if it can't be read."""
    if not path.is_file():
        raise SourceUnavailable(f"no file {path}")
    if not os.access(path, os.R_OK):
        raise SourceUnavailable(f"no permission to read {path}")
    return path


def mirror_folder() -> Path:
    """Return the folder that EIGENBENCH_MIRROR names, or raise `SourceUnavailable`."""
    mirror = os.environ.get("EIGENBENCH_MIRROR")
    if not mirror:
        raise SourceUnavailable("EIGENBENCH_MIRROR is not set")
    return Path(mirror).expanduser().absolute()
