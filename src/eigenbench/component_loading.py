"""Import the class of a component by its name and module."""

from __future__ import annotations

from importlib import import_module


class MissingExtraError(ImportError):
    """A component needs a package that is not installed; the message says how to install it."""


def load_component(name: str, module: str, extra: str | None = None) -> type:
    """Import and return a class.

    Parameters
    ----------
    name, module : str
        The class, and the module that defines it.
    extra : str, optional
        The optional dependency, ``pip install eigenbench[extra]``, that the module needs.

    Raises
    ------
    MissingExtraError
        If the module belongs to a package that is not installed.
    """
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        if extra is None:
            raise
        raise MissingExtraError(
            f"{name} needs a package that is not installed ({error}): pip install 'eigenbench[{extra}]'"
        ) from error
