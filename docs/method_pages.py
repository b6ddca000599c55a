"""Puts a picture and our own results of each method on its page, and those of rivals on theirs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import method_pictures
import method_results

import eigenbench
from eigenbench.bench.registry import COMPONENTS

#: Classifiers that no suite can name, as protocols or other estimators hold them.
UNREGISTERED = ("DoublyStochasticLogistic", "GeometricMeanEnsemble", "OneExampleNearestNeighbour")
#: What a picture shows, by the kind of the method.
ALTERNATIVES = {
    "embedding": "Held-out rows by the first two numbers that {} gives them",
    "expansion": "What {} makes of its input",
    "classifier": "The plane, shaded by the class that {} predicts",
}
_PICTURES = "generated/pictures"
_SECTION = re.compile(r"^(Parameters|References|Examples|See Also)$")


def methods() -> dict[str, str]:
    """Return the kind of each method that has a page, by name."""
    kinds = {item.name: str(item.kind) for item in COMPONENTS.values() if item.kind in ALTERNATIVES}
    return kinds | dict.fromkeys(UNREGISTERED, "classifier")


def write(docs: Path) -> None:
    """Draw the pictures of all methods, and write what the page of the rivals includes."""
    folder = docs / _PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    for name in methods():
        path = folder / f"{name}.svg"
        # A site looks the same wherever it is made, so without what is optional.
        if not path.is_file() and not (name in COMPONENTS and COMPONENTS[name].extra):
            method_pictures.draw(name, path)
    own = set(eigenbench.__all__)
    lines = [line for name in methods() if name not in own for line in _rival(docs, name)]
    (docs / "generated" / "rivals.md").write_text("\n".join(lines), encoding="utf-8")


def _rival(docs: Path, name: str) -> list[str]:
    said = [*_picture(docs, name), *method_results.results(name)]
    return [f"### {name}", "", "```{eval-rst}", *said, "```", ""] if said else []


def insert(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add picture and results to the docstring of a method, before its parameters and its references."""
    method = name.rpartition(".")[2]
    if what != "class" or method not in methods() or method not in eigenbench.__all__:
        return
    sections = {line: place for place, line in reversed(list(enumerate(lines))) if _SECTION.match(line)}
    results = method_results.results(method)
    if results:
        place = min(sections.get(title, len(lines)) for title in ("References", "Examples", "See Also"))
        lines[place:place] = [".. rubric:: Where it wins and loses", "", *results]
    lines[sections["Parameters"] : sections["Parameters"]] = _picture(Path(app.srcdir), method)


def _picture(docs: Path, name: str) -> list[str]:
    if not (docs / _PICTURES / f"{name}.svg").is_file():
        return []
    text = ALTERNATIVES[methods()[name]].format(name)
    return [f".. image:: /{_PICTURES}/{name}.svg", f"   :alt: {text}", ""]
