"""A calm view of a run for ``snakemake --logger eigenbench``, which `profiles/default` chooses.

On a terminal it shows one place that changes: jobs done of all, time left, and what runs now. Elsewhere it
prints a line for each job that is done. Failures are printed as they come. Snakemake's own log is complete in
``.snakemake/log``; with ``--verbose``, ``--printshellcmds`` and in dry runs it is shown as Snakemake does.
"""

from __future__ import annotations

import os
import re
import sys
import time
from logging import INFO, WARNING, LogRecord
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from eigenbench.datasets.project_files import set_cache_folder
from snakemake_logger_plugin_eigenbench.job_progress import (
    Job,
    JobProgress,
    duration,
    failed_runs,
    last_lines,
    slurm_failure,
)

# Jobs that are watched write what they do into their log files only.
_WATCHED = "EIGENBENCH_WATCHED"
# Messages of Snakemake that are no events and that a user needs.
_SHOWN = ("Nothing to be done", "Trying to restart job", "Shutting down")
_MOST_JOBS = 6
# Warnings of SLURM's executor where SLURM keeps no accounts, which nothing needs there.
_NO_ACCOUNTS = ("sacct", "No SLURM account given", "Unable to guess SLURM account")
# The time of a line in a job's log; the view says how long the job runs.
_TIME = re.compile(r"\d\d:\d\d:\d\d ")
# The log of a SLURM job, which has its number.
_SLURM_LOG = re.compile(r"slurm_logs/.*?(\d+)\.log$")


class View:
    """A bar, the time left and the running jobs in one place of a terminal; elsewhere a line for each job."""

    def __init__(self, console: Console, progress: JobProgress):
        self.console = console
        self.progress = progress
        self.live: Live | None = None
        if console.is_terminal and not console.is_dumb_terminal:
            self.live = Live(get_renderable=self.shown, console=console, refresh_per_second=2, transient=True)
        self._started = self._stopped = False

    def say(self, text: str, style: str = "") -> None:
        """Print a line that stays."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def start(self) -> None:
        """Begin, once."""
        if not self._started and self.live:
            self.live.start()
        elif not self._started:
            self.say(f"{self.progress.total} jobs{self.progress.time_left}")
        self._started = True

    def finished(self, job: Job) -> None:
        """Show that a job is done."""
        progress = self.progress
        if not self.live:
            done = f"{min(progress.done + 1, progress.total)} of {progress.total} done"
            self.say(f"{done}: {job.text} ({duration(job.seconds)}){progress.time_left}")

    def stop(self) -> None:
        """End, once, with one line."""
        if self._started and not self._stopped:
            self._stopped = True
            if self.live:
                self.live.stop()
            progress = self.progress
            self.say(f"{progress.done} of {progress.total} jobs done in {duration(progress.elapsed())}")

    def shown(self) -> RenderableType:
        """Return what the place shows now."""
        progress = self.progress
        heading = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(1, progress.total), completed=progress.done, width=24)
        heading.add_row(Text(f"{progress.done} of {progress.total} jobs{progress.time_left}"), bar)
        jobs = Table.grid(padding=(0, 0, 0, 2))
        jobs.add_column(no_wrap=True, overflow="ellipsis", max_width=self.console.width // 2)
        jobs.add_column(no_wrap=True, justify="right")
        jobs.add_column(no_wrap=True, overflow="ellipsis", style="dim", ratio=1)
        running = progress.running
        for job in running[:_MOST_JOBS]:
            said = _TIME.sub("", "".join(last_lines(job.logs, 1)), count=1)
            jobs.add_row(*map(Text, (f"  {job.text}", duration(progress.elapsed(job)), said)))
        rows: list[RenderableType] = [heading, *([jobs] if running else [])]
        if len(running) > _MOST_JOBS:
            rows.append(Text(f"  and {len(running) - _MOST_JOBS} more", style="dim"))
        return Group(*rows)


class LogHandler(LogHandlerBase):
    """Shows the events of a run; see the module's description."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        set_cache_folder()  # Snakemake makes its cache after this, and before it reads the Snakefile
        settings = self.common_settings
        self._own = None
        if settings.dryrun or settings.verbose or settings.printshellcmds or settings.debug_dag:
            from snakemake.logging import ColorizingTextHandler

            stream = sys.stdout if settings.stdout else sys.stderr
            self._own = ColorizingTextHandler(settings.nocolor, stream)
            return
        os.environ[_WATCHED] = "1"
        console = Console(stderr=not settings.stdout, no_color=settings.nocolor or None, highlight=False)
        self.progress = JobProgress(time.monotonic)
        self.view = View(console, self.progress)

    def emit(self, record: LogRecord) -> None:
        """Show one event."""
        try:
            if self._own is not None:
                self._own.setFormatter(self.formatter)
                self._own.emit(record)
            else:
                self._show(record, vars(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the view."""
        if self._own is None:
            self.view.stop()
        super().close()

    def _show(self, record: LogRecord, fields: dict[str, Any]) -> None:
        progress, view = self.progress, self.view
        match fields.get("event"):
            case LogEvent.RESOURCES_INFO:
                progress.cores = int(fields.get("cores") or progress.cores)
            case LogEvent.RUN_INFO:
                stats = dict(fields["stats"])
                progress.total = int(stats.pop("total", 0))
                progress.left.update(stats)
            case LogEvent.JOB_INFO:
                if fields.get("shellcmd"):  # the targets run nothing
                    rule, text = fields["rule_name"], str(fields.get("rule_msg") or fields["rule_name"])
                    job = Job(text, rule, list(fields["log"]), list(fields["output"]))
                    progress.start(fields["jobid"], job)
                view.start()
            case LogEvent.JOB_FINISHED:
                if (done := progress.finish(fields["job_id"])) is not None:
                    view.finished(done)
                    for line in failed_runs(done.outputs):
                        view.say(line, "red")
            case LogEvent.PROGRESS:
                progress.done, progress.total = int(fields["done"]), int(fields["total"])
                if progress.done >= progress.total:
                    view.stop()
            case LogEvent.JOB_ERROR:
                self._failed(fields)
            case LogEvent.GROUP_ERROR:
                for info in fields["job_error_info"]:
                    self._failed(info | {"log": [*info["log"], *fields["aux_logs"]]})
            case None | LogEvent.ERROR:
                if fields.get("expected") is not None:
                    progress.expected = fields["expected"]
                    view.start()
                elif record.levelno == WARNING and any(map(record.getMessage().count, _NO_ACCOUNTS)):
                    pass
                elif record.msg and (record.levelno > INFO or record.getMessage().startswith(_SHOWN)):
                    view.say(record.getMessage(), "red" if record.levelno > INFO else "")

    def _failed(self, fields: dict[str, Any]) -> None:
        job = self.progress.jobs.get(fields["jobid"])
        if job is not None and job.started is None:
            return  # the failure of its group was shown
        self.progress.finish(fields["jobid"], failed=True)
        logs = list(fields.get("log") or (job.logs if job else ()))
        name = job.text if job else fields["rule_name"]
        submitted = next(filter(None, map(_SLURM_LOG.search, logs)), None)
        reason = f" ({slurm_failure(submitted[1])})" if submitted else ""
        self.view.say(f"failed: {name}{reason}; log: {', '.join(logs)}", "red")
        for line in last_lines(logs):
            self.view.say(f"    {line}")
