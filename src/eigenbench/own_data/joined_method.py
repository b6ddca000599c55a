"""A method that joins the reference: what the user names, and the suite that runs it alone."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.code_hash import own_code_files
from eigenbench.bench.components import folder_of
from eigenbench.bench.jobs.plan import load_plan
from eigenbench.bench.registry import find_component
from eigenbench.bench.suites.component_checks import ComponentError, checked_class
from eigenbench.bench.suites.recipes import RECIPES
from eigenbench.bench.suites.suite import Suite
from eigenbench.datasets.plain_yaml import PlainYamlError, read_yaml, write_yaml
from eigenbench.own_data.table import OwnDataError

_SCALE: dict[str, Any] = {"StandardScaler": {}}


@dataclass(frozen=True)
class JoinedMethod:
    """A method, as suites write it.

    A ``classifier`` takes the place of the suite's, on scaled inputs. The user's modules lie in ``folder``.
    """

    name: str
    method: dict[str, Any]
    classifier: str | None = None
    folder: Path | None = None


def read_method(text: str, taken: Container[str]) -> JoinedMethod:
    """Read ``my_method.py:MyEmbedding``, a YAML file with ``steps`` and ``grid``, or a registered name.

    Inputs and features of an embedding that is named alone are scaled, as in the reference's recipes.

    A name in ``taken``, those of the reference's methods and classifiers, becomes ``NAME_joined``. Raises
    `OwnDataError` if there is no such file, class or name, or it is no estimator.
    """
    joined = _read(text)
    return replace(joined, name=f"{joined.name}_joined") if joined.name in taken else joined


def _read(text: str) -> JoinedMethod:
    path = Path(text.rpartition(":")[0] or text)
    if path.suffix in (".py", ".yaml", ".yml") and not path.is_file():
        raise OwnDataError(f"{path}: there is no such file")
    if path.suffix in (".yaml", ".yml"):
        return JoinedMethod(path.stem, _read_pipeline(path), folder=path.parent)
    if text in RECIPES:
        recipe = RECIPES[text]
        steps = [{step.component: dict(step.params)} for step in recipe.steps]
        return JoinedMethod(text, {"steps": steps, "grid": dict(recipe.grid)})
    own, class_name = path.suffix == ".py", text.rpartition(":")[2]
    if own and class_name == text:
        raise OwnDataError(f"{text}: name the class, too, as in {text}:MyEmbedding")
    component, folder = (f"{path.stem}:{class_name}", path.parent) if own else (text, None)
    try:
        cls = checked_class(component, None, {}, folder)
    except KeyError as error:
        raise OwnDataError(error.args[0]) from None
    except ComponentError as error:
        raise OwnDataError(f"{text}{error}") from None
    if cls is None:
        raise OwnDataError(f"{text} needs: pip install 'eigenbench[{find_component(text).extra}]'")
    if hasattr(cls, "transform"):
        return JoinedMethod(class_name, {"steps": [_SCALE, {component: {}}, _SCALE]}, folder=folder)
    return JoinedMethod(class_name, {"steps": [_SCALE]}, component, folder)


def _read_pipeline(path: Path) -> dict[str, Any]:
    try:
        content = read_yaml(path)
    except PlainYamlError as error:
        raise OwnDataError(str(error)) from None
    if not isinstance(content, dict) or "steps" not in content:
        raise OwnDataError(
            f"{path}: write the keys 'steps' and, for a search, 'grid', as a method of a suite"
        )
    return content


def write_suite(joined: JoinedMethod, part: Suite, folder: Path, time_limit: float | None) -> Path:
    """Write a suite that runs one method as a suite runs its own, with the user's modules beside it.

    It has the experiments of ``part``, with their splits, searches and classifiers. ``time_limit`` is for one
    run, in seconds; by default it is that of the suite.
    """
    experiments = {}
    for name, spec in part.experiments.items():
        classifiers = {
            key: item.model_dump(exclude_defaults=True)
            for key, item in spec.classifiers.items()
            if item.methods is None
        }
        if joined.classifier is not None:
            classifiers = {joined.name: {"component": joined.classifier}}
        experiments[name] = {
            "dataset": spec.dataset,
            "seeds": list(spec.seeds),
            "headline": spec.headline,
            "validation": spec.validation.model_dump(exclude_none=True),
            "time_limit": time_limit or part.time_limit_of(name),
            "methods": {joined.name if joined.classifier is None else "raw": joined.method},
            "classifiers": classifiers,
        }
    path = folder / f"join_{joined.name}.yaml"
    content = {"title": f"{joined.name} on the datasets of {part.name}", "experiments": experiments}
    with replacing_file(path) as temporary:
        temporary.write_text(write_yaml(content), encoding="utf-8")
    components = load_plan(path).methods[0].spec.components.values()
    for module in {component.module for component in components if component.own}:
        beside = folder_of(module, joined.folder)
        for name, source in own_code_files(module, beside).items() if beside else ():
            with replacing_file(folder / name) as temporary:
                temporary.write_bytes(source.read_bytes())
    return path
