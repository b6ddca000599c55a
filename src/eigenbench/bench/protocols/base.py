"""What a protocol is given, and what it returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

T = TypeVar("T")
#: A list in a suite file; its items have exactly the type T.
Several = Annotated[tuple[T, ...], Field(strict=False)]
Sizes = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(strict=False, min_length=1)]
ImageSize = Annotated[tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], Field(strict=False)]


class ProtocolSettings(BaseModel):
    """The ``settings`` of an experiment in a suite file; every protocol has its own keys.

    Attributes
    ----------
    headline : str
        The metric that tables show unless the suite names another; the first of `metrics` where the settings
        do not give this one.
    exclusive : bool
        Whether its jobs get the whole machine, because they measure time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    headline: ClassVar[str]
    exclusive: ClassVar[bool] = False

    def components(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return name and parameters of each registered component that the settings name."""
        return ()

    @abstractmethod
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics that these settings give; ``*`` in one stands for any text."""

    def datasets(self) -> tuple[str, ...]:
        """Return the datasets that the protocol reads beside the experiment's own."""
        return ()

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on, from those of the experiment's dataset.

        By default that of twenty fits on all rows: most protocols fit several models.
        """
        return 20 * rows * features


def at_sizes(names: Iterable[str], sizes: Iterable[int]) -> tuple[str, ...]:
    """Return the names of metrics at several sizes, ``<metric>_at_<size>``, the largest size first."""
    largest_first = sorted(sizes, reverse=True)
    return tuple(f"{name}_at_{size}" for name in names for size in largest_first)


class _Exhibit(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str


class Scatter(_Exhibit):
    """Points in the plane, coloured by label."""

    kind: Literal["scatter"] = "scatter"
    x: list[float]
    y: list[float]
    labels: list[str]
    x_label: str = ""
    y_label: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Scatter:
        if not len(self.x) == len(self.y) == len(self.labels):
            raise ValueError("x, y and labels must have one length")
        return self


class Histogram(_Exhibit):
    """Densities of several groups over the same bins; ``marker`` is a value worth a vertical line."""

    kind: Literal["histogram"] = "histogram"
    edges: list[float]
    densities: dict[str, list[float]]
    x_label: str
    marker: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Histogram:
        if any(len(heights) != len(self.edges) - 1 for heights in self.densities.values()):
            raise ValueError("a group needs one density per bin")
        return self


class Images(_Exhibit):
    """Grey pictures of one size in rows; each is a list of pixels, row by row, and is scaled on its own."""

    kind: Literal["images"] = "images"
    height: int = Field(gt=0)
    width: int = Field(gt=0)
    rows: dict[str, list[list[float]]]

    @model_validator(mode="after")
    def _consistent(self) -> Images:
        size = self.height * self.width
        if any(len(image) != size for images in self.rows.values() for image in images):
            raise ValueError("an image needs height * width pixels")
        return self


class Boxes(_Exhibit):
    """Five-number summaries (5, 25, 50, 75 and 95 %) of some groups."""

    kind: Literal["boxes"] = "boxes"
    groups: dict[str, tuple[float, float, float, float, float]]
    y_label: str


Exhibit = Annotated[Scatter | Histogram | Images | Boxes, Field(discriminator="kind")]


@dataclass(frozen=True)
class Trial:
    """One method with one seed, on the data of an experiment.

    Attributes
    ----------
    settings : ProtocolSettings
        Of the protocol's own class.
    build : callable
        ``build(n_components=512)`` returns the method as an unfitted scikit-learn transformer (a pipeline,
        also for a single step) whose steps have the trial's seed; keyword arguments replace parameters of
        the last step.
    load : callable
        ``load("GEM")`` returns the class of a component.
    data : callable
        ``data(name)`` opens one of the experiment's datasets, a `eigenbench.datasets.Dataset`; ``data()``
        the main one.
    seed : int
        Seeds everything else that the protocol draws.
    """

    settings: Any
    build: Callable[..., Any]
    load: Callable[[str], type]
    data: Callable[..., Any]
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What a protocol measured.

    Attributes
    ----------
    metrics : dict
        By name; ``<metric>_at_<size>`` for one measured at several sizes.
    curves : dict
        Name to a list of (step, value).
    exhibits : list
        Data of pictures that the report and the dashboard draw.
    dimension : int or None
        Number of features, where there is one number.
    fit_seconds, predict_seconds : float or None
        Wall time of fitting, and of applying to the test data.
    """

    metrics: dict[str, float]
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    exhibits: list[Scatter | Histogram | Images | Boxes] = field(default_factory=list)
    dimension: int | None = None
    fit_seconds: float | None = None
    predict_seconds: float | None = None


@dataclass(frozen=True)
class Protocol:
    """A protocol: the module ``eigenbench.bench.protocols.<name>``, or that of ``module:measure``.

    That module defines ``Settings``, a `ProtocolSettings`, and ``measure(trial) -> Outcome``; the first line
    of its docstring is the protocol's summary. It imports scikit-learn, SciPy and estimators only when
    measuring, so that a suite is checked without them.
    """

    name: str

    @property
    def module(self) -> str:
        """The import path."""
        module, colon, _ = self.name.partition(":")
        return module if colon else f"eigenbench.bench.protocols.{self.name}"

    @property
    def summary(self) -> str:
        """One line for ``eigenbench list protocols``."""
        return (self.load().__doc__ or "").partition("\n")[0]

    @property
    def headline(self) -> str:
        """The metric that tables show unless the suite names another."""
        return self.settings().headline

    @property
    def exclusive(self) -> bool:
        """Whether its jobs get the whole machine, because they measure time."""
        return self.settings().exclusive

    def settings(self) -> type[ProtocolSettings]:
        """Return the protocol's settings class."""
        return self.load().Settings

    def load(self) -> Any:
        """Import and return the module."""
        return import_module(self.module)

    def measure(self, trial: Trial) -> Outcome:
        """Run the protocol."""
        return self.load().measure(trial)
