"""Pages that follow from the code, the catalogue and the suites."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

import eigenbench
from eigenbench.bench.protocols.available import PROTOCOLS
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.catalogue import load_catalogue
from eigenbench.datasets.project_files import project_folder

#: Sections of the API reference: the start of the module of what stands in them, and their headings.
SECTIONS = {
    "eigenbench.methods.embeddings.discriminants": "Discriminants",
    "eigenbench.methods.embeddings.constraints": "Constraints between rows",
    "eigenbench.methods.embeddings.labels": "Label embeddings",
    "eigenbench.methods.embeddings.kernel_features": "Kernel features",
    "eigenbench.methods.embeddings": "Expansion and baseline",
    "eigenbench.methods.classifiers": "Classifiers",
    "eigenbench": "Moments and the rest",
}

#: Modules whose public functions and classes are documented one by one.
MODULES = {
    "eigenbench.comparison.differences": "Comparison: differences on one dataset",
    "eigenbench.comparison.mean_intervals": "Comparison: intervals",
    "eigenbench.comparison.ranks": "Comparison: ranks over datasets",
    "eigenbench.comparison.rank_intervals": "Comparison: uncertainty of ranks",
    "eigenbench.comparison.ratios": "Comparison: ratios of errors and equivalence",
    "eigenbench.comparison.pareto": "Comparison: Pareto fronts",
    "eigenbench.methods.metrics.ranking": "Metrics of rankings",
    "eigenbench.methods.metrics.multilabel": "Metrics of multilabel predictions",
    "eigenbench.methods.metrics.calibration": "Metric of probabilities",
    "eigenbench.methods.metrics.label_graph": "Metrics of label graphs",
}

DATA_FUNCTIONS = ("load", "fetch", "prepare", "open_prepared", "load_catalogue", "Dataset", "DatasetError")


def write_pages(docs: Path) -> None:
    """Write ``reference/index.rst`` and what the pages include from ``generated``."""
    suites = sorted((project_folder() / "config" / "suites").glob("*.yaml"))
    pages = {
        "reference/index.rst": _reference(),
        "generated/components.md": _table(
            ("kind", "name", "description"),
            ((item.kind, f"`{item.name}`", item.summary) for item in COMPONENTS.values()),
        ),
        "generated/protocols.md": _table(
            ("protocol", "measures", "headline", "settings"),
            (
                (
                    f"`{name}`",
                    item.summary,
                    f"`{item.settings().headline}`",
                    _names(item.settings().model_fields),
                )
                for name, item in PROTOCOLS.items()
            ),
        ),
        "generated/datasets.md": _table(
            ("dataset", "rows", "inputs", "classes", "target", "licence", "title"),
            (
                (
                    f"`{name}`",
                    *(f"{n:,}" for n in (sum(e.expect.rows.values()), e.expect.features, e.expect.classes)),
                    *(e.target, e.licence, e.title),
                )
                for name, e in load_catalogue().datasets.items()
            ),
        ),
        "generated/suites.md": "\n".join(map(_suite, suites)),
        "generated/regress.md": _regress(),
    }
    for name, text in pages.items():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _regress() -> str:
    sys.path.insert(0, str(project_folder() / "benchmarks" / "regress"))
    import history

    return history.page(history.read())


def _reference() -> str:
    named = {name: getattr(eigenbench, name) for name in eigenbench.__all__}
    parts = [
        _heading("Reference", "="),
        "Everything in the first sections is imported from ``eigenbench``.\n",
    ]
    for start, title in SECTIONS.items():
        chosen = [name for name, thing in named.items() if thing.__module__.startswith(f"{start}.")]
        if chosen:
            parts.append(_listing(title, "eigenbench", chosen))
        for name in chosen:
            del named[name]
    parts.append(_listing("Datasets", "eigenbench.datasets", DATA_FUNCTIONS))
    for module, title in MODULES.items():
        parts.append(_listing(title, module, _public(module)))
    return "\n".join(parts)


def _public(module: str) -> list[str]:
    members = vars(import_module(module)).items()
    return [
        name
        for name, thing in members
        if not name.startswith("_")
        and getattr(thing, "__module__", None) == module
        and (inspect.isclass(thing) or inspect.isfunction(thing))
    ]


def _listing(title: str, module: str, names: Iterable[str]) -> str:
    lines = "\n".join(f"   {name}" for name in names)
    directive = ".. autosummary::\n   :toctree: .\n   :nosignatures:\n"
    return f"{_heading(title, '-')}\n.. currentmodule:: {module}\n\n{directive}\n{lines}\n"


def _heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n"


def _suite(path: Path) -> str:
    suite = load_suite(path)
    rows = (
        (
            name,
            f"`{one.dataset}`",
            one.protocol or "classification",
            _names(one.methods),
            _names(one.classifiers),
            str(len(one.seeds)),
            str(len(one.published)),
        )
        for name, one in suite.experiments.items()
    )
    header = ("experiment", "dataset", "measures", "methods", "classifiers", "seeds", "published numbers")
    text = f"## {suite.name}\n\n{suite.title}\n\n{suite.description or ''}\n\n"
    time = f"   # about {suite.minutes} minutes on two cores" if suite.minutes else ""
    return text + f"```bash\nsnakemake {suite.name}{time}\n```\n\n" + _table(header, rows) + "\n"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(" ".join(cell.split()) for cell in line) + " |\n" for line in lines)
