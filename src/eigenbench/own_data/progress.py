"""What the command shows while it works: a bar with the time left, and a first result of each method."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from eigenbench.own_data.terminal import comparison_table

if TYPE_CHECKING:
    from eigenbench.bench.records.runs import Run
    from eigenbench.own_data.comparing import Outcome
    from eigenbench.own_data.workflow import Watch


class Progress:
    """A context that shows the progress of one comparison, and then its leaderboard."""

    def __init__(self) -> None:
        self._console = Console()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("fits", total=None)
        self._shown: set[tuple[str, str]] = set()
        self._complete = 0

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def seen(self, watch: Watch, done: set[tuple[str, str, int]]) -> None:
        """Show how many runs are done, the first result of each method, and how many folds are complete."""
        self._bar.update(self._task, total=watch.n_runs, completed=len(done))
        for run in watch.plan.runs:
            name = (run.method, run.classifier)
            if name not in self._shown and (*name, run.seed) in done:
                self._shown.add(name)
                self._console.print(_line(watch, run), highlight=False)
        complete, n_folds = len(watch.complete(done)), len({run.seed for run in watch.plan.runs})
        if n_folds > 1 and complete > self._complete:
            self._complete = complete
            self._console.print(f"fold {complete} of {n_folds} is done by all methods", highlight=False)

    def ranked(self, outcome: Outcome) -> None:
        """Show the leaderboard."""
        self._bar.stop()
        self._console.print()
        self._console.print(comparison_table(outcome.board))
        if outcome.note:
            self._console.print(outcome.note, highlight=False)


def _line(watch: Watch, run: Run) -> str:
    """Say the metric of a run that is done, or why it has none."""
    metric = next(iter(watch.plan.suite.experiments.values())).headline
    record = json.loads((watch.results / run.record).read_bytes())
    label = f"{run.method} + {run.classifier}"
    if metric not in record["metrics"]:
        failure = record["failure"] or {}
        return f"{label}: {record['status']}: {failure.get('message', '')[:150]}"
    fold = " on its first fold" if len({other.seed for other in watch.plan.runs}) > 1 else ""
    return f"{label}: {metric.removeprefix('test_')} {record['metrics'][metric]:.4f}{fold}"
