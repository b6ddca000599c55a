"""Checks of the components that a suite names, before any work is done with them."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eigenbench.bench.components import Component, MissingExtraError
from eigenbench.bench.registry import NAMES, find_component, near_match, why_not_imported
from eigenbench.bench.suites.parts import MethodSpec, SuiteError
from eigenbench.bench.suites.steps import Role, as_step, nested_steps, step_names
from eigenbench.bench.suites.suite import Suite

#: Rows, inputs and classes of the trial. The inputs are in [0, 1], where counts and densities are too.
N_ROWS, N_INPUTS, N_CLASSES = 120, 20, 3


class ComponentError(ValueError):
    """A component that a suite names cannot be used; the message, which follows its name, says why."""


def check_parameters(suite: Suite, path: Path) -> None:
    """Check every component of a suite, and every parameter against its signature and its constraints.

    Imports the components that the suite names, and no others. Those that need a package that is not
    installed are left out; those of other packages and of the user's own are tried on a few rows. Raises a
    SuiteError with the file, the place, and the nearest parameter or what is wrong.
    """
    folder = suite.folder
    for experiment_name, experiment in suite.experiments.items():
        start = f"{path}: experiments.{experiment_name}"
        for method_name, method in experiment.methods.items():
            place = f"{start}.methods.{method_name}"
            for step in method.steps:
                _check(place, folder, step.component, "step", step.params)
            for name, values in _varied(f"{place}.grid", method.grid.items(), [method]):
                _check_values(f"{place}.grid", folder, name, values)
        if settings := experiment.protocol_settings:
            place = f"{start}.settings"
            for name, params in settings.components():
                _check(place, folder, name, None, params)
            for name, values in _varied(place, settings.parameters(), experiment.methods.values()):
                if not any("__" in parameter for parameter in values):  # a protocol can set parts of a step
                    _check_values(place, folder, name, values)
        for classifier_name, item in experiment.classifiers.items():
            place = f"{start}.classifiers.{classifier_name}"
            _check(place, folder, item.component, "classifier", item.params)
            _check_values(f"{place}.grid", folder, item.component, item.grid)


def _varied(
    place: str, parameters: Iterable[tuple[str, list[Any]]], methods: Iterable[MethodSpec]
) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """Yield the component, and the values of its parameter, that a ``step__parameter`` of methods names."""
    by_step = [dict(zip(step_names(method.steps), method.steps, strict=True)) for method in methods]
    known = list(dict.fromkeys(itertools.chain(*by_step)))
    for key, values in parameters:
        step, _, parameter = key.partition("__")
        if step not in known:
            raise SuiteError(f"{place}: {key!r} names no step.{near_match(step, known)} Steps: {known}")
        for steps in (steps for steps in by_step if step in steps):
            yield steps[step].component, {parameter: values}


def _check(place: str, folder: Path | None, name: str, role: Role | None, params: dict[str, Any]) -> None:
    """Check a component and its parameters."""
    _check_values(place, folder, name, {key: [value] for key, value in params.items()}, role, params)


def _check_values(
    place: str,
    folder: Path | None,
    name: str,
    values: Mapping[str, list[Any]],
    role: Role | None = None,
    params: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Check a component, and values of its parameters with those that are written like steps."""
    try:
        cls = checked_class(name, role, params, folder)
        for key, tried in values.items():
            if cls is not None:
                check_parameter(cls, key, tried)
    except ComponentError as error:
        raise SuiteError(f"{place}: {name}{error}") from None
    for inner, its_params in nested_steps(list(itertools.chain(*values.values())), NAMES):
        _check(place, folder, inner, None, its_params)


def check_parameter(cls: type, key: str, values: list[Any]) -> None:
    """Raise a ComponentError unless a class has a parameter, and each of some values can be its value.

    The values that scikit-learn's estimators, and ours, take are their ``_parameter_constraints``. Parts that
    are written like steps are not looked at, and of ``{choose: [...]}`` each choice is.
    """
    from eigenbench.methods.parameter_constraints import InvalidParameterError, validate_parameter_constraints

    known = list(inspect.signature(cls).parameters)
    if key not in known:
        raise ComponentError(f" has no parameter {key!r}.{near_match(key, known)}")
    constraints = getattr(cls, "_parameter_constraints", {})
    for value in values:
        if isinstance(value, dict) and set(value) == {"choose"} and isinstance(value["choose"], list):
            check_parameter(cls, key, value["choose"])
        elif not any(nested_steps([value], NAMES)):
            try:
                validate_parameter_constraints(constraints, {key: value}, caller_name=cls.__name__)
            except InvalidParameterError as error:
                raise ComponentError(f": {error}{_unquoted(value)}") from None


