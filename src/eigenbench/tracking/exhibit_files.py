"""The exhibits of a run as pictures, for those who look at it in the dashboard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from eigenbench.bench.exhibits import Exhibit

_FOLDER = "exhibits"
_NAME_LENGTH = 80


def write_exhibits(folder: Path, exhibits: Sequence[Exhibit]) -> None:
    """Draw a run's exhibits as ``exhibits/<place>-<title>.png`` in a folder; empty ones are left out."""
    if not exhibits:
        return
    from eigenbench.reporting.exhibit_plots import as_png

    for place, exhibit in enumerate(exhibits, start=1):
        picture = as_png(exhibit)
        if picture is not None:
            (folder / _FOLDER).mkdir(exist_ok=True)
            (folder / _FOLDER / f"{place:02d}-{_file_name(exhibit.title)}.png").write_bytes(picture)


def _file_name(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-").lower()[:_NAME_LENGTH]
