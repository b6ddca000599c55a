"""What a suite file means: experiments, each of methods, classifiers and seeds on one dataset.

`eigenbench.experiments.suite_file` reads the files. Anything unknown or contradictory in one is an error
before any work starts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from eigenbench.experiments import steps
from eigenbench.experiments.recipes import RECIPES, of_width
from eigenbench.experiments.suite_types import (
    FolderName,
    Grid,
    Identifier,
    Named,
    Params,
    Seconds,
    Seeds,
    check_components,
    check_distinct,
)
from eigenbench.protocols.available import PROTOCOLS
from eigenbench.protocols.base import ProtocolSettings, Several
from eigenbench.registry import COMPONENTS, component, near_match

#: Metrics of multilabel data that can choose among candidates, and whether more is better.
MULTILABEL_METRICS: dict[str, bool] = {
    "hamming_loss": False,
    "micro_f1": True,
    "macro_f1": True,
    "macro_f1_present": True,
    "macro_f1_by_label": True,
    **{
        f"{name}_at_{k}": True for name in ("precision", "ndcg", "ps_precision", "ps_ndcg") for k in (1, 3, 5)
    },
}
#: Metrics of classes that can; less is better.
MULTICLASS_METRICS = ("error", "log_loss")

#: What is measured beside these: `eigenbench.metrics.multilabel` and `eigenbench.experiments.scoring`.
_MULTILABEL_EXTRA = (
    *(f"{name}_at_half" for name in ("hamming_loss", "micro_f1", "macro_f1", "macro_f1_present")),
    "examples_per_second",
)
_MULTICLASS_EXTRA = ("errors", "balanced_error")

#: A search compares at most so many candidates.
MAX_GRID_POINTS = 10_000


class SuiteError(ValueError):
    """A suite or configuration file is not valid; the message names file, key and remedy."""


class SettingsError(ValueError):
    """The settings of a protocol are not valid; ``error`` says where, ``keys`` are those that exist."""

    def __init__(self, error: ValidationError, keys: Iterable[str]) -> None:
        super().__init__(str(error))
        self.error = error
        self.keys = tuple(keys)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _parse_step(value: Any) -> Any:
    """Accept ``Name``, ``[Name, params]`` and ``{Name: params}``."""
    if isinstance(value, str):
        return {"component": value}
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return {"component": value[0], "params": value[1]}
    if isinstance(value, dict) and len(value) == 1 and "component" not in value:
        ((name, params),) = value.items()
        return {"component": name, "params": {} if params is None else params}
    return value


def _check_step(step: steps.Step) -> steps.Step:
    try:
        component(step.component)
    except KeyError as error:
        raise ValueError(error.args[0]) from None
    check_components(step.params)
    return step


Step = Annotated[steps.Step, BeforeValidator(_parse_step), AfterValidator(_check_step)]


class MethodSpec(_Model):
    """A feature pipeline. ``grid`` maps ``step__parameter`` to the values to search on validation data."""

    steps: Several[Step] = ()
    grid: Grid = {}
    seeds: Seeds | None = None


class ClassifierSpec(_Model):
    """A classifier and its search grid, with keys ``parameter``.

    ``methods`` are those that it is trained on; all of the experiment unless given.
    """

    component: str
    params: Params = {}
    grid: Grid = {}
    methods: Several[Identifier] | None = None

    @model_validator(mode="after")
    def _is_classifier(self) -> ClassifierSpec:
        known = [name for name, item in COMPONENTS.items() if item.kind == "classifier"]
        if self.component not in known:
            hint = near_match(self.component, known)
            raise ValueError(f"unknown classifier {self.component!r}.{hint} Known: {', '.join(known)}")
        return self


class ValidationSpec(_Model):
    """The part of the training rows held out to choose hyperparameters; the test rows are never used.

    A metric of `MULTILABEL_METRICS` makes a multilabel experiment, where the thresholds of the decisions are
    chosen on that part too.
    """

    fraction: float = Field(default=1 / 6, gt=0, lt=1)
    metric: str = "error"

    @model_validator(mode="after")
    def _is_known(self) -> ValidationSpec:
        known = [*MULTICLASS_METRICS, *MULTILABEL_METRICS]
        if self.metric not in known:
            hint = near_match(self.metric, known)
            raise ValueError(f"unknown metric {self.metric!r}.{hint} Known: {', '.join(known)}")
        return self

    @property
    def multilabel(self) -> bool:
        """Whether the metric is one of multilabel data."""
        return self.metric in MULTILABEL_METRICS


class PropensitySpec(_Model):
    """The constants of the label propensities of Jain et al. (KDD 2016) in propensity-scored metrics."""

    a: float = Field(default=0.55, gt=0)
    b: float = Field(default=1.5, gt=0)


class PublishedNumber(_Model):
    """A number from a paper, and how close ours must be to count as reproduced.

    ``method`` is None for a number that is only quoted; ``not_run`` then says why. ``two_sided`` is for a
    number that is neither better when less nor when more, such as a threshold.
    """

    source: str
    label: str | None = None
    method: Identifier | None = None
    classifier: Identifier | None = None
    metric: str
    value: float
    tolerance: float = Field(ge=0)
    lower_is_better: bool = True
    two_sided: bool = False
    not_run: str | None = None

    @model_validator(mode="after")
    def _run_or_quoted(self) -> PublishedNumber:
        if (self.method is None) == (self.not_run is None):
            raise ValueError("give either 'method' (it is run here) or 'not_run' (why it is only quoted)")
        if self.method is None and self.label is None:
            raise ValueError("a quoted number needs a 'label'")
        return self


class ExperimentSpec(_Model):
    """Methods × classifiers × seeds on one dataset; with a ``protocol``, methods × seeds.

    ``methods: all`` are the recipes of `eigenbench.experiments.recipes`, with ``n_features`` those that can
    make that number of features. ``protocol`` names what is measured in place of a classifier's error, with
    its ``settings``. ``headline`` is the metric that tables show. ``time_limit`` bounds the seconds of
    one run.
    """

    dataset: Identifier
    n_features: Annotated[int, Field(ge=6)] | None = None
    title: str | None = None
    protocol: str | None = None
    settings: Annotated[Params, Field(validate_default=True)] = {}
    methods: Named[MethodSpec] = Field(min_length=1)
    classifiers: Named[ClassifierSpec] = {}
    seeds: Seeds = (0,)
    validation: ValidationSpec = ValidationSpec()
    propensity: PropensitySpec = PropensitySpec()
    time_limit: Seconds | None = None
    headline: Annotated[str, Field(validate_default=True)] = ""
    published: Several[PublishedNumber] = ()

    @model_validator(mode="before")
    @classmethod
    def _expand_all(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = dict(value)
        width = value.get("n_features")
        if value.get("methods") == "all":
            value["methods"] = _recipes(width if isinstance(width, int) else None)
        elif width is not None:
            raise ValueError("'n_features' belongs to 'methods: all'")
        classifiers = value.get("classifiers")
        if classifiers == "all":
            classifiers = [name for name, item in COMPONENTS.items() if item.kind == "classifier"]
        if isinstance(classifiers, list) and all(isinstance(name, str) for name in classifiers):
            check_distinct(tuple(classifiers))
            classifiers = dict.fromkeys(classifiers)
        if isinstance(classifiers, dict):
            value["classifiers"] = {
                name: {"component": name, **(spec or {})} if spec is None or isinstance(spec, dict) else spec
                for name, spec in classifiers.items()
            }
        return value

    @field_validator("protocol")
    @classmethod
    def _known_protocol(cls, name: str | None) -> str | None:
        if name is not None:
            _check_reference("protocol", name, list(PROTOCOLS))
        return name

    @field_validator("settings")
    @classmethod
    def _complete(cls, settings: Params, info: ValidationInfo) -> Params:
        """Add the defaults of the protocol's settings."""
        name = info.data.get("protocol")
        if name is None:
            if settings and "protocol" in info.data:
                raise ValueError("'settings' belong to a 'protocol', and none is named")
            return settings
        kind = PROTOCOLS[name].settings()
        try:
            complete = kind.model_validate(settings)
        except ValidationError as error:
            raise SettingsError(error, kind.model_fields) from None
        for item, _ in complete.components():
            _check_reference("component", item, list(COMPONENTS))
        return complete.model_dump(mode="json")

    @field_validator("headline")
    @classmethod
    def _measured_headline(cls, name: str, info: ValidationInfo) -> str:
        metrics = _metrics(info.data)
        if not name and metrics:
            return metrics[0]
        _check_metric(name, metrics)
        return name

    @field_validator("published")
    @classmethod
    def _measured_numbers(
        cls, numbers: tuple[PublishedNumber, ...], info: ValidationInfo
    ) -> tuple[PublishedNumber, ...]:
        metrics = _metrics(info.data)
        for index, number in enumerate(numbers):
            try:
                _check_metric(number.metric, metrics)
                _check_reference("method", number.method, list(info.data.get("methods", ())))
                classifiers = info.data.get("classifiers", {})
                _check_reference("classifier", number.classifier, list(classifiers))
                chosen = classifiers.get(number.classifier)
                if chosen and chosen.methods and number.method not in chosen.methods:
                    raise ValueError(f"{number.classifier} is not trained on {number.method}")
            except ValueError as error:
                raise ValueError(f"number {index} ({number.source!r:.60}): {error}") from None
        return numbers

    @model_validator(mode="after")
    def _consistent(self) -> ExperimentSpec:
        if self.protocol is None:
            if not self.classifiers:
                raise ValueError("'classifiers' must not be empty")
        elif self.classifiers or any(method.grid for method in self.methods.values()):
            raise ValueError(f"protocol {self.protocol}: it takes no 'classifiers' and no 'grid'")
        for number in self.published:
            if number.method and number.classifier is None and len(self.classifiers) > 1:
                raise ValueError(f"published {number.source!r}: name the 'classifier', there are several")
        for name, classifier in self.classifiers.items():
            for method_name in classifier.methods or ():
                _check_reference(f"method of classifier {name}", method_name, list(self.methods))
        for method_name in self.methods if self.classifiers else ():
            if not self.classifiers_of(method_name):
                raise ValueError(f"no classifier is trained on the method {method_name}")
        for (method_name, method), (name, classifier) in itertools.product(
            self.methods.items(), self.classifiers.items()
        ):
            points = steps.grid_size(method.grid) * steps.grid_size(classifier.grid)
            if points > MAX_GRID_POINTS:
                raise ValueError(
                    f"the 'grid' of {method_name} and {name} has {points} points, more than {MAX_GRID_POINTS}"
                )
        return self

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that runs can give, the default headline first; ``*`` stands for any text."""
        return _metrics(dict(self))

    def classifiers_of(self, method: str) -> dict[str, ClassifierSpec]:
        """Return the classifiers that are trained on a method."""
        return {
            name: spec
            for name, spec in self.classifiers.items()
            if spec.methods is None or method in spec.methods
        }

    @property
    def protocol_settings(self) -> ProtocolSettings | None:
        """The settings as an instance of the protocol's own class."""
        return _protocol_settings(self.protocol, self.settings)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The experiment's dataset, then those that its protocol reads beside it."""
        settings = self.protocol_settings
        return tuple(dict.fromkeys((self.dataset, *(settings.datasets() if settings else ()))))


