"""The trial that a protocol is given, the outcome that it returns, and the base of its settings."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field

from eigenbench.bench.exhibits import Exhibit
from eigenbench.datasets.strict_model import StrictModel

T = TypeVar("T")
#: A list in a suite file; its items have exactly the type T.
Several = Annotated[tuple[T, ...], Field(strict=False)]
Sizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False, min_length=1)]


def _ascending(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if list(sizes) != sorted(set(sizes)):
        raise ValueError(f"sizes must ascend, found {list(sizes)}")
    return sizes


#: Sizes of training sets, in rows or classes.
RunSizes = Annotated[Several[Annotated[int, Field(ge=2)]], AfterValidator(_ascending)]
ImageSize = Annotated[tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], Field(strict=False)]


class SettingsModel(StrictModel):
    """Base of what a suite file holds: strict types, finite numbers, no unknown keys."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class ProtocolSettings(SettingsModel):
    """The ``settings`` of an experiment in a suite file; every protocol has its own keys.

    ``headline`` is the metric that tables show unless the suite names another; by default the first of
    `metrics`. Jobs of an ``exclusive`` one get the whole machine, because they measure time. Fields in
    ``optional`` are part of a run's settings only where they are not the default, so that runs keep their
    keys when a protocol gains a field. With ``takes_sizes`` an experiment's ``train_rows`` and ``classes``
    become settings, for all sizes in one run.
    """

    headline: ClassVar[str]
    exclusive: ClassVar[bool] = False
    optional: ClassVar[tuple[str, ...]] = ()
    takes_sizes: ClassVar[bool] = False

    def components(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return name and parameters of each component that the settings name."""
        return ()

    def parameters(self) -> tuple[tuple[str, list[Any]], ...]:
        """Return the parameters of methods that the protocol sets, ``step__parameter``, and their values."""
        return ()

    def complete(self) -> dict[str, Any]:
        """Return all fields as JSON-like values, the optional ones only where they are set."""
        unset = {
            name for name in self.optional if getattr(self, name) == type(self).model_fields[name].default
        }
        return self.model_dump(mode="json", exclude=unset)

    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics that these settings give; ``*`` in one stands for any text."""

    def datasets(self) -> tuple[str, ...]:
        """Return the datasets that the protocol reads beside the experiment's own."""
        return ()

    def n_tested(self) -> int | None:
        """Return how many rows an error is the share of; None where it is no such share, or not known."""
        return None

    def chosen_by(self) -> int | None:
        """Return the seed whose run chooses parameters for all, so that one job runs all seeds; else None."""
        return None

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on, from those of the experiment's dataset.

        By default that of twenty fits on all rows: most protocols fit several models.
        """
        return 20 * rows * features


class ClassifierSettings(ProtocolSettings):
    """Settings of a protocol that trains a classifier, which makes its features block by block.

    SecondOrderLogistic can draw rows to hold out: give it a ``random_state`` among the ``params``. Only the
    protocol ``ensemble`` seeds its classifiers itself.
    """

    classifier: Literal["CalibratedLeastSquares", "SecondOrderLogistic"] = "CalibratedLeastSquares"
    params: dict[str, Any] = {}

    def components(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the classifier."""
        return ((self.classifier, self.params),)


def settings_class(module: Any) -> type[ProtocolSettings]:
    """Return the settings of a protocol's module, a class that no other there extends; or a ValueError."""
    bases = (ProtocolSettings, ClassifierSettings)
    found = {
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ProtocolSettings) and kind not in bases
    }
    derived = [kind for kind in found if not any(kind in other.__mro__[1:] for other in found)]
    if len(derived) != 1:
        raise ValueError(f"{module.__name__} must define one class derived from ProtocolSettings")
    return derived[0]


def at_sizes(names: Iterable[str], sizes: Iterable[int]) -> tuple[str, ...]:
    """Return the names of metrics at several sizes, ``<metric>_at_<size>``, the largest size first."""
    largest_first = sorted(sizes, reverse=True)
    return tuple(f"{name}_at_{size}" for name in names for size in largest_first)


