"""Components: the classes that suites name, with where they lie, so that a job can import them."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Kind = Literal["preprocessing", "embedding", "expansion", "classifier", "control"]


class MissingExtraError(ImportError):
    """A component needs a package that is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Component:
    """A scikit-learn estimator that suites refer to by ``name``.

    Attributes
    ----------
    name : str
        What a suite calls it: the name of the class, or ``package.module:Class``.
    module : str
        The module that defines the class.
    kind : {"preprocessing", "embedding", "expansion", "classifier"} or None
        The role in a pipeline; None where the class says it.
    extra : str or None
        The optional dependency, ``pip install eigenbench[extra]``, that it needs.
    attribute : str
        The class, where it is not called as the component.
    own : bool
        Whether it is code of the user's or of a further package, which is tried before it is used.
    folder : str or None
        Where the module lies if it is not installed.
    """

    name: str
    module: str
    kind: Kind | None = None
    extra: str | None = None
    attribute: str = ""
    own: bool = False
    folder: str | None = None

    def load(self) -> type:
        """Import and return the class.

        Raises
        ------
        MissingExtraError
            If it belongs to a package that is not installed.
        """
        if self.folder is not None:
            make_importable(self.folder)
        try:
            return getattr(import_module(self.module), self.attribute or self.name)
        except ImportError as error:
            if self.extra is None:
                raise
            raise MissingExtraError(
                f"{self.name} needs a package that is not installed ({error}): "
                f"pip install 'eigenbench[{self.extra}]'"
            ) from error

    def beside(self, folder: Path | None) -> Component:
        """Return it with a folder as its own, if its module lies there."""
        return replace(self, folder=folder_of(self.module, folder))

    @property
    def summary(self) -> str:
        """The first line of the class's docstring; code that is the user's or a package's is not imported."""
        if self.own:
            return f"from {self.module}"
        spec = find_spec(self.module) if self.module.startswith("eigenbench.") else None
        if spec is not None and spec.origin is not None:
            for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name == self.name:
                    return (ast.get_docstring(node) or "").partition("\n")[0]
        try:
            return (self.load().__doc__ or "").strip().partition("\n")[0]
        except MissingExtraError:
            return f"needs pip install 'eigenbench[{self.extra}]'"


def make_importable(folder: str) -> None:
    """Seek modules in a folder too, after all others."""
    if folder not in sys.path:
        sys.path.append(folder)


def folder_of(module: str, folder: Path | None) -> str | None:
    """Return a folder's absolute path if it has the file or package that a dotted name begins with."""
    if folder is None:
        return None
    top = folder / module.partition(".")[0]
    return str(folder.absolute()) if top.with_suffix(".py").is_file() or top.is_dir() else None
