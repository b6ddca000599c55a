"""Adds our own results of each method to its page, and those of rivals to theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import method_results

import eigenbench
from eigenbench.bench.registry import COMPONENTS

#: Classifiers that no suite can name, as protocols or other estimators hold them.
UNREGISTERED = ("DoublyStochasticLogistic", "GeometricMeanEnsemble", "OneExampleNearestNeighbour")
_AFTER_RESULTS = re.compile(r"^(References|Examples|See Also)$")


def methods() -> list[str]:
    """Return the name of each method that has a page."""
    kinds = ("embedding", "expansion", "classifier")
    return [item.name for item in COMPONENTS.values() if item.kind in kinds] + list(UNREGISTERED)


def write(docs: Path) -> None:
    """Write the results of the rivals, which their page includes."""
    rivals = [name for name in methods() if name not in eigenbench.__all__]
    sections = [(name, method_results.results(name)) for name in rivals]
    lines = [
        line
        for name, results in sections
        if results
        for line in (f"### {name}", "", "```{eval-rst}", *results, "```", "")
    ]
    (docs / "generated").mkdir(exist_ok=True)
    (docs / "generated" / "rivals.md").write_text("\n".join(lines), encoding="utf-8")


def insert(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add the results to the docstring of a method, before its references."""
    method = name.rpartition(".")[2]
    if what != "class" or method not in methods() or method not in eigenbench.__all__:
        return
    if results := method_results.results(method):
        place = next((n for n, line in enumerate(lines) if _AFTER_RESULTS.match(line)), len(lines))
        lines[place:place] = [".. rubric:: Where it wins and loses", "", *results]
