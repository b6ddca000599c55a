"""A hash of the code that a job runs, found from the code: its module and everything that this imports."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from eigenbench.bench.code_hash.source_facts import KEPT, SourceFacts

PACKAGE = "eigenbench"
_ROOT = Path(__file__).parents[2]


def code_hash(modules: Iterable[str]) -> str:
    """Return the hash of some modules and of every eigenbench module that they import, at any depth.

    Imports inside functions count. Comments, layout and docstrings do not: they change no result.

    Parameters
    ----------
    modules : iterable of str
        Dotted names; those of other packages are left out.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    return _hash(tuple(sorted(set(modules))))


def files_hash(package: str, folder: str) -> str:
    """Return the hash of the files in a folder of a package, which are no modules."""
    source = _source(package)
    assert source is not None
    total = hashlib.sha256()
    for path in sorted((source.parent / folder).iterdir()):
        total.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:16]


@cache
def _hash(modules: tuple[str, ...]) -> str:
    digests = [f"{name} {_facts(name).digest}" for name in sorted(import_closure(modules))]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def import_closure(modules: Iterable[str]) -> set[str]:
    """Return the eigenbench modules that are executed when some modules are imported and run."""
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        # The root package holds nothing but its version and names that are imported on first use.
        if name.startswith(f"{PACKAGE}.") and name not in reached:
            reached.add(name)
            waiting += [*_imports(name), name.rpartition(".")[0]]
    return reached


@cache
def _source(module: str) -> Path | None:
    """Return the file of a module of eigenbench; ``find_spec`` would import the package that it is in."""
    below = Path(*module.split(".")[1:])
    found = (_ROOT / below / "__init__.py", _ROOT / f"{below}.py")
    return next((path for path in found if path.is_file()), None)


def _text(module: str) -> str:
    source = _source(module)
    return source.read_text(encoding="utf-8") if source else ""


@cache
def _facts(module: str) -> SourceFacts:
    return KEPT.of(_text(module))


@cache
def _imports(module: str) -> tuple[str, ...]:
    found = []
    for imported, names in _facts(module).imports:
        if imported.split(".")[0] == PACKAGE:
            found += [imported, *itertools.chain(*(_defining_modules(imported, name) for name in names))]
    return tuple(found)


def _defining_modules(package: str, name: str) -> list[str]:
    """Return the module that ``from package import name`` executes beside the package itself, if any."""
    if _is_module(f"{package}.{name}"):
        return [f"{package}.{name}"]
    lazy = _facts(package).exports.get(name)
    return [lazy if lazy.startswith(PACKAGE) else f"{package}.{lazy}"] if lazy else []


@cache
def _is_module(name: str) -> bool:
    package, _, leaf = name.rpartition(".")
    source = _source(package)
    return (
        source is not None
        and source.name == "__init__.py"
        and any((source.parent / path).exists() for path in (f"{leaf}.py", f"{leaf}/__init__.py"))
    )
