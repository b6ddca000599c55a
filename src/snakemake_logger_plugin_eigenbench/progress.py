"""How far a run is: jobs done of all, those that run, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

#: The expected pace weighs as much as this many seconds of a run: the first jobs say little.
_SECONDS_EXPECTED = 60.0
#: A running job is at most this far: its own end is not foreseen.
_MOST_OF_A_JOB = 0.9


@dataclass
class Job:
    """A job that was started.

    Attributes
    ----------
    text : str
        What it does.
    logs, outputs : list of str
        Its files.
    started : float or None
        When, by the run's clock, in seconds.
    seconds : float
        How long it took.
    """

    text: str
    logs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    started: float | None = None
    seconds: float = 0.0


class Progress:
    """The state of a run.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float]):
        self.clock = clock
        self.begun = clock()
        self._first: float | None = None
        self.title = ""
        self.cores = 1
        self.done = self.total = 0
        self.jobs: dict[int, Job] = {}
        self._expected: dict[int, float] = {}
        self._finished: set[int] = set()

    def expect(self, title: str, seconds: Mapping[int, float]) -> None:
        """Set what runs, and the seconds that each job is expected to take."""
        self.title = title
        self._expected = dict(seconds)

    def start(self, jobid: int, job: Job) -> None:
        """Note that a job runs."""
        job.started = self.clock()
        self._first = job.started if self._first is None else self._first
        self.jobs[jobid] = job

    def finish(self, jobid: int, failed: bool = False) -> Job | None:
        """Note that a job ended; one that failed may be tried again. Return it, if it is known."""
        if not failed:
            self._finished.add(jobid)
        job = self.jobs.get(jobid)
        if job is not None and job.started is not None:
            job.seconds = self.elapsed(job)
            job.started = None
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
        """The time left: what is expected of the rest, at the pace of the jobs so far; None if unknown."""
        if not self._expected:
            return None
        work = sum(self._expected.values())
        done = sum(seconds for jobid, seconds in self._expected.items() if jobid in self._finished)
        for jobid, job in self.jobs.items():
            if job.started is not None and jobid not in self._finished:
                done += min(self.elapsed(job), _MOST_OF_A_JOB * self._expected.get(jobid, 0.0))
        elapsed = 0.0 if self._first is None else self.clock() - self._first
        pace = (elapsed + _SECONDS_EXPECTED) / (done + _SECONDS_EXPECTED * max(1, self.cores))
        return max(0.0, work - done) * pace


def duration(seconds: float) -> str:
    """Return a duration in one or two units.

    Examples
    --------
    >>> duration(7.4), duration(75), duration(4000), duration(90_000)
    ('7 s', '1 min 15 s', '1 h 06 min', '1 d 1 h')
    """
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def roughly(seconds: float) -> str:
    """Return an estimate no more exact than it is.

    Examples
    --------
    >>> roughly(20), roughly(100), roughly(4000)
    ('less than a minute', 'about 2 min', 'about 1 h 07 min')
    """
    if seconds < 50:
        return "less than a minute"
    if seconds < 3570:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {duration(60 * round(seconds / 60))}"
