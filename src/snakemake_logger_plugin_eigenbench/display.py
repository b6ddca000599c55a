"""The two ways to show a run: one place of the terminal that changes, or plain lines."""

from __future__ import annotations

import re

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from snakemake_logger_plugin_eigenbench.failures import last_lines
from snakemake_logger_plugin_eigenbench.progress import Job, Progress, duration, roughly

_REFRESHES_PER_SECOND = 2
_MOST_JOBS = 6
# When a job said something stands in its log; the view says how long it runs.
_TIME = re.compile(r"\d\d:\d\d:\d\d ")


class Lines:
    """A line when the run begins, for each job that is done, and at the end.

    Parameters
    ----------
    console : Console
        Where to print.
    progress : Progress
        The state of the run.
    """

    def __init__(self, console: Console, progress: Progress):
        self.console = console
        self.progress = progress
        self._started = self._stopped = False

    def say(self, text: str, style: str = "") -> None:
        """Print a line that stays."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def start(self) -> None:
        """Begin, once."""
        if not self._started:
            self._started = True
            self._begin()

    def _begin(self) -> None:
        self.say(headline(self.progress))

    def finished(self, job: Job) -> None:
        """Show that a job is done."""
        progress = self.progress
        done = min(progress.done + 1, progress.total)
        self.say(f"{done} of {progress.total} done: {job.text} ({duration(job.seconds)}){_left(progress)}")

    def stop(self) -> None:
        """End, once."""
        if self._started and not self._stopped:
            self._stopped = True
            progress = self.progress
            self.say(f"{progress.done} of {progress.total} jobs done in {duration(progress.elapsed())}")


class LiveView(Lines):
    """One place of the terminal: a bar, the time left, and the jobs that run with what they last said."""

    def _begin(self) -> None:
        self._live = Live(
            get_renderable=self._shown,
            console=self.console,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=True,
        )
        self._live.start()

    def finished(self, job: Job) -> None:
        """Show that a job is done, by what the place says from now on."""

    def stop(self) -> None:
        """Remove the place, once, and leave one line."""
        if self._started and not self._stopped:
            self._live.stop()
        super().stop()

    def _shown(self) -> RenderableType:
        progress = self.progress
        heading = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(1, progress.total), completed=progress.done, width=24)
        heading.add_row(Text(headline(progress, shown=progress.done)), bar)
        running = progress.running
        rows: list[RenderableType] = [heading]
        if running:
            rows.append(self._jobs(running[:_MOST_JOBS]))
        if len(running) > _MOST_JOBS:
            rows.append(Text(f"  and {len(running) - _MOST_JOBS} more", style="dim"))
        return Group(*rows)

    def _jobs(self, running: list[Job]) -> Table:
        """A line for each job: what it does, for how long, and what it last said."""
        table = Table.grid(padding=(0, 0, 0, 2))
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=self.console.width // 2)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, overflow="ellipsis", style="dim", ratio=1)
        for job in running:
            said = "".join(last_lines(job.logs, 1))
            since = duration(self.progress.elapsed(job))
            table.add_row(*map(Text, (f"  {job.text}", since, _TIME.sub("", said, count=1))))
        return table


def headline(progress: Progress, shown: int | None = None) -> str:
    """Return what runs, how many jobs there are, and the time left."""
    title = f"{progress.title}: " if progress.title else ""
    count = f"{progress.total} jobs" if shown is None else f"{shown} of {progress.total} jobs"
    return f"{title}{count}{_left(progress)}"


def _left(progress: Progress) -> str:
    left = progress.seconds_left
    return "" if left is None or progress.done >= progress.total else f", {roughly(left)} left"
