"""Checks of the components that a suite names, before any work is done with them."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eigenbench.bench.components import Component, MissingExtraError
from eigenbench.bench.registry import NAMES, find_component, near_match, why_not_imported
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.steps import Role, as_step, nested_steps, step_names
from eigenbench.bench.suites.suite import ExperimentSpec, Suite

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
    for experiment_name, experiment in suite.experiments.items():
        start = f"{path}: experiments.{experiment_name}"
        for method_name, method in experiment.methods.items():
            place = _Place(f"{start}.methods.{method_name}", suite.folder)
            by_step = dict(zip(step_names(method.steps), method.steps, strict=True))
            for step in method.steps:
                place.check(step.component, "step", step.params)
            for key, values in method.grid.items():
                step_name, _, parameter = key.partition("__")
                if step_name not in by_step:
                    known = list(by_step)
                    close = near_match(step_name, known)
                    raise SuiteError(f"{place.text}.grid: {key!r} names no step.{close} Steps: {known}")
                place.at("grid").check_values(by_step[step_name].component, None, {}, {parameter: values})
        if experiment.protocol_settings:
            _check_settings(experiment, _Place(f"{start}.settings", suite.folder))
        for classifier_name, item in experiment.classifiers.items():
            place = _Place(f"{start}.classifiers.{classifier_name}", suite.folder)
            place.check(item.component, "classifier", item.params)
            place.at("grid").check_values(item.component, None, {}, item.grid)


def _check_settings(experiment: ExperimentSpec, place: _Place) -> None:
    """Check the components that a protocol's settings name, and the parameters of methods that they set."""
    settings = experiment.protocol_settings
    assert settings is not None
    for name, params in settings.components():
        place.check(name, None, params)
    methods = [dict(zip(step_names(m.steps), m.steps, strict=True)) for m in experiment.methods.values()]
    known = list(dict.fromkeys(itertools.chain(*methods)))
    for key, values in settings.parameters():
        step, _, parameter = key.partition("__")
        if step not in known:
            raise SuiteError(f"{place.text}: {key!r} names no step.{near_match(step, known)} Steps: {known}")
        for steps in methods:
            if step in steps and "__" not in parameter:
                place.check_values(steps[step].component, None, {}, {parameter: values})


@dataclass(frozen=True)
class _Place:
    """A place in a suite that is checked."""

    text: str
    folder: Path | None

    def at(self, key: str) -> _Place:
        return _Place(f"{self.text}.{key}", self.folder)

    def check(self, name: str, role: Role | None, params: dict[str, Any]) -> None:
        """Check a component and its parameters."""
        self.check_values(name, role, params, {key: [value] for key, value in params.items()})

    def check_values(
        self, name: str, role: Role | None, params: dict[str, Any], values: Mapping[str, list[Any]]
    ) -> None:
        """Check a component, and values of its parameters with those that are written like steps."""
        try:
            cls = checked_class(name, role, params, self.folder)
            if cls is not None:
                for key, tried in values.items():
                    check_parameter(cls, key, tried)
        except ComponentError as error:
            raise SuiteError(f"{self.text}: {name}{error}") from None
        for inner, its_params in nested_steps(list(itertools.chain(*values.values())), NAMES):
            self.check_values(inner, None, its_params, {key: [value] for key, value in its_params.items()})


def check_parameter(cls: type, key: str, values: list[Any]) -> None:
    """Raise a ComponentError unless a class has a parameter, and each of some values can be its value.

    The values that scikit-learn's estimators, and ours, take are their ``_parameter_constraints``. Parts that
    are written like steps are not looked at, and of ``{choose: [...]}`` each choice is.
    """
    from eigenbench.methods.parameter_constraints import (
        InvalidParameterError,
        validate_parameter_constraints,
    )

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


def checked_class(name: str, role: Role | None, params: dict[str, Any], folder: Path | None) -> type | None:
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
        raise ComponentError(f": {_not_loaded(component, folder, error)}") from error
    if not _is_from_its_folder(component):
        raise ComponentError(f": {_hidden(component)}")
    if component.kind is None:
        check_role(cls, role)
    if component.own and role is not None:
        _try_once(cls, role, json.dumps(params, sort_keys=True))
    return cls


def _hidden(component: Component) -> str:
    return f"another module of that name is installed: rename the one in {component.folder}"


def _is_from_its_folder(component: Component) -> bool:
    source = getattr(sys.modules.get(component.module), "__file__", None)
    return (
        component.folder is None or source is None or Path(source).absolute().is_relative_to(component.folder)
    )


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
    if not _is_from_its_folder(component):
        return _hidden(component)
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
