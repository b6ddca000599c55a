"""Progress of a run: jobs done of all, those that run, the time left, and what went wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from eigenbench.bench.jobs.attempts import ask_slurm

#: The first jobs say little: the cores count as busy, and jobs as having taken what was expected, for so many
#: seconds before a run.
_SECONDS_EXPECTED = 60.0
#: A running job is at most this far: its own end is not foreseen.
_MOST_OF_A_JOB = 0.9
#: How much of a log is read for its last lines.
_BYTES = 4000
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


@dataclass
class Job:
    """A job that was started: its description, rule and files, when it began, and how long it took."""

    text: str
    rule: str = ""
    logs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    started: float | None = None
    seconds: float = 0.0


class JobProgress:
    """The state of a run, by a clock that returns seconds."""

    def __init__(self, clock: Callable[[], float]):
        self.clock = clock
        self.begun = clock()
        self.cores = 1
        self.done = self.total = 0
        self.jobs: dict[int, Job] = {}
        self.left: Counter[str] = Counter()  # jobs that are not done, by their rules
        self.expected: Mapping[str, float] = {}  # seconds of a job, by its rule
        self._first: float | None = None
        self._busy = self._expected_of_done = 0.0

    def start(self, jobid: int, job: Job) -> None:
        """Note that a job runs."""
        job.started = self.clock()
        self._first = job.started if self._first is None else self._first
        self.jobs[jobid] = job

    def finish(self, jobid: int, failed: bool = False) -> Job | None:
        """Note that a job ended; one that failed may be tried again. Return it, if it is known."""
        job = self.jobs.get(jobid)
        if job is not None and job.started is not None:
            job.seconds = self.elapsed(job)
            job.started = None
            if not failed:
                self._busy += job.seconds
                self._expected_of_done += self.expected.get(job.rule, 0.0)
                self.left[job.rule] -= 1
        return job

    def elapsed(self, job: Job | None = None) -> float:
        """Return the seconds since a job, or the run, began."""
        since = self.begun if job is None or job.started is None else job.started
        return self.clock() - since

    @property
    def running(self) -> list[Job]:
        """The jobs that run, the one that runs longest first."""
        return sorted(
            (job for job in self.jobs.values() if job.started is not None), key=lambda job: job.started or 0
        )

    @property
    def seconds_left(self) -> float | None:
        """The time left, by the pace of the jobs so far and as many at once as ran; None if unknown."""
        if not self.expected:
            return None
        pace = (self._busy + _SECONDS_EXPECTED) / (self._expected_of_done + _SECONDS_EXPECTED)
        left = pace * sum(count * self.expected.get(rule, 0.0) for rule, count in self.left.items())
        busy = self._busy
        for job in self.running:
            busy += self.elapsed(job)
            left -= min(self.elapsed(job), _MOST_OF_A_JOB * pace * self.expected.get(job.rule, 0.0))
        since = 0.0 if self._first is None else self.clock() - self._first
        return left * (since + _SECONDS_EXPECTED) / (busy + _SECONDS_EXPECTED * max(1, self.cores))

    @property
    def time_left(self) -> str:
        """The time left as the end of a line, such as ``, about 2 min left``; it is rounded to minutes."""
        left = self.seconds_left
        if left is None or self.done >= self.total:
            return ""
        return ", less than a minute left" if left < 50 else f", about {_minutes(left)} left"


def failed_runs(outputs: Iterable[str]) -> list[str]:
    """Return a line for each reason why runs of a job, or candidates of searches, failed or are doubtful."""
    reasons: dict[str, list[str]] = {}
    for path in map(Path, outputs):
        if path.name != "record.json":
            continue
        try:
            record = json.loads(path.read_bytes())
            status, failure = record["status"], record["failure"]
            search = record.get("search") or {"candidates": ()}
            tried = [candidate["status"] for candidate in search["candidates"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for warning in record.get("warnings") or ():
            reasons.setdefault(f"doubtful: {warning}", []).append(str(path.parent))
        if status != "ok":
            why = f"{failure['type']}: {failure['message']}" if failure else "no reason recorded"
            line = f"{status.replace('_', ' ')}: {' '.join(why.split())}"
            reasons.setdefault(line, []).append(str(path.parent))
        elif absent := sum(one != "ok" for one in tried):
            line = f"{absent} of {len(tried)} candidates of the search failed"
            reasons.setdefault(line, []).append(str(path.parent))
    return [
        f"{why} ({folders[0]}{f' and {len(folders) - 1} more' if len(folders) > 1 else ''})"
        for why, folders in reasons.items()
    ]


def last_lines(logs: Iterable[str], lines: int = 3) -> list[str]:
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


def slurm_failure(job: str) -> str:
    """Return why a SLURM job failed, ``error`` for a reason of its own, ``unknown`` where nobody can say."""
    state = re.search(r"JobState=(\w+)", ask_slurm("scontrol", "--oneliner", "show", "job", job))
    if state is None:
        return "unknown"
    folder = Path(".snakemake")
    for log in (*folder.glob(f"slurm_logs/**/{job}.log"), folder / "log" / f"job-{job}.log"):
        # SLURM ends some jobs for their memory and says only that they failed.
        if log.exists() and re.search(r"memory limit|oom.kill", log.read_text(errors="replace"), re.I):
            return "out of memory"
    return _REASONS.get(state[1], "error")


def duration(seconds: float) -> str:
    """Return a duration in one or two units.

    Examples
    --------
    >>> duration(7.4), duration(75), duration(4000), duration(90_000)
    ('7 s', '1 min 15 s', '1 h 06 min', '1 d 1 h')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _minutes(seconds: float) -> str:
    return duration(60 * round(seconds / 60)).removesuffix(" 00 s")
