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
from enum import Enum
from statistics import mean
from typing import Any

from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.jobs.supervision import end_with_parent
from eigenbench.bench.records.runs import Run
from eigenbench.own_data.table import OwnDataError
from eigenbench.own_data.workspace import EXPERIMENT, Workspace
from eigenbench.reporting.replicates import headline_direction
from eigenbench.tracking.addresses import DEFAULT_URI

_POLL_S = 0.1

#: Seconds kept for the report and the import into MLflow.
FINISH_S = 20.0

#: Variables that would lead the import into a store outside the folder.
_ELSEWHERE = ("MLFLOW_TRACKING_URI", "EIGENBENCH_ARTIFACTS")

#: Runs that have a record.
Done = set[Run]


class FitsEnd(Enum):
    """End of the fits of a comparison: done, out of time, or interrupted."""

    DONE = "done"
    TIME = "out of time"
    INTERRUPTED = "interrupted"


class RunProgress:
    """The runs of one experiment of a comparison, or of all curves, and those of them that are done."""

    def __init__(self, workspace: Workspace, experiment: str = EXPERIMENT):
        self.plan = load_plan(workspace.suite)
        self.results = workspace.results
        self.runs = [run for run in self.plan.runs if run.experiment.partition("_")[0] == experiment]
        spec = self.plan.suite.experiments[self.runs[0].experiment]
        self.metric, self.lower_is_better = spec.headline, headline_direction(spec)
        self.folds = sorted({run.seed for run in self.runs})
        self._records: dict[str, tuple[int, dict[str, Any]]] = {}

    def done(self) -> Done:
        """Return the runs that have a record of their settings."""
        return {run for run in self.runs if self.record(run)}

    def complete(self, done: Done) -> list[int]:
        """Return the folds on which every method is done, in order."""
        counts = Counter(run.seed for run in done)
        return [seed for seed in self.folds if counts[seed] * len(self.folds) == len(self.runs)]

    def comparable(self, done: Done) -> list[int]:
        """Return the folds to compare methods on: the complete ones, else the one with most runs."""
        counts = Counter(run.seed for run in done)
        return self.complete(done) or sorted(counts, key=lambda seed: (-counts[seed], seed))[:1]

    def seconds_to_finish(self) -> float:
        """Estimate the time to report, and to fit the method that is best so far on all rows.

        Methods are fitted beside others so far, and that one alone; so its time grows with the rows.
        """
        values: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for run in self.runs:
            if (record := self.record(run)) and self.metric in record["metrics"]:
                data = record["dataset_info"]
                seconds = (record["fit_seconds"] or 0.0) + (record["train_seconds"] or 0.0)
                refit = seconds * (data["n_train"] + data["n_test"]) / data["n_train"]
                found = (record["metrics"][self.metric], refit)
                values.setdefault((run.method, run.classifier), []).append(found)
        sign = 1 if self.lower_is_better else -1
        means = [tuple(map(mean, zip(*found, strict=True))) for found in values.values()]
        return FINISH_S + (min(means, key=lambda found: sign * found[0])[1] if means else 0.0)

    def record(self, run: Run) -> dict[str, Any] | None:
        """Return the fields of a run's record; None if it is absent, damaged or of other settings."""
        path = self.results / run.record
        try:
            written = path.stat().st_mtime_ns
            if self._records.get(run.record, (0,))[0] != written:
                self._records[run.record] = written, json.loads(path.read_bytes())
        except (OSError, ValueError):
            return None
        found = self._records[run.record][1]
        return found if found.get("run_key") == run.key else None


def run_fits(
    workspace: Workspace, watch: RunProgress, *, cores: int, deadline: float, seen: Callable[[Done], None]
) -> FitsEnd:
    """Fit until all is done, only the time to finish is left, or the user interrupts.

    The deadline, by `time.monotonic`, is that of the answer, report and model included. ``seen`` gets the
    runs that are done, again and again. A failure that is not a method's is an `OwnDataError`.
    """
    with _started(workspace, "eigenbench.own_data.fold_fits", ".", str(cores)) as process:
        try:
            while process.poll() is None:
                done = watch.done()
                seen(done)
                if len(done) < len(watch.runs) and time.monotonic() > deadline - watch.seconds_to_finish():
                    return FitsEnd.TIME
                time.sleep(_POLL_S)
        except KeyboardInterrupt:
            return FitsEnd.INTERRUPTED
    seen(watch.done())
    _check(process, workspace)
    return FitsEnd.DONE


@contextmanager
def report_beside(workspace: Workspace) -> Iterator[None]:
    """Make the report, and import the runs that are there into MLflow, beside the work of the block."""
    suite = str(workspace.suite.relative_to(workspace.folder))
    commands: list[tuple[str, ...]] = [("eigenbench.reporting", "--suite", suite)]
    paths = [f"{workspace.results.name}/{run.record}" for run in load_plan(workspace.suite).runs]
    if there := [path for path in paths if (workspace.folder / path).exists()]:
        commands.append(("eigenbench.tracking", *there, "--suite", suite, "--tracking-uri", DEFAULT_URI))
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
            env={name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
            | {"EIGENBENCH_WATCHED": "1"},
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
