"""Memory and time that each attempt at a job asks for: twice as much as the one before."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import cached_property
from typing import Any

#: Attempts after the first. The last records a fit that is killed as failed, so that the rest goes on.
RETRIES = 2


class Attempts:
    """Memory, time and groups of jobs, as rules ask for them.

    ``max_runtime`` are the minutes that a job may ask for at most; by default those of the SLURM partition,
    which the default resources of ``snakemake``, Snakemake's workflow, name.
    """

    def __init__(self, max_runtime: int | None, snakemake: Any = None):
        self._max_runtime, self.snakemake = max_runtime, snakemake

    @cached_property
    def max_runtime(self) -> int | None:
        """The minutes that a job may ask for at most; known once Snakemake plans jobs."""
        executor = self.snakemake.executor_plugin if self.snakemake else None
        if self._max_runtime is not None or executor is None or executor.name != "slurm":
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
