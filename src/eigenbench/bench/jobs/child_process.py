"""Processes that end with the one that started them, their logs, and Snakemake's answer to a signal."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None, sent: int = signal.SIGKILL) -> None:
    """Ask Linux for a signal when the parent of this process ends; end now if ``parent`` already has."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, sent)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def run_stoppable(command: Sequence[str]) -> int:
    """Run a command and return its exit code; a signal interrupts all that it started, a second one kills it.

    Snakemake alone waits for its jobs after SIGTERM, and prints a traceback after a second Ctrl-C. A shell
    lets the commands that it starts in the background ignore SIGINT; here they heed it.
    """

    def prepare() -> None:
        end_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(command, process_group=0, preexec_fn=prepare)
    asked = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        os.killpg(process.pid, signal.SIGINT if asked == 1 else signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    code = process.wait()
    if asked:
        print("Stopped. Finished work is kept; the same command continues.", file=sys.stderr)
    return code if code >= 0 else 128 - code


def is_watched() -> bool:
    """Return whether the workflow's view shows the log of the job, which then says nothing beside it."""
    return bool(os.environ.get("EIGENBENCH_WATCHED"))


def log_to(path: Path) -> None:
    """Log to a file in full, and errors to the terminal, unless the workflow's view shows them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.FileHandler(path, mode="w", encoding="utf-8")]
    if not is_watched():
        terminal = logging.StreamHandler(sys.stderr)
        terminal.setLevel(logging.ERROR)
        handlers.append(terminal)
    logging.basicConfig(
        level=logging.WARNING, handlers=handlers, format="%(asctime)s %(message)s", datefmt="%H:%M:%S"
    )
    logging.getLogger("eigenbench").setLevel(logging.INFO)
    logging.captureWarnings(True)
