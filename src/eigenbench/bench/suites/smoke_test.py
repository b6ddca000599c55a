"""A trial of components that are not eigenbench's own, before any work is done with them."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from eigenbench.bench.suites.steps import Role

#: Rows, inputs and classes of the trial. The inputs are in [0, 1], where counts and densities are too.
N_ROWS, N_INPUTS, N_CLASSES = 120, 20, 3


class SmokeTestError(ValueError):
    """A component does not keep scikit-learn's conventions; the message says what to change."""


def check_role(cls: Any, role: Role | None) -> None:
    """Raise unless a class can be what a suite takes it for.

    Parameters
    ----------
    cls : object
        What the name of the component stands for.
    role : {"step", "classifier"} or None
        None for a parameter of another component.

    Raises
    ------
    SmokeTestError
        Saying what is missing.
    """
    if not isinstance(cls, type):
        raise SmokeTestError(f"it is not a class but {cls!r:.60}: name a class")
    if not issubclass(cls, BaseEstimator):
        raise SmokeTestError("it is no scikit-learn estimator: derive it from sklearn.base.BaseEstimator")
    if role == "classifier" and not issubclass(cls, ClassifierMixin):
        raise SmokeTestError("it is no classifier: derive it from sklearn.base.ClassifierMixin first")
    for method in {"step": ("fit", "transform"), "classifier": ("fit", "predict"), None: ()}[role]:
        if not hasattr(cls, method):
            what = "a step of a pipeline" if role == "step" else "a classifier"
            raise SmokeTestError(f"it has no method {method!r}, which {what} needs")


def needed_parameters(cls: type) -> list[str]:
    """Return the parameters of a constructor that have no default."""
    return [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is inspect.Parameter.empty
        and parameter.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    ]


def try_out(cls: type, params: dict[str, Any], role: Role) -> None:
    """Fit a component to a few random rows, and look at what it returns.

    Parameters
    ----------
    cls : type
        An estimator class that has passed `check_role`.
    params : dict
        The parameters that it needs; the others have their defaults.
    role : {"step", "classifier"}
        What it is in a pipeline.

    Raises
    ------
    SmokeTestError
        If it cannot be cloned, fitted or applied, or returns something else than a row for each row.
    """
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
        raise SmokeTestError(f"{what}, it fails: {type(error).__name__}: {error}") from error
    shape = np.shape(found)
    if role == "step" and (len(shape) != 2 or shape[0] != N_ROWS):
        raise SmokeTestError(f"{what}, transform returns the shape {shape}, not ({N_ROWS}, features)")
    if role == "classifier" and (shape != (N_ROWS,) or not set(np.unique(found)) <= set(range(N_CLASSES))):
        raise SmokeTestError(f"{what}, predict returns {found!r:.60}, not one of the classes for each row")
