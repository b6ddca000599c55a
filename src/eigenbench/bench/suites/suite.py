"""Suites: experiments, each of methods, classifiers and seeds on one dataset.

`eigenbench.bench.suites.suite_file` reads the files. Anything unknown or contradictory in one is an error
before any work starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, field_validator, model_validator

from eigenbench.bench.protocols.available import find_protocol
from eigenbench.bench.protocols.base import ProtocolSettings, RunSizes, Several
from eigenbench.bench.registry import COMPONENTS, find_component, near_match
from eigenbench.bench.suites import steps
from eigenbench.bench.suites.parts import (
    MULTICLASS_METRICS,
    MULTILABEL_METRICS,
    REGRESSION_METRICS,
    CheckCode,
    ClassifierSpec,
    Deviation,
    FolderName,
    Grid,
    Identifier,
    MethodSpec,
    Named,
    Params,
    PropensitySpec,
    PublishedNumber,
    Seconds,
    Seeds,
    SuiteModel,
    ValidationSpec,
    check_distinct,
    check_reference,
)
from eigenbench.bench.suites.recipes import load_recipes, of_width
from eigenbench.datasets.plain_yaml import InnerError

#: Measured beside these: `eigenbench.methods.metrics.multilabel` and `eigenbench.bench.jobs.scoring`.
_MULTILABEL_EXTRA = (
    *(f"{name}_at_half" for name in ("hamming_loss", "micro_f1", "macro_f1", "macro_f1_present")),
    "examples_per_second",
)
_MULTICLASS_EXTRA = ("errors", "calibration_error")

#: A search compares at most so many candidates.
MAX_GRID_POINTS = 10_000


#: The keys of sizes, and what they count.
SIZES = {"train_rows": "rows", "classes": "classes"}


class ExperimentSpec(SuiteModel):
    """Methods × classifiers × seeds on one dataset; with a ``protocol``, methods × seeds.

    ``methods: all`` are the recipes of `eigenbench.bench.suites.recipes`, with ``n_features`` those that can
    make that number of features, and ``grids`` replacing the searches of some of them; a method without a
    description is the recipe of its name. ``protocol`` names what is measured in place of a classifier's
    error, with its ``settings``. ``train_rows`` or ``classes`` make an experiment of each size, unless the
    protocol takes all in one run: the seed draws the rows or classes, those of a smaller size among those of
    a larger one. ``headline`` is the metric that tables show. ``time_limit`` bounds the seconds of the search
    of a run, and of its fit. ``permute_labels`` makes a control: all methods with permuted training labels.
    ``silence`` maps codes of checks to the reason why they do not count here.
    """

    dataset: Identifier
    n_features: Annotated[int, Field(ge=6)] | None = None
    grids: dict[str, Grid] = {}
    title: str | None = None
    train_rows: RunSizes = ()
    classes: RunSizes = ()
    protocol: str | None = None
    settings: Params = Field(default={}, validate_default=True)
    methods: Named[MethodSpec] = Field(min_length=1)
    classifiers: Named[ClassifierSpec] = {}
    seeds: Seeds = (0,)
    permute_labels: bool = False
    silence: dict[CheckCode, Annotated[str, Field(min_length=1)]] = {}
    validation: ValidationSpec = ValidationSpec()
    propensity: PropensitySpec = PropensitySpec()
    time_limit: Seconds | None = None
    headline: Annotated[str, Field(validate_default=True)] = ""
    published: Several[PublishedNumber] = ()

    @model_validator(mode="before")
    @classmethod
    def _expand_all(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value
        value = dict(value)
        settings = value.get("settings", {})
        takes_sizes = _takes_sizes(value.get("protocol"), (info.context or {}).get("folder"))
        if takes_sizes and isinstance(settings, dict):
            value["settings"] = {key: value.pop(key) for key in SIZES if key in value} | settings
        if (methods := _expand_methods(value)) is not None:
            value["methods"] = methods
        if isinstance(classifiers := _expand_classifiers(value.get("classifiers")), dict):
            value["classifiers"] = classifiers
        return value

    @field_validator("protocol")
    @classmethod
    def _known_protocol(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name is not None:
            find_protocol(name, (info.context or {}).get("folder"))
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
        kind = find_protocol(name).settings()
        try:
            complete = kind.model_validate(settings)
        except ValidationError as error:
            raise InnerError(error, kind) from None
        for item, _ in complete.components():
            find_component(item)
        return complete.complete()

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
                check_reference("method", number.method, list(info.data.get("methods", ())))
                classifiers = info.data.get("classifiers", {})
                check_reference("classifier", number.classifier, list(classifiers))
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
        if self.train_rows and self.classes:
            raise ValueError("give either 'train_rows' or 'classes'")
        for number in self.published:
            if number.method and number.classifier is None and len(self.classifiers) > 1:
                raise ValueError(f"published {number.source!r}: name the 'classifier', there are several")
        if self.permute_labels and self.protocol is not None:
            raise ValueError("'permute_labels' needs classifiers: a protocol reads its labels itself")
        for name, classifier in self.classifiers.items():
            for method_name in classifier.methods or ():
                check_reference(f"method of classifier {name}", method_name, list(self.methods))
        for method_name, method in self.methods.items() if self.classifiers else ():
            if not (trained := self.classifiers_of(method_name)):
                raise ValueError(f"no classifier is trained on the method {method_name}")
            embeddings = steps.grid_size(method.grid)
            for name, classifier in trained.items():
                of, of_each = f"the 'grid' of {method_name} and {name} has", steps.grid_size(classifier.grid)
                if embeddings * of_each > MAX_GRID_POINTS:
                    raise ValueError(f"{of} {embeddings * of_each} points, more than {MAX_GRID_POINTS}")
                if 1 < min(embeddings, steps.MAX_EMBEDDINGS) * of_each < (self.validation.n_points or 0):
                    raise ValueError(
                        f"{of} fewer points than 'validation.n_points: {self.validation.n_points}' asks for, "
                        f"of which {steps.MAX_EMBEDDINGS} are of the method"
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


def _takes_sizes(protocol: Any, folder: Path | None) -> bool:
    """Say whether a protocol measures all sizes in one run; False where there is no such protocol."""
    try:
        return find_protocol(protocol, folder).settings().takes_sizes
    except (TypeError, ValueError):
        return False


def _expand_methods(experiment: dict[str, Any]) -> dict[str, Any] | None:
    """Return the methods with the recipes of those that are given by name; None where none is."""
    width, grids, methods = (experiment.get(key) for key in ("n_features", "grids", "methods"))
    recipes = [name for name, spec in methods.items() if spec is None] if isinstance(methods, dict) else []
    if methods != "all" and not recipes:
        if width is not None or grids:
            raise ValueError(
                "'n_features' and 'grids' belong to 'methods: all', or to methods given by their names alone"
            )
        return None
    found = _recipes(recipes, width if isinstance(width, int) else None, experiment.get("protocol"))
    for name, grid in grids.items() if isinstance(grids, dict) else ():
        check_reference("recipe in 'grids'", str(name), list(found))
        found[name] |= {"grid": grid}
    given = methods if isinstance(methods, dict) else found
    return {name: found.get(name, spec) for name, spec in given.items()}


def _expand_classifiers(classifiers: Any) -> Any:
    """Return classifiers as a mapping with components; what is neither ``all``, a list nor one as it is."""
    if classifiers == "all":
        classifiers = [name for name, item in COMPONENTS.items() if item.kind == "classifier"]
    if isinstance(classifiers, list) and all(isinstance(name, str) for name in classifiers):
        check_distinct(tuple(classifiers))
        named = {name: name.rpartition(":")[2] for name in classifiers}
        check_distinct(tuple(named.values()))
        classifiers = {short: None if short == name else {"component": name} for name, short in named.items()}
    if not isinstance(classifiers, dict):
        return classifiers
    return {
        name: {"component": name, **(spec or {})} if spec is None or isinstance(spec, dict) else spec
        for name, spec in classifiers.items()
    }


def _recipes(names: list[str], n_features: int | None, protocol: Any) -> dict[str, Any]:
    """Return recipes as methods of a suite: the named ones, or all that can make a number of features.

    Named ones that cannot make it stay as they are. A protocol has no grid: it chooses among the values.
    """
    recipes = load_recipes()
    for name in names:
        check_reference("recipe", name, list(recipes))
    found = {}
    for name in names or [name for name, recipe in recipes.items() if recipe.in_all]:
        recipe = recipes[name]
        if n_features is not None:
            widened = of_width(recipe, n_features)
            if widened is None and not names:
                continue
            recipe = widened or recipe
        if protocol is None:
            found[name] = {"steps": recipe.steps, "grid": recipe.grid}
        else:
            choices = {key: {"choose": values} for key, values in recipe.grid.items()}
            found[name] = {"steps": steps.with_params(recipe.steps, choices)}
    return found


def _protocol_settings(protocol: str | None, settings: Params) -> ProtocolSettings | None:
    return None if protocol is None else find_protocol(protocol).settings().model_validate(settings)


def _metrics(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the metrics of an experiment with these fields; none where a field that decides is missing."""
    if not fields.keys() >= {"protocol", "settings", "validation"}:
        return ()
    if settings := _protocol_settings(fields["protocol"], fields["settings"]):
        return tuple(sorted(settings.metrics(), key=lambda name: name != settings.headline))
    chosen_by = fields["validation"].metric
    if fields["validation"].multilabel:
        names = dict.fromkeys([chosen_by, *MULTILABEL_METRICS, *_MULTILABEL_EXTRA])
    elif fields["validation"].target == "regression":
        names = dict.fromkeys([chosen_by, *REGRESSION_METRICS])
    else:
        names = dict.fromkeys([*MULTICLASS_METRICS, *_MULTICLASS_EXTRA])
    return (*(f"test_{name}" for name in names), f"validation_{chosen_by}")


