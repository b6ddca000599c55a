"""Whether the workflow's own view shows what a job does."""

from __future__ import annotations

import os


def is_watched() -> bool:
    """Return whether the view reads the job's log; what else the job says would be written into the view."""
    return bool(os.environ.get("EIGENBENCH_WATCHED"))
