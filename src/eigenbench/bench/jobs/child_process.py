"""Processes that end with the one that started them, and Snakemake's command with one answer to a signal."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType

_PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent ends (Linux).

    Parameters
    ----------
    parent : int, optional
        The process that is the parent: where it has ended already, this process does so, too.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def run_stoppable(command: Sequence[str]) -> int:
    """Run a command and return its exit code; a signal interrupts all that it started, a second one kills it.

    Snakemake alone would wait for its jobs after SIGTERM, and print a traceback after a second Ctrl-C.
    """
    process = subprocess.Popen(command, process_group=0, preexec_fn=end_with_parent)
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