def _check_metric(name: str, known: tuple[str, ...]) -> None:
    if known and not any(fnmatchcase(name, pattern) for pattern in known):
        hint = near_match(name, list(known))
        raise ValueError(f"unknown metric {name!r}.{hint} Known here: {', '.join(known):.300}")


class Suite(SuiteModel):
    """A named set of experiments: one published table or figure, or the quick selection.

    ``minutes`` is the approximate time of all runs on two cores. ``time_limit`` holds for every experiment
    without one of its own; ``deviations`` lists the differences from the paper, ``sources`` the keys of the
    papers in ``references.bib``. ``folder`` is that of the suite's file.
    """

    _folder: Path | None = PrivateAttr(default=None)

    name: FolderName
    title: str
    description: str = ""
    minutes: int | None = Field(default=None, ge=1)
    deviations: Several[Deviation] = ()
    sources: Several[str] = ()
    time_limit: Seconds | None = None
    experiments: Named[ExperimentSpec] = Field(min_length=1)

    @field_validator("experiments")
    @classmethod
    def _one_for_each_size(cls, experiments: dict[str, ExperimentSpec]) -> dict[str, ExperimentSpec]:
        """Put experiments of one size each in place of one with several: ``letter_250_rows``."""
        found: dict[str, ExperimentSpec] = {}
        for name, spec in experiments.items():
            sizes = [(key, size) for key in SIZES for size in getattr(spec, key)]
            for key, size in sizes or [("", 0)]:
                alone = f"{name}_{size}_{SIZES[key]}" if size else name
                if alone in found or (size and alone in experiments):
                    raise ValueError(f"{alone!r} is a size of the experiment {name!r}, too: rename one")
                title = f"{spec.title}: {size:,} {SIZES[key]}" if size and spec.title else spec.title
                found[alone] = spec.model_copy(update={"title": title, key: (size,)}) if size else spec
        return found

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
