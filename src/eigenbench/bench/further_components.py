"""Components that no line of the registry names: scikit-learn's own, those of other packages, the user's.

A name in a suite means, in this order: a component of the registry; ``package.module:Class``, an import path;
a public estimator of scikit-learn, by the name of its class; an entry point of the group `ENTRY_POINTS` of an
installed package. To find one imports nothing; a class is imported when it is loaded, and only those that a
suite names are.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eigenbench.bench.registry import COMPONENTS, Component, near_match

#: The group of entry points by which an installed package offers components: ``Name = package.module:Class``.
ENTRY_POINTS = "eigenbench.components"

_IMPORT_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_CLASS_NAME = re.compile(r"[A-Z]\w*")

#: Folders and modules of scikit-learn whose classes are no parts of pipelines, or not for users.
_NOT_SEARCHED = ("tests", "externals", "utils", "experimental", "datasets", "metrics", "base", "conftest")


def find_component(name: str, folder: Path | None = None) -> Component:
    """Look a component up by what a suite calls it.

    Parameters
    ----------
    name : str
        See the module's documentation.
    folder : Path, optional
        Where the module of an import path may lie if it is not installed: the folder of the suite.

    Returns
    -------
    Component
        Its ``kind`` is None unless it is registered: its class says what it is.

    Raises
    ------
    KeyError
        If nothing has that name; the message gives the near match and what else can be written.
    """
    found = COMPONENTS.get(name) or _further(name)
    if not found:
        close = near_match(name, [*COMPONENTS, *_sklearn_estimators()])
        raise KeyError(
            f"unknown method {name!r}.{close} Known: {', '.join(COMPONENTS)}, scikit-learn's classes, and "
            "import paths, package.module:Class"
        )
    return found.beside(folder) if _IMPORT_PATH.fullmatch(name) else found


class _Names:
    """All names that a component can have, as a container."""

    def __contains__(self, name: Any) -> bool:
        return isinstance(name, str) and (name in COMPONENTS or _further(name) is not None)


#: Contains every name that `find_component` finds.
NAMES = _Names()


@cache
def _further(name: str) -> Component | None:
    if _IMPORT_PATH.fullmatch(name):
        module, _, attribute = name.partition(":")
        return Component(name, module, None, "of your own", attribute=attribute, own=True)
    if not _CLASS_NAME.fullmatch(name):
        return None
    if name in _sklearn_estimators():
        module = _sklearn_estimators()[name]
        return Component(name, module, None, "scikit-learn's")
    return offered().get(name)


@cache
def offered() -> dict[str, Component]:
    """Return the components that installed packages offer by entry points, by name."""
    return {
        point.name: Component(
            point.name,
            point.module,
            None,
            f"of {point.dist.name}" if point.dist else "",
            attribute=point.attr,
            own=True,
        )
        for point in entry_points(group=ENTRY_POINTS)
        if _CLASS_NAME.fullmatch(point.name) and point.attr
    }


@cache
def _sklearn_estimators() -> dict[str, str]:
    """Return the public classes of scikit-learn and their modules, read from its source alone."""
    spec = find_spec("sklearn")
    assert spec is not None
    assert spec.origin is not None
    found: dict[str, str] = {}
    for path in sorted(Path(spec.origin).parent.iterdir()):
        source = path / "__init__.py" if path.is_dir() else path
        if path.stem.startswith("_") or path.stem in _NOT_SEARCHED or source.suffix != ".py":
            continue
        for name in _public_names(source) if source.is_file() else ():
            if _CLASS_NAME.fullmatch(name):
                found.setdefault(name, f"sklearn.{path.stem}")
    return found


def _public_names(source: Path) -> list[str]:
    """Return the texts in a module's ``__all__``, and the classes that it defines."""
    names = []
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            constants = [item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)]
            names += [value for value in constants if isinstance(value, str)]
    return names