#: Texts that mean something else in other languages, or in YAML 1.1, and how YAML 1.2 writes it.
_MEANT = {"none": "null", "true": "true", "yes": "true", "on": "true"} | dict.fromkeys(
    ("false", "no", "off"), "false"
)


def _unquoted(value: Any) -> str:
    """Return how to write a text that looks like a number, a boolean or null."""
    if not isinstance(value, str):
        return ""
    with contextlib.suppress(ValueError):
        float(value)
        return f" Write {value.replace('_', '')} without quotes."
    meant = _MEANT.get(value.casefold())
    return f" Write {meant}, without quotes." if meant else ""


def checked_class(
    name: str, role: Role | None, params: Mapping[str, Any], folder: Path | None
) -> type | None:
    """Return the class of a component, after looking whether it can be what a suite takes it for.

    None where the package of a registered component is not installed. Code that is neither eigenbench's nor
    scikit-learn's is tried on a few rows, unless it needs parameters that are estimators or stand in a grid.
    Raises a ComponentError.
    """
    component = find_component(name, folder)
    try:
        cls = component.load()
    except MissingExtraError:
        return None
    except Exception as error:
        if not component.own:
            raise
        raise ComponentError(f": {_hidden(component) or _not_loaded(component, folder, error)}") from error
    if hidden := _hidden(component):
        raise ComponentError(f": {hidden}")
    if component.kind is None:
        check_role(cls, role)
    if component.own and role is not None:
        _try_once(cls, role, json.dumps(dict(params), sort_keys=True))
    return cls


def _hidden(component: Component) -> str:
    """Say so if another module has the name of a component's, which lies in a folder of the user's own."""
    source = getattr(sys.modules.get(component.module), "__file__", None)
    folder = component.folder
    if folder is None or source is None or Path(source).absolute().is_relative_to(folder):
        return ""
    return f"another module of that name is installed: rename the one in {folder}"


@cache
def _try_once(cls: type, role: Role, params: str) -> None:
    given = json.loads(params)
    needed = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if all(name in given and as_step(given[name], NAMES) is None for name in needed):
        try_out(cls, {name: given[name] for name in needed}, role)


def _not_loaded(component: Component, folder: Path | None, error: Exception) -> str:
    """Return why a class could not be imported, and what to do."""
    if isinstance(error, AttributeError) and component.attribute in str(error):
        module, name = component.module, component.attribute
        classes = [key for key, value in vars(sys.modules[module]).items() if isinstance(value, type)]
        return f"the module {module} has no {name!r}: name a class of its own.{near_match(name, classes)}"
    return why_not_imported(component.module, folder, error)


def check_role(cls: Any, role: Role | None) -> None:
    """Raise a ComponentError unless a class can be what a suite takes it for; None for a parameter."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    if not isinstance(cls, type):
        raise ComponentError(f": it is not a class but {cls!r:.60}: name a class")
    if not issubclass(cls, BaseEstimator):
        raise ComponentError(": it is no scikit-learn estimator: derive it from sklearn.base.BaseEstimator")
    if role == "classifier" and not issubclass(cls, ClassifierMixin):
        raise ComponentError(": it is no classifier: derive it from sklearn.base.ClassifierMixin first")
    for method in {"step": ("fit", "transform"), "classifier": ("fit", "predict"), None: ()}[role]:
        if not hasattr(cls, method):
            what = "a step of a pipeline" if role == "step" else "a classifier"
            raise ComponentError(f": it has no method {method!r}, which {what} needs")


def try_out(cls: type, params: dict[str, Any], role: Role) -> None:
    """Fit a component that has passed `check_role` to a few random rows, and look at what it returns.

    Raises a ComponentError if it cannot be cloned, fitted or applied, or returns no row for each row.
    """
    import numpy as np
    from sklearn.base import clone

    rng = np.random.RandomState(0)
    y = np.arange(N_ROWS) % N_CLASSES
    X = 0.6 * rng.rand(N_ROWS, N_INPUTS) + 0.4 * (y[:, None] == np.arange(N_INPUTS) % N_CLASSES)
    what = f"on {N_ROWS} rows of {N_INPUTS} inputs, with {params or 'its defaults'}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(cls(**params))
            model.fit(X, y)
            found = model.transform(X) if role == "step" else model.predict(X)
    except Exception as error:
        raise ComponentError(f": {what}, it fails: {type(error).__name__}: {error}") from error
    shape = np.shape(found)
    if role == "step" and (len(shape) != 2 or shape[0] != N_ROWS):
        raise ComponentError(f": {what}, transform returns the shape {shape}, not ({N_ROWS}, features)")
    if role == "classifier" and (shape != (N_ROWS,) or not set(np.unique(found)) <= set(range(N_CLASSES))):
        raise ComponentError(f": {what}, predict returns {found!r:.60}, not one of the classes for each row")
