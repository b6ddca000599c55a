"""The log of a job: everything in a file, errors and progress on the terminal."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path


def is_watched() -> bool:
    """Return whether the workflow's view shows the log of the job, which then says nothing beside it."""
    return bool(os.environ.get("EIGENBENCH_WATCHED"))


def log_to(path: Path) -> None:
    """Log to a file in full, and to the terminal the errors and one line of progress every few seconds.

    Where the run is watched, as by the workflow's own view, which shows what the file says, only to the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.FileHandler(path, mode="w", encoding="utf-8")]
    if not is_watched():
        terminal = logging.StreamHandler(sys.stderr)
        terminal.addFilter(_ProgressInterval())
        handlers.append(terminal)
    logging.basicConfig(
        level=logging.WARNING, handlers=handlers, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    logging.getLogger("eigenbench").setLevel(logging.INFO)
    logging.captureWarnings(True)
    if job := os.environ.get("SLURM_JOB_ID"):  # the next attempt asks SLURM why this one failed
        logging.getLogger("eigenbench").info("SLURM job %s", job)


class _ProgressInterval(logging.Filter):
    """Lets errors through, and of other lines one in a while; warnings stand in the log file only."""

    SECONDS = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.shown = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.ERROR:
            return True
        if record.name == "py.warnings" or record.created - self.shown < self.SECONDS:
            return False
        self.shown = record.created
        return True