Curves = dict[str, list[tuple[int, float]]]


def by_size(measured: dict[int, dict[str, float]], axis: str) -> tuple[dict[str, float], Curves]:
    """Return what was measured at several sizes as metrics, ``<name>_at_<size>``, and curves over an axis."""
    metrics: dict[str, float] = {}
    curves: Curves = {}
    for size, values in measured.items():
        for name, value in values.items():
            metrics[f"{name}_at_{size}"] = value
            curves.setdefault(f"{name}_by_{axis}", []).append((size, value))
    return metrics, curves


def candidates_of(method: Any) -> dict[str, list[float]]:
    """Return the numbers given as ``{choose: [...]}``, by ``step__parameter``; a ValueError for others."""
    found = {
        name: value["choose"]
        for name, value in method.get_params(deep=True).items()
        if isinstance(value, dict) and set(value) == {"choose"}
    }
    for name, values in found.items():
        numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
        if not numbers or not values:
            raise ValueError(f"{name}: 'choose' needs a list of numbers, found {values!r}")
    return found


@dataclass(frozen=True)
class Trial:
    """One method with one seed, on the data of an experiment.

    - ``settings``: Those of the protocol's own class.
    - ``build(n_components=512)`` returns the method as an unfitted scikit-learn transformer (a pipeline, also
      for a single step) whose steps have the trial's seed; keyword arguments replace parameters of the last
      step.
    - ``load("GEM")`` returns the class of a component.
    - ``data(name)`` opens one of the experiment's datasets, a `eigenbench.datasets.Dataset`; ``data()`` the
      main one; ``data(seed=0)`` that with the split of another seed.
    - ``seed``: Seeds everything else that the protocol draws.
    - ``metrics(seed)`` returns those of the method's run with another seed, which came earlier.
    """

    settings: Any
    build: Callable[..., Any]
    load: Callable[[str], type]
    data: Callable[..., Any]
    seed: int
    metrics: Callable[[int], dict[str, float]] = lambda seed: {}

    def train(
        self, method: Any, train: tuple[Any, Any], test: tuple[Any, Any], *, allow_classifiers: bool = False
    ) -> TrainedModel:
        """Train a method with the classifier of the settings on (X, y), and take its error on other rows.

        Where ``allow_classifiers``, a method that predicts is trained as it is.
        """
        model = method
        if not (allow_classifiers and hasattr(method, "predict")):
            model = self.load(self.settings.classifier)(feature_map=method, **self.settings.params)
        started = time.perf_counter()
        model.fit(*train)
        fitted = time.perf_counter()
        error = float(np.mean(model.predict(test[0]) != test[1]))
        return TrainedModel(model, error, fitted - started, time.perf_counter() - fitted)


@dataclass(frozen=True)
class TrainedModel:
    """A trained classifier, its error, and the seconds to fit it and to predict."""

    model: Any
    error: float
    fit_seconds: float
    predict_seconds: float

    @property
    def dimension(self) -> int | None:
        """The number of features of the settings' classifier; None for a method that predicts itself."""
        return self.model.coef_.shape[-1] if hasattr(self.model, "coef_") else None


@dataclass(frozen=True)
class Outcome:
    """The measurements of a protocol.

    - ``metrics``: By name; ``<metric>_at_<size>`` for one measured at several sizes.
    - ``curves``: Name to a list of (step, value).
    - ``exhibits``: Data of pictures that the report and the dashboard draw.
    - ``dimension``: Number of features, where there is one number.
    - ``fit_seconds``, ``predict_seconds``, ``search_seconds``: Wall time of fitting, of applying to the test
      data, and of choosing parameters.
    - ``warnings``: Doubts about the result, and what of it is missing.
    """

    metrics: dict[str, float]
    curves: Curves = field(default_factory=dict)
    exhibits: list[Exhibit] = field(default_factory=list)
    dimension: int | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    search_seconds: float | None = None
    warnings: list[str] = field(default_factory=list)
