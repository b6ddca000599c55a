"""A receipt in the terminal: what is not identical, and why as far as known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from eigenbench.reproduction.receipt import ComparedRun, Receipt

_COLOURS = {"identical": "green", "within noise": "green", "different": "red", "missing": "red"}
_MOST_LINES = 20


def print_receipt(receipt: Receipt, path: Path, console: Console | None = None) -> None:
    """Print counts, the runs that did not come out again, what is not as in the reference, and the file."""
    console = console or Console()
    for verdict in ("different", "missing", "within noise"):
        runs = [run for run in receipt.runs if run.verdict == verdict]
        for run in runs[:_MOST_LINES]:
            line = Text(f"{verdict:<13}", style=_COLOURS[verdict]).append(f"{run.name}{_detail(run)}", "none")
            console.print(line, soft_wrap=True)
        if len(runs) > _MOST_LINES:
            console.print(f"{verdict:<13}and {len(runs) - _MOST_LINES} more: see the receipt")
    for cause in _causes(receipt.runs):
        console.print(cause, soft_wrap=True, highlight=False)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in receipt.counts().items() if number)
    console.print(f"{receipt.suite}: {counts or 'no run'}", soft_wrap=True, highlight=False)
    console.print(f"Receipt: {path}", soft_wrap=True, highlight=False)


def _detail(run: ComparedRun) -> str:
    """Say of a run which metric moved most, in units of its noise, or else what the receipt says."""
    judged = {metric: value for metric, value in run.values.items() if value.noise is not None}
    if not judged:
        return f": {run.why}" if run.why else ""
    metric, value = max(judged.items(), key=lambda item: item[1].in_noise)
    return (
        f": {metric} {value.here:.6g}, {value.reference:.6g} in the reference, "
        f"± {value.noise:.2g} by {value.noise_of}"
    )


def _causes(runs: Sequence[ComparedRun]) -> list[str]:
    """Return each cause with the number of runs that have it, most frequent first."""
    counts = Counter(cause for run in runs for cause in run.causes)
    return [f"{number:>4} runs  {cause}" for cause, number in counts.most_common(_MOST_LINES)]
