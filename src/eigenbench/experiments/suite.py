"""Suite files: what to run, as validated YAML.

A suite names datasets, feature pipelines (*methods*), classifiers, seeds, search grids and the
published numbers to compare with. Anything unknown in it is an error that names the file, the key
and the nearest known word, before any work starts.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from eigenbench.protocols.available import PROTOCOLS
from eigenbench.registry import COMPONENTS, RECIPES, MissingExtraError, component, near_match, nested_steps

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

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
Params = dict[str, Any]


class SuiteError(ValueError):
    """A suite or configuration file is not valid; the message names file, key and remedy."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _parse_step(value: Any) -> Any:
    """Accept ``Name``, ``[Name, params]`` and ``{Name: params}``."""
    if isinstance(value, str):
        return {"component": value}
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return {"component": value[0], "params": value[1]}
    if isinstance(value, dict) and len(value) == 1 and "component" not in value:
        ((name, params),) = value.items()
        return {"component": name, "params": params or {}}
    return value


class StepSpec(_Model):
    """One estimator of a pipeline: a registered component and its parameters."""

    component: str
    params: Params = {}

    @model_validator(mode="after")
    def _known(self) -> StepSpec:
        try:
            component(self.component)
        except KeyError as error:
            raise ValueError(error.args[0]) from None
        return self


Step = Annotated[StepSpec, BeforeValidator(_parse_step)]


class MethodSpec(_Model):
    """A feature pipeline. ``grid`` maps ``step__parameter`` to the values to search on validation data."""

    steps: tuple[Step, ...] = ()
    grid: dict[str, list[Any]] = {}
    seeds: tuple[int, ...] | None = None


class ClassifierSpec(_Model):
    """A classifier and its search grid, with keys ``parameter``."""

    component: str
    params: Params = {}
    grid: dict[str, list[Any]] = {}

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
    """Constants of the label propensities of Jain et al. (KDD 2016) in propensity-scored metrics."""

    a: float = Field(default=0.55, gt=0)
    b: float = Field(default=1.5, gt=0)


class PublishedNumber(_Model):
    """A number from a paper, and how close ours must be to count as reproduced.

    ``method`` is None for a number that is only quoted; ``not_run`` then says why.
    """

    source: str
    label: str | None = None
    method: Identifier | None = None
    classifier: Identifier | None = None
    metric: str
    value: float
    tolerance: float = Field(ge=0)
    lower_is_better: bool = True
    not_run: str | None = None

    @model_validator(mode="after")
    def _run_or_quoted(self) -> PublishedNumber:
        if (self.method is None) == (self.not_run is None):
            raise ValueError("give either 'method' (it is run here) or 'not_run' (why it is only quoted)")
        if self.method is None and self.label is None:
            raise ValueError("a quoted number needs a 'label'")
        return self


#: Stands in the records of protocols, which train no classifier.
NO_CLASSIFIER = "none"


