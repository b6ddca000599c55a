"""Read suite files: YAML that is bounded and plain, and errors that name file, place and remedy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from eigenbench.bench.registry import NAMES, near_match
from eigenbench.bench.suites.component_checks import ComponentError, checked_parameters
from eigenbench.bench.suites.parts import (
    ClassifierSpec,
    Deviation,
    MethodSpec,
    PropensitySpec,
    PublishedNumber,
    ValidationSpec,
)
from eigenbench.bench.suites.steps import Role, Step, nested_steps, step_names
from eigenbench.bench.suites.suite import Config, ExperimentSpec, SettingsError, Suite, SuiteError
from eigenbench.datasets.catalogue import Catalogue, load_catalogue
from eigenbench.datasets.own_catalogue import OWN_CATALOGUE, load_with_own

#: Bounds of a file: bytes, values with every alias written out, and levels of mappings and lists.
MAX_BYTES, MAX_VALUES, MAX_DEPTH = 2**20, 50_000, 24

_MAX_ERRORS = 20
_REMOVED_KEYS = ("pack", "shards")
_MODELS: tuple[type[BaseModel], ...] = (
    Suite,
    ExperimentSpec,
    MethodSpec,
    ClassifierSpec,
    ValidationSpec,
    PropensitySpec,
    PublishedNumber,
    Deviation,
    Step,
    Config,
)


def _refuse_date(loader: Any, node: yaml.Node) -> Any:
    raise yaml.constructor.ConstructorError(
        None, None, f"{node.value!r:.40} is a date: put it in quotes if it is a text", node.start_mark
    )


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader whose mappings have every key once, and only texts as keys."""

    def construct_mapping(self, node, deep=False):
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r:.40} is not a text: put it in quotes", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r:.80} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node, deep=False):
        try:
            return super().construct_object(node, deep)
        except ValueError:
            raise yaml.constructor.ConstructorError(
                None, None, f"{node.value!r:.40} is not a number: put it in quotes", node.start_mark
            ) from None


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _refuse_date)


def read_yaml(path: Path) -> Any:
    """Read one YAML file of plain values: texts, finite numbers, true, false, null, lists and mappings.

    Raises
    ------
    SuiteError
        Naming the file and the line, where it cannot be read, is not UTF-8 or not YAML; for a key that is
        given twice or is not a text, a date, a tag, a value inside itself; and for more than `MAX_BYTES`,
        `MAX_VALUES` or `MAX_DEPTH`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise SuiteError(f"more than {MAX_BYTES} bytes: split it into several suites")
        text = data.decode("utf-8")
        _check_extent(text)
        return yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise SuiteError(
            f"{path}: line {number}: not UTF-8 ({error.reason}): save the file as UTF-8"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise SuiteError(f"{path}: {line}{error.problem or error.context}") from None
    except (OSError, SuiteError, yaml.YAMLError) as error:
        raise SuiteError(f"{path}: {error}") from None


def _check_extent(text: str) -> None:
    """Raise where a document is too deep or too large with its aliases written out, or has a tag."""
    anchored: dict[str, _Extent] = {}
    path = [_Extent(None)]
    for event in yaml.parse(text, Loader=_Loader):
        problem = None
        if tag := getattr(event, "tag", None):
            problem = f"the tag {tag!r:.40} is not allowed: write the value without it"
        if isinstance(event, yaml.CollectionStartEvent):
            path.append(_Extent(event.anchor, values=1, levels=1))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = path.pop()
            path[-1].add(closed)
            if closed.anchor:
                anchored[closed.anchor] = closed
        elif isinstance(event, yaml.ScalarEvent):
            path[-1].values += 1
            if event.anchor:
                anchored[event.anchor] = _Extent(event.anchor, values=1)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchored:
                path[-1].add(anchored[event.anchor])
            else:
                problem = f"the alias *{event.anchor:.40} names nothing before it, or what it is part of"
        if len(path) - 2 + path[-1].levels > MAX_DEPTH:
            problem = f"more than {MAX_DEPTH} levels of mappings and lists"
        if path[-1].values > MAX_VALUES:
            problem = f"more than {MAX_VALUES} values, with aliases written out"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]


@dataclass
class _Extent:
    """The values and levels of a value, or so far of an open collection, with aliases written out."""

    anchor: str | None
    values: int = 0
    levels: int = 0

    def add(self, inner: _Extent) -> None:
        self.values += inner.values
        self.levels = max(self.levels, inner.levels + 1)


def suite_files(folder: Path) -> list[Path]:
    """Return the suite files of a folder, in which a catalogue of the user's own datasets may stand too."""
    return [path for path in sorted(folder.glob("*.yaml")) if path.name != OWN_CATALOGUE]


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
    suite: Suite = _validate(Suite, {"name": path.stem, **content}, path)
    if suite.name != path.stem:
        raise SuiteError(f"{path}: name is {suite.name!r}, but the file's name says {path.stem!r}")
    for name, experiment in suite.experiments.items():
        unknown = [] if datasets is None else [item for item in experiment.datasets if item not in datasets]
        for dataset in unknown:
            hint = near_match(dataset, datasets or [])
            raise SuiteError(f"{path}: experiments.{name}.dataset: unknown dataset {dataset!r}.{hint}")
    return suite


def catalogue_of(suite: Suite) -> Catalogue:
    """Return eigenbench's catalogue together with the user's own beside the suite's file."""
    return load_catalogue() if suite.folder is None else load_with_own(suite.folder)


