"""Run the workflow in the folder of a comparison, within a time, and see which runs are done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from eigenbench.bench.jobs.child_process import end_with_parent
from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.workspace import SUITE, Workspace
from eigenbench.project_files import snakemake_command

_POLL_S = 0.2


class WorkflowEnd(Enum):
    """How a workflow ended."""

    DONE = "done"
    TIME = "out of time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunProgress:
    """What a workflow has done so far.

    Attributes
    ----------
    plan : SuitePlan
        Its runs.
    results : Path
        Where their records appear.
    """

    plan: SuitePlan
    results: Path

    @property
    def n_runs(self) -> int:
        """The number of records when all is done."""
        return len(self.plan.runs)

    def done(self) -> set[tuple[str, str, int]]:
        """Return method, classifier and seed of the runs that have a record."""
        return {
            (run.method, run.classifier, run.seed)
            for run in self.plan.runs
            if (self.results / run.record).exists()
        }

    def complete(self, done: set[tuple[str, str, int]]) -> list[int]:
        """Return the folds on which every method is done, in order."""
        seeds = sorted({run.seed for run in self.plan.runs})
        counts = Counter(seed for *_, seed in done)
        return [seed for seed in seeds if counts[seed] * len(seeds) == self.n_runs]

    def comparable(self, done: set[tuple[str, str, int]]) -> list[int]:
        """Return the folds that methods can be compared on: the complete ones, else that with most runs."""
        counts = Counter(seed for *_, seed in done)
        most = sorted(counts, key=lambda seed: (-counts[seed], seed))
        return self.complete(done) or most[:1]

    def records(self) -> list[Path]:
        """Return the records that are there."""
        paths = (self.results / run.record for run in self.plan.runs)
        return [path for path in paths if path.exists()]


def planned_runs(workspace: Workspace) -> RunProgress:
    """Read the suite that was written, as the workflow will."""
    return RunProgress(load_plan(workspace.suite), workspace.results)


def run_workflow(
    workspace: Workspace, watch: RunProgress, *, jobs: int, time_limit: float, seen: Callable[[set], None]
) -> WorkflowEnd:
    """Run Snakemake until all is done, the time is over, or the user interrupts.

    Parameters
    ----------
    workspace : Workspace
        Where it runs; what it prints goes to the log there.
    watch : RunProgress
        Its runs.
    jobs : int
        Cores.
    time_limit : float
        Seconds for the runs; the report and the import into MLflow, which follow, don't count.
    seen : callable
        Gets the runs that are done, again and again.

    Raises
    ------
    OwnDataError
        If it fails for another reason than a method that fails.
    """
    command = [
        *snakemake_command(),
        *("--directory", str(workspace.folder), "--cores", str(jobs)),
        *("--config", f"suites_dir={workspace.suites.name}", f"suites=[{SUITE}]", "seeds_in_turn=True"),
    ]
    deadline = time.monotonic() + time_limit
    with _started(command, workspace) as process:
        try:
            while process.poll() is None:
                done = watch.done()
                seen(done)
                if len(done) < watch.n_runs and time.monotonic() > deadline:
                    return WorkflowEnd.TIME
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            return WorkflowEnd.INTERRUPTED
    seen(watch.done())
    if process.returncode:
        lines = [line for line in workspace.log.read_text(errors="replace").splitlines() if line.strip()]
        raise OwnDataError(f"the workflow failed, see {workspace.log}: {_reason(lines)}")
    return WorkflowEnd.DONE


def finish(workspace: Workspace, watch: RunProgress) -> None:
    """Report and log the runs that are there, after a workflow that was cut short."""
    records = [str(path.relative_to(workspace.folder)) for path in watch.records()]
    suite = str(workspace.suite.relative_to(workspace.folder))
    commands = [["eigenbench.reporting", "--suite", suite]]
    commands += [["eigenbench.tracking", *records]] if records else []
    with workspace.log.open("ab") as log:
        for module, *arguments in commands:
            subprocess.run(
                [sys.executable, "-m", module, *arguments], cwd=workspace.folder, stdout=log, stderr=log
            )


@contextmanager
def _started(command: list[str], workspace: Workspace) -> Iterator[subprocess.Popen]:
    """Start in a session of its own, so that an interrupt comes to us alone; end it with the block."""
    with workspace.log.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        yield process
    finally:
        # Asked to stop, Snakemake would remove what the jobs that are under way have finished.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _reason(lines: list[str]) -> str:
    told = [line.strip() for line in lines if "Error" in line or "cannot" in line or "another run" in line]
    return (told or lines or ["no message"])[-1][:300]