class ExperimentSpec(_Model):
    """Methods × classifiers × seeds on one dataset; with a ``protocol``, methods × seeds.

    ``pack`` lets one job do many fits: right for small data, where starting a process costs more than
    a fit. ``shards`` is the number of jobs that share the pass for class moments; by default it grows with
    the data. ``protocol`` names what is measured in place of a classifier's error, with its ``settings``.
    """

    dataset: Identifier
    title: str | None = None
    protocol: str | None = None
    settings: Params = {}
    methods: dict[Identifier, MethodSpec]
    classifiers: dict[Identifier, ClassifierSpec] = {}
    seeds: tuple[int, ...] = (0,)
    validation: ValidationSpec = ValidationSpec()
    propensity: PropensitySpec = PropensitySpec()
    pack: bool = False
    shards: Annotated[int, Field(ge=1)] | None = None
    published: tuple[PublishedNumber, ...] = ()
    headline: str = "test_error"

    @model_validator(mode="before")
    @classmethod
    def _expand_all(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        value = dict(value)
        if value.get("methods") == "all":
            value["methods"] = {name: {"steps": list(steps)} for name, steps in RECIPES.items()}
        classifiers = value.get("classifiers")
        if classifiers == "all":
            classifiers = [name for name, item in COMPONENTS.items() if item.kind == "classifier"]
        if isinstance(classifiers, list):
            classifiers = dict.fromkeys(classifiers)
        if isinstance(classifiers, dict):
            value["classifiers"] = {
                name: {"component": name, **(spec or {})} if spec is None or isinstance(spec, dict) else spec
                for name, spec in classifiers.items()
            }
        return value

    @model_validator(mode="before")
    @classmethod
    def _complete_protocol(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("protocol") is None:
            return value
        name = value["protocol"]
        if name not in PROTOCOLS:
            hint = near_match(str(name), list(PROTOCOLS))
            raise ValueError(f"unknown protocol {name!r}.{hint} Known: {', '.join(PROTOCOLS)}")
        settings = PROTOCOLS[name].settings().model_validate(value.get("settings") or {})
        metrics = settings.metrics()
        return {
            "headline": settings.headline if settings.headline in metrics else metrics[0],
            **value,
            "settings": settings.model_dump(mode="json"),
        }

    @model_validator(mode="after")
    def _consistent(self) -> ExperimentSpec:
        if not self.seeds or not self.methods:
            raise ValueError("'seeds' and 'methods' must not be empty")
        if self.protocol is None:
            if not self.classifiers:
                raise ValueError("'classifiers' must not be empty")
            if self.settings:
                raise ValueError("'settings' belong to a 'protocol', and none is named")
        elif self.classifiers or any(method.grid for method in self.methods.values()):
            raise ValueError(f"protocol {self.protocol}: it takes no 'classifiers' and no 'grid'")
        for number in self.published:
            _check_reference("method", number.method, list(self.methods))
            _check_reference("classifier", number.classifier, list(self.classifiers))
            if number.method and number.classifier is None and len(self.classifiers) > 1:
                raise ValueError(f"published {number.source!r}: name the 'classifier', there are several")
        return self

    @property
    def classifier_names(self) -> tuple[str, ...]:
        """The names that records have in their field ``classifier``."""
        return tuple(self.classifiers) or (NO_CLASSIFIER,)

    @property
    def datasets(self) -> tuple[str, ...]:
        """The experiment's dataset, then those that its protocol reads beside it."""
        if self.protocol is None:
            return (self.dataset,)
        extra = PROTOCOLS[self.protocol].settings().model_validate(self.settings).datasets()
        return tuple(dict.fromkeys((self.dataset, *extra)))


class Suite(_Model):
    """A named set of experiments: one published table or figure, or the quick selection."""

    name: Identifier
    title: str
    description: str = ""
    experiments: dict[Identifier, ExperimentSpec]


class Config(_Model):
    """``config/config.yaml``: what runs when no target is named, and where things go.

    ``suites_dir`` is the folder of suite files, by default ``config/suites`` beside the Snakefile.
    """

    suites: tuple[Identifier, ...] = ("quick",)
    suites_dir: str | None = None
    data_dir: str = "data"
    results_dir: str = "results"
    reports_dir: str = "reports"


def _check_reference(kind: str, name: str | None, known: list[str]) -> None:
    if name is not None and name not in known:
        raise ValueError(f"unknown {kind} {name!r}.{near_match(name, known)} Known here: {', '.join(known)}")


def step_names(steps: tuple[StepSpec, ...]) -> list[str]:
    """Name pipeline steps as ``make_pipeline`` does: lower-case, ``-2`` for the second of a kind."""
    lowered = [step.component.lower() for step in steps]
    names = []
    for index, name in enumerate(lowered):
        if lowered.count(name) > 1:
            name = f"{name}-{lowered[: index + 1].count(name)}"
        names.append(name)
    return names


def grid_points(grid: dict[str, list[Any]]) -> list[Params]:
    """Return every combination of a search grid, in declared order; one empty point for an empty grid."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


class _UniqueKeyLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that refuses a key given twice, which YAML would silently overwrite."""

    def construct_mapping(self, node, deep=False):
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """Read one YAML file with the safe loader; a key that stands twice is an error.

    Raises
    ------
    SuiteError
        Naming the file, and the line for a syntax error.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SuiteError(f"{path}: {error}") from error


def load_suite(path: Path, datasets: list[str] | None = None) -> Suite:
    """Read and validate a suite file; its name is the file's stem.

    Parameters
    ----------
    path : Path
        ``config/suites/<name>.yaml``.
    datasets : list of str, optional
        Known dataset names; when given, an unknown one is an error.

    Raises
    ------
    SuiteError
        Naming the file, the key and the nearest known word.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise SuiteError(f"{path}: expected a mapping with the keys title, description, experiments")
    suite = _validate(Suite, {"name": path.stem, **content}, path)
    if suite.name != path.stem:
        raise SuiteError(f"{path}: name is {suite.name!r}, but the file's name says {path.stem!r}")
    for name, experiment in suite.experiments.items():
        unknown = [] if datasets is None else [item for item in experiment.datasets if item not in datasets]
        for dataset in unknown:
            hint = near_match(dataset, datasets or [])
            raise SuiteError(f"{path}: experiments.{name}.dataset: unknown dataset {dataset!r}.{hint}")
    return suite


def validate_config(content: dict[str, Any], path: Path) -> Config:
    """Validate the merged content of ``config/config.yaml``.

    Raises
    ------
    SuiteError
        Naming the file, the key and the nearest known word.
    """
    return _validate(Config, content, path)


def check_parameters(suite: Suite, path: Path) -> None:
    """Check every parameter name in a suite against its estimator's signature (imports the estimators).

    Raises
    ------
    SuiteError
        Naming the file, the place and the nearest parameter.
    """
    for experiment_name, experiment in suite.experiments.items():
        for method_name, method in experiment.methods.items():
            place = f"{path}: experiments.{experiment_name}.methods.{method_name}"
            by_step = dict(zip(step_names(method.steps), method.steps, strict=True))
            for step in method.steps:
                _check_names(list(step.params), step.component, place)
                _check_nested(step.params.values(), place)
            for key in method.grid:
                step_name, _, parameter = key.partition("__")
                if step_name not in by_step:
                    known = list(by_step)
                    raise SuiteError(
                        f"{place}.grid: {key!r} names no step.{near_match(step_name, known)} Steps: {known}"
                    )
                _check_names([parameter], by_step[step_name].component, f"{place}.grid")
        for classifier_name, classifier in experiment.classifiers.items():
            place = f"{path}: experiments.{experiment_name}.classifiers.{classifier_name}"
            _check_names([*classifier.params, *classifier.grid], classifier.component, place)
            _check_nested([*classifier.params.values(), *itertools.chain(*classifier.grid.values())], place)


def _check_nested(values: Iterable[Any], place: str) -> None:
    """Check parameters that are estimators, written like steps."""
    for name, params in nested_steps(list(values)):
        _check_names(list(params), name, place)


def _check_names(names: list[str], component_name: str, place: str) -> None:
    try:
        known = list(inspect.signature(component(component_name).load()).parameters)
    except MissingExtraError:
        return
    for name in names:
        if name not in known:
            raise SuiteError(f"{place}: {component_name} has no parameter {name!r}.{near_match(name, known)}")


def _validate(model: type[_Model], content: dict[str, Any], path: Path) -> Any:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise SuiteError("\n".join(f"{path}: {line}" for line in _explain(error))) from None


def _explain(error: ValidationError) -> list[str]:
    lines = []
    for item in error.errors():
        place = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            key = str(item["loc"][-1])
            lines.append(f"{place}: unknown key {key!r}.{near_match(key, sorted(_known_keys()))}")
        else:
            lines.append(
                f"{place}: {item['msg'].removeprefix('Value error, ')} (found {item['input']!r:.80})"
            )
    return lines


def _known_keys() -> set[str]:
    models = (
        Suite,
        ExperimentSpec,
        MethodSpec,
        ClassifierSpec,
        ValidationSpec,
        PropensitySpec,
        PublishedNumber,
        StepSpec,
        Config,
    )
    return {key for model in models for key in model.model_fields}
