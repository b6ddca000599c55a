"""Hashes of the code that a job runs, found from the code: comments, layout and docstrings do not count."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path

import grimp

from eigenbench.bench.components import make_importable

PACKAGE = "eigenbench"
_ROOT = Path(__file__).parents[2]

#: Python's and compiled code of a package.
_CODE = (".py", ".so", ".pyd")

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_hash(modules: Iterable[str]) -> str:
    """Return the hash, 16 hexadecimal digits, of modules and of all eigenbench modules that they import.

    Imports count at any depth; modules of other packages are left out.
    """
    return _shortened(f"{name} {_module_digest(name)}" for name in sorted(import_closure(modules)))


def files_hash(package: str, folder: str) -> str:
    """Return the hash of the files in a folder of a package, which are no modules."""
    paths = sorted((_source(package).parent / folder).iterdir())
    return _shortened(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in paths)


def _shortened(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def import_closure(modules: Iterable[str]) -> set[str]:
    """Return the eigenbench modules that are executed when some modules are imported and run.

    Imports inside functions count, and the packages that a module is in. Names that a package imports on
    first use do not: inside eigenbench each is taken from the module that defines it.
    """
    graph = _import_graph()
    reached: set[str] = set()
    waiting = [name for name in modules if name in graph.modules]
    while waiting:
        name = waiting.pop()
        # The root package holds nothing but its version and names that are imported on first use.
        if name not in reached and name != PACKAGE:
            reached.add(name)
            waiting += [*graph.find_modules_directly_imported_by(name), name.rpartition(".")[0]]
    return reached


@cache
def _import_graph() -> grimp.ImportGraph:
    return grimp.build_graph(PACKAGE, exclude_type_checking_imports=True, cache_dir=None)


def _source(module: str) -> Path:
    """Return the file of a module of eigenbench; ``find_spec`` would import the package that it is in."""
    below = _ROOT.joinpath(*module.split("."))
    return below / "__init__.py" if below.is_dir() else below.with_suffix(".py")


@cache
def _module_digest(module: str) -> str:
    return code_digest(_source(module).read_text(encoding="utf-8"))


def code_digest(text: str) -> str:
    """Return the hash of some code without its docstrings and its list of names imported on first use."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_EXPORTS")
    ]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


@cache
def own_code_hash(module: str, folder: str = "") -> str:
    """Return the hash of code that is not eigenbench's: of the user's own, or of an installed package.

    ``folder`` is where the module lies if it is not installed. Of a package that pip has installed, it is
    that of its list of files with their sums. Otherwise it covers the module, or the whole package that it
    is in, and whatever lies beside it and is imported by what is covered. Raises a ModuleNotFoundError.
    """
    top = module.partition(".")[0]
    place = _place_of(top, folder)
    listed = None if folder else _installed_files(top, place)
    if listed is not None:
        return _shortened([listed])
    return _shortened(f"{name} {digest}" for name, digest in sorted(_digests(top, _beside(place)).items()))


def own_code_files(module: str, folder: str) -> dict[str, Path]:
    """Return the files that `own_code_hash` covers of a folder's code, by their paths in the folder."""
    top = module.partition(".")[0]
    beside = _beside(_place_of(top, folder))
    return {name: beside / name for name in _digests(top, beside)}


def _place_of(top: str, folder: str) -> Path:
    """Return the file of a module, or of a package's ``__init__``."""
    if folder:
        make_importable(folder)
    spec = find_spec(top)
    if spec is None or not (spec.origin or spec.submodule_search_locations):
        raise ModuleNotFoundError(f"there is no module {top!r}")
    return Path(spec.origin or next(iter(spec.submodule_search_locations or ())))


def _beside(place: Path) -> Path:
    return place.parent.parent if place.name == "__init__.py" else place.parent


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
        paths = [folder / f"{name}.py", *(folder / name).rglob("*")]
        for path in (path for path in paths if path.suffix in _CODE and path.is_file()):
            if path.suffix == ".py":
                text = path.read_text(encoding="utf-8")
                waiting += _imported(ast.parse(text))
                found[str(path.relative_to(folder))] = code_digest(text)
            else:
                found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the first parts of the names of the modules that some code imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
