"""Processes that work in a folder."""

from collections.abc import Iterator
from pathlib import Path


def processes_in(folder: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the command line of each process that works in a folder or names it."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = (entry / "cwd").readlink()
        except OSError:  # it has ended, or is another user's
            continue
        if place.is_relative_to(folder) or str(folder) in told:
            yield int(entry.name), told
