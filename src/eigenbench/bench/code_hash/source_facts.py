"""What the hash of a job's code needs of each source file.

To parse them takes a second at every start of the workflow, so the facts are kept beside Python's bytecode,
under the sum of what they were found from: an entry is never wrong, only no longer asked for.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, TypeGuard

from eigenbench.atomic_files import replacing_file

#: With more sources than this, only those that the process asked for are kept.
MAX_KEPT = 2_000


@dataclass(frozen=True)
class SourceFacts:
    """What stands in the source of a module.

    Attributes
    ----------
    digest : str
        The hash of the code without its docstrings and its list of lazily imported names.
    imports : list of [str, list of str]
        The modules that are imported, at any depth of the code, and the names that are taken from them.
    exports : dict
        What a package imports on first use: its ``_EXPORTS``, name to module.
    """

    digest: str
    imports: list[tuple[str, list[str]]]
    exports: dict[str, str]


class KeptFacts:
    """The facts of sources, those of earlier processes in a file.

    Parameters
    ----------
    path : Path
        The file; where it is damaged or cannot be written, every process parses for itself.
    """

    def __init__(self, path: Path):
        self.path = path
        self._asked: dict[str, dict[str, Any]] = {}

    def of(self, text: str) -> SourceFacts:
        """Return the facts of a source text."""
        sums = self._found_by.copy()
        sums.update(text.encode())
        key = sums.hexdigest()
        if key not in self._asked:
            self._asked[key] = self._earlier.get(key) or asdict(facts_of(text))
        found = self._asked[key]
        imports = [(module, names) for module, names in found["imports"]]
        return SourceFacts(found["digest"], imports, found["exports"])

    def keep(self) -> None:
        """Write what was parsed, together with what is there."""
        if sys.dont_write_bytecode or self._asked.keys() <= self._earlier.keys():
            return
        kept = {**self._read(), **self._asked}
        with contextlib.suppress(OSError), replacing_file(self.path) as temporary:
            temporary.write_text(json.dumps(kept if len(kept) <= MAX_KEPT else self._asked))

    @cached_property
    def _found_by(self) -> hashlib._Hash:
        """The sum of the parser and of this module: others may find other facts."""
        return hashlib.sha256(sys.version.encode() + Path(__file__).read_bytes())

    @cached_property
    def _earlier(self) -> dict[str, dict[str, Any]]:
        return self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


KEPT = KeptFacts(Path(cache_from_source(__file__)).with_suffix(".json"))
atexit.register(KEPT.keep)


def facts_of(text: str) -> SourceFacts:
    """Parse a source text and return its facts."""
    tree = ast.parse(text)
    imports: list[tuple[str, list[str]]] = []
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            imports.append((node.module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            imports += [(alias.name, []) for alias in node.names]
    exports = [ast.literal_eval(node.value) for node in tree.body if _is_export_list(node)]
    return SourceFacts(digest_of_code(tree), imports, *exports[:1] or [{}])


def digest_of_code(tree: ast.Module) -> str:
    """Return the hash of some code without its docstrings, which it loses, and lists of lazy names."""
    for node in _statements(tree):
        if isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:]
    kept = [node for node in tree.body if not _is_export_list(node)]
    return hashlib.sha256(ast.dump(ast.Module(kept, type_ignores=[])).encode()).hexdigest()


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield a module and its statements at any depth: imports and docstrings stand in no expression."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for block in ("body", "handlers", "cases", "orelse", "finalbody"):
            waiting += getattr(node, block, ())


def _is_export_list(node: ast.AST) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and [
        target.id for target in node.targets if isinstance(target, ast.Name)
    ] == ["_EXPORTS"]