def validate_config(content: dict[str, Any], path: Path) -> Config:
    """Validate the merged content of ``config/config.yaml``.

    Raises
    ------
    SuiteError
        Naming the file, the key and the nearest known word.
    """
    return _validate(Config, content, path)


def _validate(model: type[BaseModel], content: dict[str, Any], path: Path) -> Any:
    _check_values(content, f"{path}: ")
    known = sorted({key for model in _MODELS for key in model.model_fields})
    try:
        return model.model_validate(content, context={"folder": path.parent})
    except ValidationError as error:
        lines = _explain(error, known)
        left_out = len(lines) - _MAX_ERRORS
        lines = lines[:_MAX_ERRORS] + ([f"{left_out} more errors"] if left_out > 0 else [])
        raise SuiteError("\n".join(f"{path}: {line}" for line in lines)) from None


def _check_values(value: Any, place: str) -> None:
    """Raise for a number that is not finite or exceeds 64 bits, and for characters that are not text."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _check_values(key, place)
            _check_values(item, f"{place}{'' if place.endswith(': ') else '.'}{key}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise SuiteError(f"{place}: {value} is not a finite number")
    elif isinstance(value, int) and abs(value) >= 2**63:
        raise SuiteError(f"{place}: a number of {value.bit_length()} bits is too large")
    elif isinstance(value, str) and not all(
        character in "\n\t" or (character >= " " and not "\ud800" <= character <= "\udfff")
        for character in value
    ):
        raise SuiteError(f"{place}: {value!r:.80} has characters that are not text")


def _explain(error: ValidationError, known: Iterable[str], prefix: tuple[str, ...] = ()) -> list[str]:
    """Return a line for each error: where it is, what is wrong, and the nearest known key."""
    lines = []
    for item in error.errors():
        location = (*prefix, *(str(part) for part in item["loc"]))
        place, cause = ".".join(location), item.get("ctx", {}).get("error")
        if isinstance(cause, SettingsError):
            lines += _explain(cause.error, cause.keys, location)
        elif item["type"] == "extra_forbidden":
            lines.append(f"{place}: {_unknown_key(location[-1], known)}")
        else:
            given = item["input"]
            found = "" if isinstance(given, dict | list | tuple | BaseModel) else f" (found {given!r:.80})"
            lines.append(f"{place}: {item['msg'].removeprefix('Value error, ')}{found}")
    return lines


def _unknown_key(key: str, known: Iterable[str]) -> str:
    if key in _REMOVED_KEYS:
        return f"the key {key!r} is no longer needed, jobs are batched by what they cost: delete it"
    return f"unknown key {key!r}.{near_match(key, list(known))}"


def check_parameters(suite: Suite, path: Path) -> None:
    """Check every component of a suite, and every parameter name against its signature.

    Imports the components that the suite names, and no others; nearly all of the time is the import of
    scikit-learn. Those that need a package that is not installed are left out; those of other packages and of
    the user's own are tried on a few rows.

    Raises
    ------
    SuiteError
        Naming the file, the place, and the nearest parameter or what is wrong with a component.
    """
    for experiment_name, experiment in suite.experiments.items():
        start = f"{path}: experiments.{experiment_name}"
        for method_name, method in experiment.methods.items():
            place = _Place(f"{start}.methods.{method_name}", suite.folder)
            by_step = dict(zip(step_names(method.steps), method.steps, strict=True))
            for step in method.steps:
                place.check(step.component, "step", step.params)
            for key in method.grid:
                step_name, _, parameter = key.partition("__")
                if step_name not in by_step:
                    known = list(by_step)
                    close = near_match(step_name, known)
                    raise SuiteError(f"{place.text}.grid: {key!r} names no step.{close} Steps: {known}")
                place.at("grid").check_names(by_step[step_name].component, None, {}, [parameter])
            place.at("grid").check_nested(itertools.chain(*method.grid.values()))
        place = _Place(f"{start}.settings", suite.folder)
        for name, params in experiment.protocol_settings.components() if experiment.protocol_settings else ():
            place.check(name, None, params)
        for classifier_name, item in experiment.classifiers.items():
            place = _Place(f"{start}.classifiers.{classifier_name}", suite.folder)
            place.check(item.component, "classifier", item.params)
            place.check_names(item.component, None, {}, item.grid)
            place.check_nested(itertools.chain(*item.grid.values()))


@dataclass(frozen=True)
class _Place:
    """Where in a suite something is checked."""

    text: str
    folder: Path | None

    def at(self, key: str) -> _Place:
        return _Place(f"{self.text}.{key}", self.folder)

    def check(self, name: str, role: Role | None, params: dict[str, Any]) -> None:
        """Check a component, its parameters, and those of them that are estimators, written like steps."""
        self.check_names(name, role, params, params)
        self.check_nested(params.values())

    def check_nested(self, values: Iterable[Any]) -> None:
        for name, params in nested_steps(list(values), NAMES):
            self.check_names(name, None, params, params)

    def check_names(self, name: str, role: Role | None, params: dict[str, Any], keys: Iterable[str]) -> None:
        try:
            known = checked_parameters(name, role, params, self.folder)
        except ComponentError as error:
            raise SuiteError(f"{self.text}: {error}") from None
        for key in keys:
            if known is not None and key not in known:
                raise SuiteError(f"{self.text}: {name} has no parameter {key!r}.{near_match(key, known)}")
