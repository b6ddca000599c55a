"""A receipt in the terminal: runs that are not identical, and the possible causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from eigenbench.reproduction.receipt import ComparedRuns, ComparedValue, Receipt

_COLOURS = {
    "within noise": "green",
    "different": "red",
    "missing": "red",
    "not run": "yellow",
    "not compared": "dim",
}
_MOST_LINES = 20
_MOST_NAMES = 3
#: More texts of one cause, such as digests of code, are counted and not written out.
_MOST_TEXTS = 2


def print_receipt(receipt: Receipt, path: Path, console: Console | None = None) -> None:
    """Print the runs that differ, their largest differences and possible causes, the counts, and the file."""
    console = console or Console()
    for verdict, text in (*_different(receipt.runs), *_without(receipt.runs), *_within_noise(receipt.runs)):
        console.print(Text(f"{verdict:<13}", style=_COLOURS[verdict]).append(text, "none"), soft_wrap=True)
    if causes := _causes(receipt.runs):
        console.print("Possible causes, in runs that are not identical:")
        for cause in causes:
            console.print(cause, soft_wrap=True, highlight=False)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in receipt.counts().items() if number)
    console.print(f"{receipt.suite}: {counts or 'no run'}", soft_wrap=True, highlight=False)
    console.print(f"Receipt: {path}", soft_wrap=True, highlight=False)


def _different(runs: Sequence[ComparedRuns]) -> Iterator[tuple[str, str]]:
    """Yield a line for each run that is different, with the metric that moved most in units of its noise."""
    found = [(name, run) for run in runs if run.verdict == "different" for name in run.names]
    for name, run in found[:_MOST_LINES]:
        moved = _furthest(run)
        detail = run.why
        if moved and moved[1].verdict == "different":
            detail = f"{_values(*moved)}, ± {moved[1].noise:.2g} by {moved[1].noise_of}"
        yield "different", f"{name}: {detail}"
    if len(found) > _MOST_LINES:
        yield "different", f"and {len(found) - _MOST_LINES} more: see the receipt"


def _within_noise(runs: Sequence[ComparedRuns]) -> Iterator[tuple[str, str]]:
    """Count the runs within noise that differ by rounding alone, and name the one nearest to its limit."""
    within = [run for run in runs if run.verdict == "within noise"]
    if not within:
        return
    n_runs = sum(len(run.seeds) for run in within)
    n_rounded = sum(len(run.seeds) for run in within if not run.values)
    noise = "the others within the 95 % noise of seeds or test rows"
    runs_moved = "1 run" if n_runs == 1 else f"{n_runs} runs"
    yield "within noise", f"{runs_moved}: {n_rounded} differ by rounding alone, {noise}"
    if moved := [(run.names[0], *found) for run in within if (found := _furthest(run))]:
        name, metric, value = max(moved, key=lambda item: item[2].in_noise)
        limit = f"{value.in_noise:.0%} of the noise of {value.noise_of}"
        yield "within noise", f"largest difference: {name}: {_values(metric, value)}, {limit}"


def _without(runs: Sequence[ComparedRuns]) -> Iterator[tuple[str, str]]:
    """Yield a line for each reason why runs, or metrics of runs within noise, were not compared."""
    for verdict in ("missing", "not run", "not compared", "within noise"):
        by_reason: dict[str, list[str]] = {}
        for run in runs:
            if run.verdict == verdict and run.why:
                by_reason.setdefault(run.why, []).extend(run.names)
        for why, names in by_reason.items():
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            yield verdict, f"{', '.join(names[:_MOST_NAMES])}{more}: {why}"


def _furthest(run: ComparedRuns) -> tuple[str, ComparedValue] | None:
    """Return the metric that moved most in units of its noise."""
    judged = [(metric, value) for metric, value in run.values.items() if value.noise is not None]
    return max(judged, key=lambda item: item[1].in_noise, default=None)


def _values(metric: str, value: ComparedValue) -> str:
    """Write both values with as many digits as tell them apart."""
    here, there = value.here, value.reference
    digits = next((n for n in range(6, 17) if here is None or f"{here:.{n}g}" != f"{there:.{n}g}"), 17)
    shown = "absent" if here is None else f"{here:.{digits}g}"
    return f"{metric} {shown}, {there:.{digits}g} in the reference"


def _causes(runs: Sequence[ComparedRuns]) -> list[str]:
    """Return each cause with the number of runs that have it, most frequent first."""
    runs_of: dict[str, dict[str, int]] = {}
    for run in runs:
        for cause in run.causes:
            texts = runs_of.setdefault(cause.partition(":")[0], {})
            texts[cause] = texts.get(cause, 0) + len(run.seeds)
    lines: list[tuple[int, str]] = []
    for kind, texts in runs_of.items():
        if len(texts) > _MOST_TEXTS:
            lines.append((sum(texts.values()), f"{kind}: {len(texts)} differences: see the receipt"))
        else:
            lines += [(number, text) for text, number in texts.items()]
    lines.sort(key=lambda line: -line[0])
    return [f"{number:>4} runs  {text}" for number, text in lines[:_MOST_LINES]]
