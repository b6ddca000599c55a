"""A hash of code that is not eigenbench's: of a component of the user's own, or of an installed package."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

from eigenbench.bench.code_hash.source_facts import digest_of_code
from eigenbench.bench.components import make_importable

#: Compiled code of a package.
_COMPILED = (".so", ".pyd")


@cache
def own_code_hash(module: str, folder: str = "") -> str:
    """Return the hash of the code that a module brings with it.

    Parameters
    ----------
    module : str
        A dotted name.
    folder : str
        Where it lies if it is not installed; empty if it is.

    Returns
    -------
    str
        16 hexadecimal digits. Of a package that pip has installed, they are those of its list of files with
        their sums. Otherwise they cover the module, or the whole package that it is in, and whatever lies
        beside it and is imported by what is covered, without comments, layout and docstrings.

    Raises
    ------
    ModuleNotFoundError
        If there is no such module.
    """
    if folder:
        make_importable(folder)
    top = module.partition(".")[0]
    spec = find_spec(top)
    if spec is None or not (spec.origin or spec.submodule_search_locations):
        raise ModuleNotFoundError(f"there is no module {top!r}")
    place = Path(spec.origin or next(iter(spec.submodule_search_locations or ())))
    listed = None if folder else _installed_files(top, place)
    if listed is not None:
        content = [listed]
    else:
        beside = place.parent.parent if place.name == "__init__.py" else place.parent
        content = [f"{name} {digest}" for name, digest in sorted(_digests(top, beside).items())]
    return hashlib.sha256("\n".join(content).encode()).hexdigest()[:16]


def _installed_files(top: str, place: Path) -> str | None:
    """Return the list of files with sums of the distribution that a module belongs to, None without one."""
    for name in packages_distributions().get(top, ()):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        record = found.read_text("RECORD")
        # An editable installation lists no file of the package.
        if record and place.resolve().is_relative_to(Path(str(found.locate_file(""))).resolve()):
            return record
    return None


def _digests(top: str, folder: Path) -> dict[str, str]:
    """Return the digests of all files that a module or package, and what it imports from beside it, has."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    waiting = [top]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for path in _files(folder, name):
            if path.suffix == ".py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                waiting += _imported(tree)
                found[str(path.relative_to(folder))] = digest_of_code(tree)
            else:
                found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _files(folder: Path, name: str) -> Iterator[Path]:
    if (folder / f"{name}.py").is_file():
        yield folder / f"{name}.py"
    elif (folder / name).is_dir():
        yield from (path for path in (folder / name).rglob("*") if path.suffix in (".py", *_COMPILED))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the first parts of the names of the modules that some code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
