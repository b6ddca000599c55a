"""How far a run is: jobs done of all, those that run, and the time left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

#: The first jobs say little: the cores count as busy for this many seconds before a run, and jobs of these
#: lengths as having taken what was expected.
_SECONDS_EXPECTED = 60.0
_JOBS_EXPECTED = (2.0, 20.0, 100.0)
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


class Pace:
    """What jobs took beside what was expected: the least-squares line through those that ended.

    An estimate from the size of data is the worse the larger it is, so that one factor for all would be wrong
    for those that are left.
    """

    def __init__(self) -> None:
        self._jobs = self._expected = self._taken = self._squares = self._products = 0.0
        for seconds in _JOBS_EXPECTED:
            self.add(seconds, seconds)

    def add(self, expected: float, taken: float) -> None:
        """Note a job that ended."""
        self._jobs += 1
        self._expected += expected
        self._taken += taken
        self._squares += expected * expected
        self._products += expected * taken

    def line(self) -> tuple[float, float]:
        """Return the seconds that each job takes, and the factor of what is expected; none is negative."""
        spread = self._squares - self._expected**2 / self._jobs
        factor = (self._products - self._expected * self._taken / self._jobs) / spread
        each = (self._taken - factor * self._expected) / self._jobs
        if factor < 0:
            return self._taken / self._jobs, 0.0
        return (each, factor) if each > 0 else (0.0, self._products / self._squares)


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
        self._expected: dict[int, float] | None = None  # of the jobs that are left
        self._pace = Pace()
        self._busy = 0.0

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
        job = self.jobs.get(jobid)
        taken = None
        if job is not None and job.started is not None:
            taken = job.seconds = self.elapsed(job)
            self._busy += taken
            job.started = None
        if self._expected and not failed:
            expected = self._expected.pop(jobid, None)
            if expected is not None and taken is not None:
                self._pace.add(expected, taken)
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
        if self._expected is None:
            return None
        each, factor = self._pace.line()
        left = each * len(self._expected) + factor * sum(self._expected.values())
        busy = self._busy
        for jobid, job in self.jobs.items():
            if job.started is not None and jobid in self._expected:
                elapsed = self.elapsed(job)
                busy += elapsed
                left -= min(elapsed, _MOST_OF_A_JOB * (each + factor * self._expected[jobid]))
        since = 0.0 if self._first is None else self.clock() - self._first
        return left * (since + _SECONDS_EXPECTED) / (busy + _SECONDS_EXPECTED * max(1, self.cores))


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
