"""Memory and time that each attempt at a job asks for: more of what the one before ran out of."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

#: Attempts after the first. The last records a fit that is killed as failed, so that the rest goes on.
RETRIES = 2

#: Why a job failed, by the state that SLURM gives it.
_REASONS = {
    "TIMEOUT": "out of time",
    "DEADLINE": "out of time",
    "OUT_OF_MEMORY": "out of memory",
    "CANCELLED": "cancelled",
    "NODE_FAIL": "node failed",
    "BOOT_FAIL": "node failed",
    "PREEMPTED": "preempted",
}
#: Why SLURM never starts a job that asks for more time than it may get.
_TOO_LONG = {"PartitionTimeLimit", "QOSMaxWallDurationPerJobLimit", "AssocMaxWallDurationPerJobLimit"}
_WATCH_SECONDS = 20


class Attempts:
    """Memory, time and groups of jobs, as rules ask for them.

    ``logs`` has the log of a job by the name of its rule, with the names of wildcards in braces.
    ``max_runtime`` are the minutes that a job may ask for at most; by default those of the SLURM partition,
    which the default resources of ``snakemake``, Snakemake's workflow, name.
    """

    def __init__(self, logs: Mapping[str, str], max_runtime: int | None, snakemake: Any = None):
        self.logs, self.snakemake = logs, snakemake
        self._max_runtime = max_runtime
        self._failures: dict[tuple[str, int], str] = {}

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
        """Return the memory of a rule's jobs: ``first``, doubled by each lack of memory."""

        def memory(wildcards: Any, attempt: int, rulename: str) -> int:
            needed = first(wildcards) if callable(first) else first
            return needed * self._factor("out of memory", wildcards, attempt, rulename)

        return memory

    def runtime(self, first: int, jobs: Callable[[Any], int] = lambda w: 1) -> Callable[..., int]:
        """Return the minutes of a rule's jobs, ``jobs`` of which may share a cluster job; see `mem_mb`."""

        def minutes(wildcards: Any, attempt: int, rulename: str) -> int:
            asked = first * self._factor("out of time", wildcards, attempt, rulename)
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
        if self.on_slurm:
            arguments = (self.snakemake.workdir_init, warn)
            threading.Thread(target=_watch, args=arguments, daemon=True).start()

    def _factor(self, lack: str, wildcards: Any, attempt: int, rule: str) -> int:
        """Return 2 for each earlier attempt that failed by this lack, or for an unknown reason."""
        log = self.logs[rule].format_map(dict(wildcards.items()))
        for earlier in range(1, attempt):
            if (log, earlier) not in self._failures:
                self._failures[log, earlier] = failure_reason(Path(log))
        return 2 ** sum(self._failures[log, earlier] in (lack, "unknown") for earlier in range(1, attempt))


def attempts_left(wildcards: Any, attempt: int) -> int:
    """Return how often a job is tried again; an integer, on which the jobs of a cluster's group can agree."""
    return max(0, 1 + RETRIES - attempt)


def failure_reason(log: Path) -> str:
    """Return why the last attempt at a job failed, by its log and by SLURM where that ran it.

    ``out of memory``, ``out of time``, ``cancelled``, ``node failed``, ``preempted``, ``error``, ``not
    begun``, or ``unknown`` where nobody can say.
    """
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if not text:  # Snakemake makes an empty log for a job that left none
        return "not begun"
    job = re.search(r"SLURM job (\d+)", text)
    reason = slurm_failure(job[1]) if job else "unknown"
    # A lack of memory that only the fit met, or that SLURM calls by no name.
    return "out of memory" if reason in ("error", "unknown") and "out of memory" in text else reason


def slurm_failure(job: str) -> str:
    """Return why a SLURM job failed; see `failure_reason`."""
    state = re.search(r"JobState=(\w+)", _ask("scontrol", "--oneliner", "show", "job", job))
    if state is None:
        return "unknown"
    folder = Path(".snakemake")
    for log in (*folder.glob(f"slurm_logs/**/{job}.log"), folder / "log" / f"job-{job}.log"):
        # SLURM ends some jobs for their memory and says only that they failed.
        if log.exists() and re.search(r"memory limit|oom.kill", log.read_text(errors="replace"), re.I):
            return "out of memory"
    return _REASONS.get(state[1], "error")


def partition_limit(partition: str | None) -> int | None:
    """Return the minutes that a job has on a SLURM partition, or on the default one; None for no limit."""
    for line in _ask("sinfo", "--noheader", "--format=%P|%l").splitlines():
        name, _, limit = line.partition("|")
        if name.rstrip("*") == partition or (partition is None and name.endswith("*")):
            return _minutes(limit)
    return None


def _watch(folder: str, warn: Callable[[str], None]) -> None:
    while True:
        time.sleep(_WATCH_SECONDS)
        cancel_what_cannot_start(folder, warn)


def cancel_what_cannot_start(folder: str, warn: Callable[[str], None]) -> None:
    """Cancel the user's SLURM jobs, submitted from ``folder``, that ask for too much time ever to start.

    ``warn`` gets one sentence for each limit.
    """
    listed = _ask("squeue", "--me", "--noheader", "--states=PENDING", "--format=%i|%r|%l|%P|%Z")
    messages = {}
    for line in listed.splitlines():
        job, reason, limit, partition, place = line.split("|", 4)
        if reason in _TOO_LONG and place == folder:
            _ask("scancel", job)
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


def _ask(*command: str) -> str:
    """Return what a command of SLURM's prints; nothing where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
