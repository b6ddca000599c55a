"""Import the class of a component by its name and module."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path


class MissingExtraError(ImportError):
    """A component needs a package that is not installed; the message says how to install it."""


def load_component(name: str, module: str, extra: str | None = None, folder: str | None = None) -> type:
    """Import and return a class.

    Parameters
    ----------
    name, module : str
        The class, and the module that defines it.
    extra : str, optional
        The optional dependency, ``pip install eigenbench[extra]``, that the module needs.
    folder : str, optional
        Where the module lies if it is not installed: from then on, modules are sought there last.

    Raises
    ------
    MissingExtraError
        If the module belongs to a package that is not installed.
    """
    if folder is not None:
        make_importable(folder)
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        if extra is None:
            raise
        raise MissingExtraError(
            f"{name} needs a package that is not installed ({error}): pip install 'eigenbench[{extra}]'"
        ) from error


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
