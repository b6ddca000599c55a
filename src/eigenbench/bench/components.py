"""Components: the classes that suites name, with where they lie, so that a job can import them.

What a component can do is read from its class, or from an instance where tags or parameters count.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

Kind = Literal["preprocessing", "embedding", "expansion", "classifier", "control"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class MissingExtraError(ImportError):
    """A component needs a package that is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Component:
    """A scikit-learn estimator that suites refer to by ``name``: its class, or ``package.module:Class``.

    ``kind`` is its role in a pipeline; None where the class says it. ``extra`` is the optional dependency
    that it needs, ``attribute`` the class, where it is not called as the component. ``own`` code, the user's
    or a further package's, is tried before it is used; ``folder`` is where it lies if it is not installed.
    """

    name: str
    module: str
    kind: Kind | None = None
    extra: str | None = None
    attribute: str = ""
    own: bool = False
    folder: str | None = None

    def load(self) -> type:
        """Import and return the class; a MissingExtraError says that its package is not installed."""
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

    @property
    def summary(self) -> str:
        """The first line of the class's docstring; code that is the user's or a package's is not imported."""
        if self.own:
            return f"from {self.module}"
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


#: scikit-learn's estimators by name: whether they use their random numbers with these parameters. What is
#: not listed is taken to use them.
_SKLEARN_RANDOMIZED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "KernelPCA": lambda params: params["eigen_solver"] != "dense",
    # LIBLINEAR's trust-region Newton steps shuffle no rows.
    "LinearSVC": lambda params: (
        (params["dual"], params["penalty"], params["multi_class"]) != (False, "l2", "ovr")
    ),
    "LogisticRegression": lambda params: params["solver"] in ("liblinear", "sag", "saga"),
    "PCA": lambda params: params["svd_solver"] not in ("full", "covariance_eigh"),
}


def takes_moments(cls: type) -> bool:
    """Return whether ``fit_moments`` can replace ``fit``, so that one pass over the rows serves many methods.

    A class whose ``fit_moments`` finds less than its ``fit``, or not for all targets, has the attribute
    ``_moments_suffice = False``.
    """
    return hasattr(cls, "fit_moments") and getattr(cls, "_moments_suffice", True)


def needs_rows(estimator: Any) -> bool:
    """Return whether ``fit`` learns from the rows, and not from their width and type alone.

    A class that uses no more of the rows has the attribute ``_shape_suffices = True``, or, as scikit-learn's
    stateless transformers, the tag ``requires_fit = False``.
    """
    from sklearn.utils import get_tags

    return get_tags(estimator).requires_fit and not getattr(estimator, "_shape_suffices", False)


def takes_partitions(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to rows with one label each that are never whole in memory.

    A classifier needs ``fit_partitions``. A transformer needs ``fit_moments``, where class moments give what
    ``fit`` does (those of classes, for a class with ``_moments_suffice_for_classes``), or ``partial_fit``, or
    nothing of the rows but their shape.
    """
    if hasattr(estimator, "predict"):
        return hasattr(estimator, "fit_partitions")
    if hasattr(estimator, "fit_moments"):
        return takes_moments(type(estimator)) or getattr(estimator, "_moments_suffice_for_classes", False)
    return hasattr(estimator, "partial_fit") or not needs_rows(estimator)


def takes_feature_map(cls: type) -> bool:
    """Return whether a classifier maps its rows to features block by block, by a ``feature_map`` given to it.

    A classifier whose ``feature_map`` is applied to something else than the rows has the attribute
    ``_maps_rows = False``.
    """
    return hasattr(cls, "predict") and "feature_map" in _defaults(cls) and getattr(cls, "_maps_rows", True)


def takes_random_state(cls: type) -> bool:
    """Return whether the constructor has ``random_state``."""
    return "random_state" in _defaults(cls)


def is_randomized(cls: type, params: Mapping[str, Any]) -> bool:
    """Return whether, with these parameters, the ``random_state`` given to an estimator changes its result.

    It does for every class whose constructor has ``random_state``, with these exceptions: it is among the
    parameters already; the class has a classmethod ``_draws_at_random(params)``, which gets all parameters,
    defaults included, and returns False; or the class is scikit-learn's own and the parameters choose one of
    its deterministic algorithms. Parameters that are estimators draw by their own ``random_state``.
    """
    if not takes_random_state(cls) or params.get("random_state") is not None:
        return False
    complete = {**_defaults(cls), **params}
    if hasattr(cls, "_draws_at_random"):
        return cls._draws_at_random(complete)
    if cls.__module__.partition(".")[0] == "sklearn" and cls.__name__ in _SKLEARN_RANDOMIZED:
        return _SKLEARN_RANDOMIZED[cls.__name__](complete)
    return True


@cache
def _defaults(cls: type) -> dict[str, Any]:
    """Return the constructor's parameters and their defaults."""
    parameters = inspect.signature(cls).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}