def _recipes(n_features: int | None) -> dict[str, Any]:
    """Return the recipes as methods of a suite, all or those that make a number of features."""
    found = {
        name: recipe if n_features is None else of_width(recipe, n_features)
        for name, recipe in RECIPES.items()
    }
    return {name: {"steps": recipe.steps, "grid": recipe.grid} for name, recipe in found.items() if recipe}


def _protocol_settings(protocol: str | None, settings: Params) -> ProtocolSettings | None:
    return None if protocol is None else PROTOCOLS[protocol].settings().model_validate(settings)


def _metrics(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the metrics of an experiment with these fields; none where a field that decides is missing."""
    if not fields.keys() >= {"protocol", "settings", "validation"}:
        return ()
    if settings := _protocol_settings(fields["protocol"], fields["settings"]):
        return tuple(sorted(settings.metrics(), key=lambda name: name != settings.headline))
    chosen_by = fields["validation"].metric
    if fields["validation"].multilabel:
        names = dict.fromkeys([chosen_by, *MULTILABEL_METRICS, *_MULTILABEL_EXTRA])
    else:
        names = dict.fromkeys([*MULTICLASS_METRICS, *_MULTICLASS_EXTRA])
    return (*(f"test_{name}" for name in names), f"validation_{chosen_by}")


def _check_metric(name: str, known: tuple[str, ...]) -> None:
    if known and not any(fnmatchcase(name, pattern) for pattern in known):
        hint = near_match(name, list(known))
        raise ValueError(f"unknown metric {name!r}.{hint} Known here: {', '.join(known):.300}")


class Deviation(_Model):
    """What a suite does otherwise than the paper, and why."""

    paper: str = Field(min_length=1)
    here: str = Field(min_length=1)
    why: str = Field(min_length=1)


class Suite(_Model):
    """A named set of experiments: one published table or figure, or the quick selection.

    ``time_limit`` is that of every experiment without one of its own; ``deviations`` says what is not as
    in the paper. ``folder`` is that of the file that the suite was read from.
    """

    _folder: Path | None = PrivateAttr(default=None)

    name: FolderName
    title: str
    description: str = ""
    deviations: Several[Deviation] = ()
    time_limit: Seconds | None = None
    experiments: Named[ExperimentSpec] = Field(min_length=1)

    def model_post_init(self, context: Any) -> None:
        """Take the folder from the context of the validation."""
        self._folder = (context or {}).get("folder")

    @property
    def folder(self) -> Path | None:
        """The folder of the suite's file; None for a suite that was not read from one."""
        return self._folder

    def time_limit_of(self, experiment: str) -> float | None:
        """Return the most seconds that a run of an experiment may take; None for no limit."""
        spec = self.experiments[experiment]
        return spec.time_limit if "time_limit" in spec.model_fields_set else self.time_limit


class Config(_Model):
    """``config/config.yaml``: what runs when no target is named, and where things go.

    ``suites_dir`` is the folder of suite files, by default ``config/suites`` beside the Snakefile.
    """

    suites: Several[Identifier] = ("quick",)
    suites_dir: str | None = None
    data_dir: str = "data"
    results_dir: str = "results"
    reports_dir: str = "reports"


def _check_reference(kind: str, name: str | None, known: list[str]) -> None:
    if name is not None and name not in known:
        raise ValueError(f"unknown {kind} {name!r}.{near_match(name, known)} Known here: {', '.join(known)}")
