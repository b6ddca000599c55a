"""Whether the components that a suite names are there, and what it takes them for."""

from __future__ import annotations

import inspect
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from eigenbench.bench.components import Component, MissingExtraError
from eigenbench.bench.registry import NAMES, find_component
from eigenbench.bench.suites.steps import Role, as_step


class ComponentError(ValueError):
    """A component that a suite names cannot be used; the message says which, why, and what to change."""


def checked_parameters(
    name: str, role: Role | None, params: dict[str, Any], folder: Path | None
) -> list[str] | None:
    """Return the parameters of a component, after looking whether it can be what a suite takes it for.

    Code that is neither eigenbench's nor scikit-learn's is tried on a few rows, unless it needs parameters
    that are estimators or stand in a grid.

    Parameters
    ----------
    name : str
        What the suite calls it.
    role : {"step", "classifier"} or None
        What it is there; None for a parameter of another one.
    params : dict
        Its parameters in the suite.
    folder : Path or None
        The folder of the suite.

    Returns
    -------
    list of str or None
        None where the package of a registered component is not installed.

    Raises
    ------
    ComponentError
        If there is no such module or class, or it is not what it should be.
    """
    from eigenbench.bench.suites.smoke_test import SmokeTestError, check_role

    component = find_component(name, folder)
    try:
        cls = component.load()
    except MissingExtraError:
        return None
    except Exception as error:
        if not component.own:
            raise
        raise ComponentError(f"{name}: {_not_loaded(component, folder, error)}") from error
    if not _is_from_its_folder(component):
        raise ComponentError(f"{name}: {_hidden(component)}")
    try:
        if component.kind is None:
            check_role(cls, role)
        if component.own and role is not None:
            _try_once(cls, role, json.dumps(params, sort_keys=True))
    except SmokeTestError as error:
        raise ComponentError(f"{name}: {error}") from error
    return list(inspect.signature(cls).parameters)


def _hidden(component: Component) -> str:
    return f"another module of that name is installed: rename the one in {component.folder}"


def _is_from_its_folder(component: Component) -> bool:
    source = getattr(sys.modules.get(component.module), "__file__", None)
    return (
        component.folder is None or source is None or Path(source).absolute().is_relative_to(component.folder)
    )


@cache
def _try_once(cls: type, role: Role, params: str) -> None:
    from eigenbench.bench.suites.smoke_test import needed_parameters, try_out

    given = json.loads(params)
    needed = needed_parameters(cls)
    if all(name in given and as_step(given[name], NAMES) is None for name in needed):
        try_out(cls, {name: given[name] for name in needed}, role)


def _not_loaded(component: Component, folder: Path | None, error: Exception) -> str:
    """Return why a class could not be imported, and what to do."""
    top = component.module.partition(".")[0]
    if not _is_from_its_folder(component):
        return _hidden(component)
    if isinstance(error, ModuleNotFoundError) and error.name == top:
        beside = "" if folder is None else f" or put {top}.py, or a folder {top}, into {folder}"
        return f"there is no module {top!r}: install its package{beside}"
    if isinstance(error, AttributeError) and component.attribute in str(error):
        return f"the module {component.module} has no {component.attribute!r}: name a class that it defines"
    return f"importing {component.module} fails: {type(error).__name__}: {error}"
