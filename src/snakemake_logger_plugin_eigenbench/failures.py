"""What went wrong in a job, from its log and from the records that it wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

_LINES = 3
_BYTES = 4000


def failed_runs(outputs: Iterable[str]) -> list[str]:
    """Return a line for each reason why runs of a finished job have no result; it is in their records."""
    reasons: dict[str, list[str]] = {}
    for path in map(Path, outputs):
        if path.name != "record.json":
            continue
        try:
            record = json.loads(path.read_bytes())
            status, failure = record["status"], record["failure"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if status != "ok":
            why = f"{failure['type']}: {failure['message']}" if failure else "no reason recorded"
            reasons.setdefault(f"{status.replace('_', ' ')}: {' '.join(why.split())}", []).append(
                str(path.parent)
            )
    return [
        f"{why} ({folders[0]}{f' and {len(folders) - 1} more' if len(folders) > 1 else ''})"
        for why, folders in reasons.items()
    ]


def last_lines(logs: Iterable[str], lines: int = _LINES) -> list[str]:
    """Return the last lines of the first of some log files that can be read and has any."""
    for log in logs:
        try:
            with Path(log).open("rb") as stream:
                stream.seek(0, 2)
                stream.seek(max(0, stream.tell() - _BYTES))
                text = stream.read().decode(errors="replace")
        except OSError:
            continue
        if found := [line for line in text.splitlines() if line.strip()]:
            return found[-lines:]
    return []
