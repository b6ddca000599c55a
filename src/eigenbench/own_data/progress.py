"""What the command shows while it works: a bar with the time left, and each method that is done."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from eigenbench.own_data.terminal import comparison_table

if TYPE_CHECKING:
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

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def seen(self, watch: Watch, done: set[tuple[str, str, int]]) -> None:
        """Show how many runs are done, and the methods of which all are."""
        self._bar.update(self._task, total=watch.n_runs, completed=len(done))
        for method in watch.plan.methods:
            for classifier in method.classifiers:
                name = (method.spec.method, classifier)
                if name not in self._shown and all((*name, seed) in done for seed in method.seeds):
                    self._shown.add(name)
                    self._console.print(_line(watch, *name), highlight=False)

    def ranked(self, outcome: Outcome) -> None:
        """Show the leaderboard."""
        self._bar.stop()
        self._console.print()
        self._console.print(comparison_table(outcome.board))


def _line(watch: Watch, method: str, classifier: str) -> str:
    """Say the mean of the metric of a method that is done."""
    metric = next(iter(watch.plan.suite.experiments.values())).headline
    runs = [run for run in watch.plan.runs if (run.method, run.classifier) == (method, classifier)]
    records = [json.loads((watch.results / run.record).read_bytes()) for run in runs]
    values = [record["metrics"][metric] for record in records if metric in record["metrics"]]
    label = f"{method} + {classifier}"
    if not values:
        failure = records[0]["failure"] or {}
        return f"{label}: {records[0]['status']}: {failure.get('message', '')[:150]}"
    return f"{label}: {metric.removeprefix('test_')} {sum(values) / len(values):.4f}"
