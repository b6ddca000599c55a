"""Run the fits of a comparison within a time, see which are done, and report them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from statistics import mean
from typing import Any

from eigenbench.bench.jobs.child_process import end_with_parent
from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.workspace import EXPERIMENT, Workspace
from eigenbench.reporting.replicates import headline_direction

_POLL_S = 0.1

#: Seconds kept for the report and the import into MLflow, and a fit on all rows beside one on a fold's.
_FINISH_S, _REFIT = 20.0, 1.5


class FitsEnd(Enum):
    """End of the fits of a comparison: done, out of time, or interrupted."""

    DONE = "done"
    TIME = "out of time"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class RunProgress:
    """Progress of a workflow.

    Attributes
    ----------
    plan : SuitePlan
        Its runs.
    results : Path
        Where their records appear.
    """

    plan: SuitePlan
    results: Path
    _records: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

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

    def seconds_to_finish(self) -> float:
        """Estimate the time to fit the method that is best so far on all rows, and to report."""
        experiment = self.plan.suite.experiments[EXPERIMENT]
        values: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in self.plan.runs:
            if (record := self.record(run.record)) and experiment.headline in record["metrics"]:
                seconds = (record["fit_seconds"] or 0.0) + (record["train_seconds"] or 0.0)
                found = (record["metrics"][experiment.headline], seconds)
                values.setdefault((run.method, run.classifier), []).append(found)
        sign = 1 if headline_direction(experiment) else -1
        means = [tuple(map(mean, zip(*found, strict=True))) for found in values.values()]
        return _FINISH_S + (_REFIT * min(means, key=lambda found: sign * found[0])[1] if means else 0.0)

    def record(self, path: str) -> dict[str, Any] | None:
        """Return the fields of a record below the results, None for one that is not there yet."""
        if path not in self._records and (self.results / path).exists():
            self._records[path] = json.loads((self.results / path).read_bytes())
        return self._records.get(path)


def planned_runs(workspace: Workspace) -> RunProgress:
    """Read the suite that was written."""
    return RunProgress(load_plan(workspace.suite), workspace.results)


def run_fits(
    workspace: Workspace, watch: RunProgress, *, cores: int, deadline: float, seen: Callable[[set], None]
) -> FitsEnd:
    """Fit until all is done, only the time to finish is left, or the user interrupts.

    Parameters
    ----------
    workspace : Workspace
        Where it runs; what it prints goes to the log there.
    watch : RunProgress
        Its runs.
    cores : int
        So many fits at once.
    deadline : float
        When the answer is due, report and model included, by `time.monotonic`.
    seen : callable
        Gets the runs that are done, again and again.

    Raises
    ------
    OwnDataError
        If it fails for another reason than a method that fails.
    """
    with _started(workspace, "eigenbench.own_data.fold_fits", ".", str(cores)) as process:
        try:
            while process.poll() is None:
                done = watch.done()
                seen(done)
                if len(done) < watch.n_runs and time.monotonic() > deadline - watch.seconds_to_finish():
                    return FitsEnd.TIME
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            return FitsEnd.INTERRUPTED
    seen(watch.done())
    _check(process, workspace)
    return FitsEnd.DONE


@contextmanager
def reporting(workspace: Workspace, watch: RunProgress) -> Iterator[None]:
    """Make the report, and import the runs that are there into MLflow, beside the work of the block."""
    suite = str(workspace.suite.relative_to(workspace.folder))
    records = [
        f"{workspace.results.name}/{run.record}" for run in watch.plan.runs if watch.record(run.record)
    ]
    commands: list[tuple[str, ...]] = [("eigenbench.reporting", "--suite", suite)]
    commands += [("eigenbench.tracking", *records)] if records else []
    with ExitStack() as stack:
        processes = [stack.enter_context(_started(workspace, *command)) for command in commands]
        yield
        for process in processes:
            process.wait()
            _check(process, workspace)


@contextmanager
def _started(workspace: Workspace, *module: str) -> Iterator[subprocess.Popen]:
    """Start in a session of its own, so that an interrupt comes to us alone; end it with the block."""
    with workspace.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=workspace.folder,
            env=os.environ | {"EIGENBENCH_WATCHED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _check(process: subprocess.Popen, workspace: Workspace) -> None:
    if process.returncode:
        lines = [line for line in workspace.log.read_text(errors="replace").splitlines() if line.strip()]
        reason = (lines or ["no message"])[-1][:300]
        raise OwnDataError(f"the comparison failed, see {workspace.log}: {reason}")
