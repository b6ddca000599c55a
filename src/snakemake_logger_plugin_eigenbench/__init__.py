"""A calm view of a run for ``snakemake --logger eigenbench``, which `profiles/default` chooses.

On a terminal it shows one place that changes: jobs done of all, time left, and what runs now. Elsewhere it
prints a line for each job that is done. Failures are printed as they come. Snakemake's own log is complete in
``.snakemake/log``; with ``--verbose``, ``--printshellcmds`` and in dry runs it is shown as Snakemake does.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from logging import INFO, LogRecord
from typing import Any

from rich.console import Console
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_eigenbench.display import Lines, LiveView
from snakemake_logger_plugin_eigenbench.failures import failed_runs, last_lines
from snakemake_logger_plugin_eigenbench.progress import Job, Progress

# Jobs that are watched write what they do into their log files only.
_WATCHED = "EIGENBENCH_WATCHED"

# What Snakemake says outside of its events and a user needs.
_SHOWN = ("Nothing to be done", "Trying to restart job", "Shutting down")


class LogHandler(LogHandlerBase):
    """Shows the events of a run; see the module's description."""

    def __post_init__(self) -> None:
        settings = self.common_settings
        self._own = None
        if settings.dryrun or settings.verbose or settings.printshellcmds or settings.debug_dag:
            from snakemake.logging import ColorizingTextHandler

            stream = sys.stdout if settings.stdout else sys.stderr
            self._own = ColorizingTextHandler(settings.nocolor, stream)
            return
        os.environ[_WATCHED] = "1"
        console = Console(stderr=not settings.stdout, no_color=settings.nocolor or None, highlight=False)
        self._progress = Progress(time.monotonic)
        view = LiveView if console.is_terminal and not console.is_dumb_terminal else Lines
        self._view = view(console, self._progress)

    def emit(self, record: LogRecord) -> None:
        """Show one event."""
        try:
            if self._own is not None:
                self._own.setFormatter(self.formatter)
                self._own.emit(record)
            else:
                self._show(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the view."""
        if self._own is None:
            self._view.stop()
        super().close()

    def _show(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        fields = vars(record)
        events: dict[Any, Callable[[dict[str, Any]], None]] = {
            LogEvent.RESOURCES_INFO: self._resources,
            LogEvent.RUN_INFO: self._run_info,
            LogEvent.JOB_INFO: self._job_info,
            LogEvent.JOB_FINISHED: self._job_finished,
            LogEvent.PROGRESS: self._done_of_all,
            LogEvent.JOB_ERROR: self._job_error,
            LogEvent.GROUP_ERROR: self._group_error,
        }
        if event in events:
            events[event](fields)
        elif (expected := fields.get("expected")) is not None:
            self._progress.expect(expected["title"], expected["seconds"])
            self._view.start()
        elif event in (None, LogEvent.ERROR) and record.msg:
            text = record.getMessage()
            if record.levelno > INFO or text.startswith(_SHOWN):
                self._view.say(text, "red" if record.levelno > INFO else "")

    def _resources(self, fields: dict[str, Any]) -> None:
        if fields.get("cores"):
            self._progress.cores = int(fields["cores"])

    def _run_info(self, fields: dict[str, Any]) -> None:
        self._progress.total = int(fields["stats"].get("total", 0))

    def _job_info(self, fields: dict[str, Any]) -> None:
        if fields.get("shellcmd"):  # the targets run nothing
            text = str(fields.get("rule_msg") or fields["rule_name"])
            self._progress.start(fields["jobid"], Job(text, list(fields["log"]), list(fields["output"])))
        self._view.start()

    def _job_finished(self, fields: dict[str, Any]) -> None:
        job = self._progress.finish(fields["job_id"])
        if job is not None:
            self._view.finished(job)
            for line in failed_runs(job.outputs):
                self._view.say(line, "red")

    def _done_of_all(self, fields: dict[str, Any]) -> None:
        self._progress.done, self._progress.total = int(fields["done"]), int(fields["total"])
        if self._progress.done >= self._progress.total:
            self._view.stop()

    def _job_error(self, fields: dict[str, Any]) -> None:
        job = self._progress.finish(fields["jobid"], failed=True)
        logs = list(fields.get("log") or (job.logs if job else ()))
        self._view.say(f"failed: {job.text if job else fields['rule_name']}; log: {', '.join(logs)}", "red")
        for line in last_lines(logs):
            self._view.say(f"    {line}")

    def _group_error(self, fields: dict[str, Any]) -> None:
        for info in fields["job_error_info"]:
            self._job_error(info)

    @property
    def writes_to_stream(self) -> bool:
        """Whether it replaces Snakemake's own output."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Whether it writes a file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Whether it heeds ``--quiet`` itself."""
        return False

    @property
    def has_formatter(self) -> bool:
        """Whether it formats by itself what it shows as Snakemake does."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """Whether it shows the graph of the rules."""
        return False
