"""A comparison in the terminal: the progress of its runs, then the leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from eigenbench.bench.suites.parts import REGRESSION_METRICS
from eigenbench.own_data.compared_methods import DUMMY, INPUTS, label
from eigenbench.own_data.winner import advised
from eigenbench.reporting.formatting import MetricStyle, lower_is_better, metric_style, seconds, sentence
from eigenbench.reporting.leaderboard import leaderboard_notes
from eigenbench.reporting.terminal_tables import rank_texts, text_table

if TYPE_CHECKING:
    from eigenbench.bench.records.runs import Run
    from eigenbench.own_data.comparison_run import ComparisonResult
    from eigenbench.own_data.progress import Done, RunProgress

#: Shown last, if there is room.
_FURTHER = {"balanced_error": "balanced", "log_loss": "log loss", "r2": "R²"}
_OF_NUMBERS = tuple(f"test_{name}" for name in REGRESSION_METRICS)


def comparison_table(board: pd.DataFrame, width: int) -> RenderableType:
    """Lay a leaderboard out: the table, what its marks mean, which methods failed and why, the advice."""
    heading = metric_style(str(board["metric"].iloc[0])).heading
    notes = (Text(note) for note in leaderboard_notes(board))
    return Group(Text(sentence(heading)), _table(board, width), *notes, *map(Text, answer(board)))


def _table(board: pd.DataFrame, width: int) -> Table:
    """Return the lines of a leaderboard, with as many columns as go beside unbroken names."""
    lines = board.astype(object).where(board.notna(), None).to_dict("records")
    cells: dict[str, list[Text]] = {
        "#": rank_texts(board),
        "method": [Text(label(line), style="bold" if line["tied"] is True else "") for line in lines],
    }
    for heading, texts in _cells(str(board["metric"].iloc[0]), lines).items():
        wider = cells | {heading: [Text(text) for text in texts]}
        widths = [max(len(name), *(len(cell) for cell in column)) for name, column in wider.items()]
        if len(cells) > 2 and sum(widths) + 2 * (len(widths) - 1) > width:
            break
        cells = wider
    table = text_table()
    for heading in cells:
        table.add_column(heading, justify="left" if heading == "method" else "right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table


def _cells(metric: str, lines: list[dict[str, Any]]) -> dict[str, list[str]]:
    style = metric_style(metric)
    cells = {
        "mean": ["none" if line["mean"] is None else style.measured(line["mean"]) for line in lines],
        "95 % interval": [style.interval(line["ci_low"], line["ci_high"]) for line in lines],
        "to best": [_difference(line, style) for line in lines],
        "s": [seconds(line["seconds"]) for line in lines],
        "MB": ["" if line["peak_rss_mb"] is None else f"{line['peak_rss_mb']:.0f}" for line in lines],
    }
    for name, heading in _FURTHER.items():
        values = [line.get(name) for line in lines]
        if f"test_{name}" != metric and any(value is not None for value in values):
            cells[heading] = [metric_style(f"test_{name}").measured(value) for value in values]
    return cells


def _difference(line: dict[str, Any], style: MetricStyle) -> str:
    if line["difference"] is None or line["p_value"] is None:
        return ""
    return f"{'+' if line['difference'] >= 0 else '−'}{style.measured(abs(line['difference']))}"


def answer(board: pd.DataFrame) -> list[str]:
    """Say whether an embedding helps, what lacks results and would be better, and, last, what to take."""
    line, tied = advised(board)
    if line is None:
        return ["No method has a result on all folds."]
    ranked = board[board["rank"].notna()]
    guess = ranked[ranked["classifier"] == DUMMY]
    if len(guess) and len(ranked) > 1 and _ties(guess.iloc[0], ranked.iloc[0]):
        guessed = "mean" if guess["metric"].iloc[0] in _OF_NUMBERS else "most frequent class"
        return [f"No method is better than guessing: {DUMMY} predicts the {guessed}."]
    lines = [_verdict(board, ranked), *_better_without_rank(board, ranked.iloc[0])]
    if len(tied):
        others = ", ".join(label(other) for other in tied.to_dict("records"))
        return [*lines, f"Take {label(line)}: it is the simplest of those that tie with the best ({others})."]
    known = len(ranked) == 1 or not ranked["tied"].isna().any()
    reason = "no other method ties with it" if known else "it is first, but whether others tie is unknown"
    return [*lines, f"Take {label(line)}: {reason}."]


def _ties(line: pd.Series, best: pd.Series) -> bool:
    """Return whether a line ties with the best; where that was not tested, whether its interval holds it."""
    if not pd.isna(line["tied"]):
        return bool(line["tied"])
    return bool(line["rank"] == 1 or line["ci_low"] <= best["mean"] <= line["ci_high"])


def _verdict(board: pd.DataFrame, ranked: pd.DataFrame) -> str:
    best = ranked.iloc[0]
    of_inputs = board["method"] == INPUTS
    if best["method"] == INPUTS:
        if ranked["method"].eq(INPUTS).all():
            return f"{best['classifier']} is best on the raw inputs; no embedding has a result on all folds."
        those = _ranked_only(board[~of_inputs])
        return f"No embedding{those} is better than {best['classifier']} on the raw inputs."
    rivals = ranked[(ranked["method"] == INPUTS) & (ranked["classifier"] != DUMMY)]
    for found, verb in ((rivals["tied"].fillna(False), "ties"), (rivals["tied"].isna(), "may tie")):
        if found.any():
            rival = rivals.loc[found, "classifier"].iloc[0]
            return f"{label(best)} is best, but {rival} on the raw inputs {verb} with it."
    inputs = f"nothing on the raw inputs{_ranked_only(board[of_inputs])}"
    return f"{label(best)} helps: {inputs} ties with it."


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


class Progress(Bar):
    """A context that shows the progress of one comparison, and then its leaderboard."""

    def __init__(self) -> None:
        console, left = Console(), (TextColumn("left"), TimeRemainingColumn())
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        super().__init__(*columns, *left, console=console, transient=True, disable=not console.is_terminal)
        self.fits = self.add_task("fits", total=None)
        self.shown: set[tuple[str, str]] = set()
        self.n_complete = 0

    def seen(self, watch: RunProgress, done: Done) -> None:
        """Show how many runs are done, the first result of each method, and how many folds are complete."""
        self.update(self.fits, total=len(watch.runs), completed=len(done))
        for run in watch.runs:
            name = (run.method, run.classifier)
            if name not in self.shown and run in done:
                self.shown.add(name)
                self.console.print(_line(watch, run), highlight=False)
        complete, n_folds = len(watch.complete(done)), len(watch.folds)
        if n_folds > 1 and complete > self.n_complete:
            self.n_complete = complete
            self.console.print(f"fold {complete} of {n_folds} is done by all methods", highlight=False)

    def ranked(self, outcome: ComparisonResult) -> None:
        """Show the leaderboard."""
        self.stop()
        self.console.print()
        self.console.print(comparison_table(outcome.board, self.console.width))
        if outcome.note:
            self.console.print(outcome.note, highlight=False)


def _line(watch: RunProgress, run: Run) -> str:
    """Say the metric of a run that is done, or why it has none."""
    record, metric = watch.record(run), watch.metric
    assert record is not None
    name = label({"method": run.method, "classifier": run.classifier})
    if metric not in record["metrics"]:
        failure = record["failure"] or {}
        return f"{name}: {record['status']}: {failure.get('message', '')[:150]}"
    fold = f"fold {watch.folds.index(run.seed) + 1} " if len(watch.folds) > 1 else ""
    style = metric_style(metric)
    value = f"{style.measured(record['metrics'][metric])} {style.unit}".strip()
    return f"{name}: {fold}{metric.removeprefix('test_').replace('_', ' ')} {value}"
