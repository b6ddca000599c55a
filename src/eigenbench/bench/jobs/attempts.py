"""Memory and time that each attempt at a job asks for: twice as much as the one before."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

#: Attempts after the first. The last records a fit that is killed as failed, so that the rest goes on.
RETRIES = 2

#: Why SLURM never starts a job that asks for more time than it may get.
_TOO_LONG = {"PartitionTimeLimit", "QOSMaxWallDurationPerJobLimit", "AssocMaxWallDurationPerJobLimit"}
_WATCH_SECONDS = 20


class Attempts:
    """Memory, time and groups of jobs, as rules ask for them.

    ``max_runtime`` are the minutes that a job may ask for at most; by default those of the SLURM partition,
    which the default resources of ``snakemake``, Snakemake's workflow, name.
    """

    def __init__(self, max_runtime: int | None, snakemake: Any = None):
        self._max_runtime, self.snakemake = max_runtime, snakemake

    @property
    def on_slurm(self) -> bool:
        """True if SLURM runs the jobs; known once Snakemake plans them."""
        executor = self.snakemake.executor_plugin if self.snakemake else None
        return executor is not None and executor.name == "slurm"

    @cached_property
    def max_runtime(self) -> int | None:
        """The minutes that a job may ask for at most."""
        if self._max_runtime is not None or not self.on_slurm:
            return self._max_runtime
        partition = (self.snakemake.resource_settings.default_resources or {}).get("slurm_partition")
        return partition_limit(None if partition is None else str(partition.raw).strip("'\""))

    def mem_mb(self, first: int | Callable[[Any], int]) -> Callable[..., int]:
        """Return the memory of a rule's jobs, by wildcards and attempt."""
        return lambda wildcards, attempt: (first(wildcards) if callable(first) else first) << attempt - 1

    def runtime(self, first: int, jobs: Callable[[Any], int] = lambda w: 1) -> Callable[..., int]:
        """Return the minutes of a rule's jobs, ``jobs`` of which may share a cluster job; see `mem_mb`."""

        def minutes(wildcards: Any, attempt: int) -> int:
            asked = first << attempt - 1
            if self.max_runtime is None:
                return asked
            shared = jobs(wildcards) if self._may_share(jobs(wildcards), first) else 1
            return min(asked, self.max_runtime // max(1, shared))

        return minutes

    def group(self, name: str, minutes: int, jobs: Callable[[Any], int]) -> Callable[[Any], str | None]:
        """Return the group of a rule's jobs: none where ``jobs`` of them are too long for one cluster job."""
        return lambda w: name if jobs(w) and self._may_share(jobs(w), minutes) else None

    def _may_share(self, jobs: int, minutes: int) -> bool:
        return self.max_runtime is None or jobs * minutes <= self.max_runtime

    def report_endless_waiting(self, warn: Callable[[str], None]) -> None:
        """Cancel SLURM jobs that can never start, and ``warn`` of them, in the background."""

        def watch() -> None:
            while True:
                time.sleep(_WATCH_SECONDS)
                cancel_what_cannot_start(self.snakemake.workdir_init, warn)

        if self.on_slurm:
            threading.Thread(target=watch, daemon=True).start()


def attempts_left(wildcards: Any, attempt: int) -> int:
    """Return how often a job is tried again; an integer, on which the jobs of a cluster's group can agree."""
    return max(0, 1 + RETRIES - attempt)


def partition_limit(partition: str | None) -> int | None:
    """Return the minutes that a job has on a SLURM partition, or on the default one; None for no limit."""
    for line in ask_slurm("sinfo", "--noheader", "--format=%P|%l").splitlines():
        name, _, limit = line.partition("|")
        if name.rstrip("*") == partition or (partition is None and name.endswith("*")):
            return _minutes(limit)
    return None


def cancel_what_cannot_start(folder: str, warn: Callable[[str], None]) -> None:
    """Cancel SLURM jobs of a ``folder`` that ask for too much time ever to start; ``warn`` once a limit."""
    listed = ask_slurm("squeue", "--me", "--noheader", "--states=PENDING", "--format=%i|%r|%l|%P|%Z")
    messages = {}
    for line in listed.splitlines():
        job, reason, limit, partition, place = line.split("|", 4)
        if reason in _TOO_LONG and place == folder:
            ask_slurm("scancel", job)
            messages[reason, limit, partition] = (
                f"A job asks for {_minutes(limit)} minutes, more than SLURM allows on the partition "
                f"{partition} ({reason}), and was cancelled: set max_runtime in config/config.yaml, or name "
                "another partition with --default-resources slurm_partition=NAME"
            )
    for message in messages.values():
        warn(message)


def _minutes(limit: str) -> int | None:
    """Return a time of SLURM's, such as ``60:00``, ``1:00:00`` or ``2-00:00:00``, in minutes."""
    days, _, clock = limit.rpartition("-")
    if not re.fullmatch(r"[\d:]+", clock):
        return None
    hours, minutes, _ = ([0, 0, 0] + [int(part) for part in clock.split(":")])[-3:]
    return int(days or 0) * 1440 + hours * 60 + minutes


def ask_slurm(*command: str) -> str:
    """Return what a command of SLURM's prints; nothing where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
