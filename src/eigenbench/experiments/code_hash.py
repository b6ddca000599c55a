"""A hash of the code behind a result, so that editing a method reruns what it made and nothing else."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from eigenbench.experiments.tasks import Unit
from eigenbench.protocols.available import PROTOCOLS
from eigenbench.registry import component, nested_steps

_STAGE_MODULES = {
    "moments": ("eigenbench.moments", "eigenbench.experiments.parts"),
    "embed": ("eigenbench.experiments.pipelines", "eigenbench.experiments.parts"),
    "train": ("eigenbench.experiments.pipelines", "eigenbench.experiments.parts"),
    "evaluate": ("eigenbench.experiments.metrics", "eigenbench.experiments.parts"),
    "select": (),
    "measure": ("eigenbench.experiments.pipelines", "eigenbench.protocols.base"),
}


def unit_code_hash(unit: Unit) -> str:
    """Return the hash of the eigenbench modules that a unit executes, and all that they import."""
    modules = {*_STAGE_MODULES[unit.stage]}
    for task in unit.tasks:
        if "propensity" in task.spec:
            modules.add("eigenbench.metrics.multilabel")
        for step in [*task.spec.get("steps", ()), *filter(None, [task.spec.get("classifier")])]:
            nested = nested_steps({step["component"]: step["params"]})
            modules.update(component(name).module for name, _ in nested)
        if "protocol" in task.spec:
            modules.add(PROTOCOLS[task.spec["protocol"]].module)
    return modules_hash(sorted(modules))


def modules_hash(modules: list[str]) -> str:
    """Return the hash of some modules and of every eigenbench module that they import."""
    reached: set[str] = set()
    waiting = [name for name in modules if name.startswith("eigenbench")]
    while waiting:
        name = waiting.pop()
        if name not in reached and not name.startswith(_UNHASHED):
            reached.add(name)
            waiting.extend(_imports(name))
    digest = hashlib.sha256()
    for name in sorted(reached):
        digest.update(f"{name}\0{_normalised(name)}\0".encode())
    return digest.hexdigest()[:16]


# The registry lists every method: hashing it would rerun all of them when one is added. A unit's
# specification already holds what it takes from the registry and from the suite.
_UNHASHED = (
    "eigenbench.registry",
    *(f"eigenbench.experiments.{name}" for name in ("suite", "tasks", "cells", "plan")),
)


def _source(module: str) -> Path | None:
    spec = find_spec(module)
    return Path(spec.origin) if spec and spec.origin else None


@cache
def _tree(module: str) -> ast.Module:
    source = _source(module)
    return ast.parse(source.read_text(encoding="utf-8") if source else "")


@cache
def _imports(module: str) -> tuple[str, ...]:
    found = []
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("eigenbench"):
            found.append(node.module)
            found += [name for alias in node.names if _is_module(name := f"{node.module}.{alias.name}")]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("eigenbench")]
    return tuple(found)


@cache
def _is_module(name: str) -> bool:
    package, _, leaf = name.rpartition(".")
    source = _source(package)
    return (
        source is not None
        and source.name == "__init__.py"
        and any((source.parent / path).exists() for path in (f"{leaf}.py", f"{leaf}/__init__.py"))
    )


@cache
def _normalised(module: str) -> str:
    """The syntax tree without docstrings: comments, layout and documentation do not change results."""
    tree = _tree(module)
    for node in ast.walk(tree):
        if isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)
