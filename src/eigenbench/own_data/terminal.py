"""A comparison in the terminal: the progress of its runs, then the leaderboard."""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.text import Text

from eigenbench.own_data.compared_methods import INPUTS
from eigenbench.reporting.formatting import lower_is_better, metric_style, seconds, sentence
from eigenbench.reporting.leaderboard import TIED, leaderboard_notes
from eigenbench.reporting.terminal_tables import rank_texts, text_table

if TYPE_CHECKING:
    from eigenbench.bench.records.runs import Run
    from eigenbench.own_data.comparison_run import ComparisonResult
    from eigenbench.own_data.progress import RunProgress

#: Shown after the interval and the difference to the best.
_FURTHER = {"balanced_error": "balanced", "log_loss": "log loss"}


def comparison_table(board: pd.DataFrame) -> RenderableType:
    """Lay a leaderboard out with all that a choice of a method rests on.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.own_data.comparison_run.rank`.

    Returns
    -------
    rich renderable
        The table, then what the marks mean and which methods failed, and why.
    """
    metric = str(board["metric"].iloc[0])
    style = metric_style(metric)
    further = [name for name in _FURTHER if f"test_{name}" != metric and board[name].notna().any()]
    table = text_table()
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("method", overflow="fold", min_width=12)
    for heading in ("mean", "95 % interval", "to best", *(_FURTHER[name] for name in further), "s", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rank, line in zip(rank_texts(board), board.to_dict("records"), strict=True):
        found = not pd.isna(line["mean"])
        cells = [
            style.measured(line["mean"]) if found else "none",
            style.interval(_number(line["ci_low"]), _number(line["ci_high"])) if found else "",
            _difference(line, style) if found else "",
            *(metric_style(f"test_{name}").measured(_number(line[name])) for name in further),
            seconds(_number(line["seconds"])),
            "" if pd.isna(line["peak_rss_mb"]) else f"{line['peak_rss_mb']:.0f}",
        ]
        bold = "bold" if line["tied"] is True else ""
        table.add_row(rank, Text(label(line), style=bold), *map(Text, cells))
    return Group(
        Text(sentence(style.heading)),
        table,
        *(Text(note) for note in leaderboard_notes(board)),
        Text(_answer(board)),
    )


def label(line: Any) -> str:
    """Name a line: the classifier alone where it gets the raw inputs and is no linear one."""
    if line["classifier"] in ("LogisticRegression", "OneVsRestLogistic"):
        return str(line["method"])
    return str(line["classifier"])


def _answer(board: pd.DataFrame) -> str:
    """Say whether an embedding helps, and what would be better but lacks a result on some folds."""
    ranked = board[board["rank"].notna()]
    if ranked.empty:
        return "No method has a result on all folds."
    return " ".join([_verdict(board, ranked), *_better_without_rank(board, ranked.iloc[0])])


def _verdict(board: pd.DataFrame, ranked: pd.DataFrame) -> str:
    best = ranked.iloc[0]
    of_inputs = board["method"] == INPUTS
    if best["method"] == INPUTS:
        if ranked["method"].eq(INPUTS).all():
            return f"{best['classifier']} is best on the raw inputs; no embedding has a result on all folds."
        those = _ranked_only(board[~of_inputs])
        return f"No embedding{those} is better than {best['classifier']} on the raw inputs."
    tied = ranked[(ranked["method"] == INPUTS) & ranked["tied"].fillna(True)]
    if len(tied):
        rival = tied.iloc[0]["classifier"]
        return f"{label(best)} is best, but {rival} on the raw inputs can't be told from it."
    inputs = f"nothing on the raw inputs{_ranked_only(board[of_inputs])}"
    return f"{label(best)} helps: {inputs} comes near ({TIED} marks what ties with it)."


def _ranked_only(lines: pd.DataFrame) -> str:
    return " with a result on all folds" if lines["rank"].isna().any() else ""


def _better_without_rank(board: pd.DataFrame, best: pd.Series) -> list[str]:
    """Name the methods that lack a result on some folds and are better than the best on the others."""
    metric = str(best["metric"])
    sign = 1 if lower_is_better(metric) else -1
    better = board[board["rank"].isna() & (sign * board["mean"] < sign * best["mean"])]
    measured = metric_style(metric).measured
    names = [
        f"{label(line)} ({measured(line['mean'])} on {line['n_seeds']} of {line['n_planned']} folds)"
        for line in better.to_dict("records")
    ]
    return [f"Better on the folds that it has, but not ranked: {', '.join(names)}."] if names else []


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _difference(line: dict[str, Any], style: Any) -> str:
    if pd.isna(line["difference"]) or pd.isna(line["p_value"]):
        return ""
    return f"{'+' if line['difference'] >= 0 else '−'}{style.measured(abs(line['difference']))}"


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

    def seen(self, watch: RunProgress, done: set[tuple[str, str, int]]) -> None:
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

    def ranked(self, outcome: ComparisonResult) -> None:
        """Show the leaderboard."""
        self._bar.stop()
        self._console.print()
        self._console.print(comparison_table(outcome.board))
        if outcome.note:
            self._console.print(outcome.note, highlight=False)


def _line(watch: RunProgress, run: Run) -> str:
    """Say the metric of a run that is done, or why it has none."""
    metric = next(iter(watch.plan.suite.experiments.values())).headline
    record = json.loads((watch.results / run.record).read_bytes())
    label = f"{run.method} + {run.classifier}"
    if metric not in record["metrics"]:
        failure = record["failure"] or {}
        return f"{label}: {record['status']}: {failure.get('message', '')[:150]}"
    fold = " on its first fold" if len({other.seed for other in watch.plan.runs}) > 1 else ""
    return f"{label}: {metric.removeprefix('test_')} {record['metrics'][metric]:.4f}{fold}"
