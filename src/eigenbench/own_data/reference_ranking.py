"""One method ranked among the reference results of a suite, whose methods are not run again.

The user names the method; a suite is written that runs it alone, and its records are ranked.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.atomic_files import replacing_file
from eigenbench.bench.code_hash import own_code_files, own_code_hash
from eigenbench.bench.components import folder_of
from eigenbench.bench.jobs.job_context import dataset_info, now
from eigenbench.bench.jobs.plan import SuitePlan, load_plan, plan_suite
from eigenbench.bench.records.record import Record
from eigenbench.bench.registry import find_component
from eigenbench.bench.suites.component_checks import ComponentError, checked_class
from eigenbench.bench.suites.recipes import load_recipes
from eigenbench.bench.suites.suite import Suite
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite
from eigenbench.comparison.ranks import MIN_DATASETS, wilcoxon_holm, win_tie_loss
from eigenbench.comparison.ratios import equivalence, error_ratios
from eigenbench.datasets.plain_yaml import PlainYamlError, read_yaml, write_yaml
from eigenbench.datasets.preparing import prepare
from eigenbench.datasets.project_files import project_folder
from eigenbench.own_data.table import OwnDataError, unknown
from eigenbench.reporting.reference_results import DATASETS, records_of_results
from eigenbench.reporting.replicates import group_runs, reason
from eigenbench.reporting.suite_ranks import SuiteRanks, suite_ranks
from eigenbench.reproduction.reference import default_reference_folder

#: The suite whose reference a method joins.
SUITE = "comparison"
#: So many competitors with the nearest mean ranks are compared with the method one by one.
N_NEAREST = 5

_SCALE: dict[str, Any] = {"StandardScaler": {}}


@dataclass(frozen=True)
class ReferencePart:
    """Reference of the chosen datasets and splits: plan, results, digest and rows of the data."""

    plan: SuitePlan
    records: list[Record]
    data: dict[str, tuple[str, int, int]]


def read_reference(datasets: Sequence[str] = (), n_splits: int | None = None) -> ReferencePart:
    """Read the reference of the suite `SUITE`: its experiments with the metric of the first one.

    Raises `OwnDataError` if there are too few datasets to rank on, or an unknown one, or too few splits.
    """
    suite = load_suite(project_folder() / "config" / "suites" / f"{SUITE}.yaml")
    metric = next(iter(suite.experiments.values())).headline
    found = {spec.dataset: name for name, spec in suite.experiments.items() if spec.headline == metric}
    for name in datasets:
        if name not in found:
            raise unknown("dataset", name, found)
    chosen = [found[name] for name in datasets] or list(found.values())
    if len(set(chosen)) < MIN_DATASETS:
        raise OwnDataError(f"{len(set(chosen))} datasets are too few to rank on: name {MIN_DATASETS} or more")
    n_seeds = min(len(suite.experiments[name].seeds) for name in chosen)
    if n_splits is not None and not 1 <= n_splits <= n_seeds:
        raise OwnDataError(f"--splits {n_splits}: the reference has 1 to {n_seeds}")
    experiments = {
        name: spec.model_copy(update={"seeds": spec.seeds[:n_splits]})
        for name, spec in suite.experiments.items()
        if name in chosen
    }
    part = suite.model_copy(update={"experiments": experiments})
    plan = plan_suite(part, catalogue_of(suite))
    folder = default_reference_folder() / SUITE
    table = pd.read_csv(folder / DATASETS, index_col="name")
    data = {name: (digest, n_train, n_test) for name, digest, n_train, n_test in table.itertuples()}
    return ReferencePart(plan, records_of_results(plan, folder), data)


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
        try:
            content = read_yaml(path)
        except PlainYamlError as error:
            raise OwnDataError(str(error)) from None
        if not isinstance(content, dict) or "steps" not in content:
            raise OwnDataError(f"{path}: write 'steps' and, for a search, 'grid', as a method of a suite has")
        return JoinedMethod(path.stem, content, folder=path.parent)
    if recipe := load_recipes().get(text):
        steps = [{step.component: dict(step.params)} for step in recipe.steps]
        return JoinedMethod(text, {"steps": steps, "grid": dict(recipe.grid)})
    own, class_name = path.suffix == ".py", text.rpartition(":")[2]
    if own and class_name == text:
        raise OwnDataError(f"{text}: name the class, too, as in {text}:MyEmbedding")
    component, folder = (f"{path.stem}:{class_name}", path.parent) if own else (text, None)
    try:
        cls = checked_class(component, None, {}, folder)
    except ComponentError as error:
        raise OwnDataError(f"{text}{error}") from None
    except ValueError as error:  # no component is called so
        raise OwnDataError(str(error)) from None
    if cls is None:
        raise OwnDataError(f"{text} needs: pip install 'eigenbench[{find_component(text).extra}]'")
    if hasattr(cls, "transform"):
        return JoinedMethod(class_name, {"steps": [_SCALE, {component: {}}, _SCALE]}, folder=folder)
    return JoinedMethod(class_name, {"steps": [_SCALE]}, component, folder)


def write_suite(joined: JoinedMethod, part: Suite, folder: Path, time_limit: float | None) -> Path:
    """Write a suite that runs one method as ``part`` runs its own, with the user's modules beside it.

    ``time_limit`` is for one run, in seconds; by default it is that of the suite.
    """
    if time_limit is not None and not 0 < time_limit < np.inf:
        raise OwnDataError(f"--time-limit {time_limit:g} is not a number of seconds above 0")
    experiments = {}
    for name, spec in part.experiments.items():
        classifiers = {
            key: item.model_dump(exclude_defaults=True)
            for key, item in spec.classifiers.items()
            if item.methods is None
        }
        if joined.classifier is not None:
            classifiers = {joined.name: {"component": joined.classifier}}
        kept = {"dataset", "seeds", "headline", "validation"}
        experiments[name] = spec.model_dump(mode="json", include=kept, exclude_none=True) | {
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


def check_data(reference: ReferencePart, data_dir: Path) -> None:
    """Prepare the datasets, and raise `OwnDataError` where rows or splits are others than the reference's."""
    catalogue = catalogue_of(reference.plan.suite)
    for spec in reference.plan.suite.experiments.values():
        card = prepare(spec.dataset, data_dir=data_dir, catalogue=catalogue)
        info = dataset_info({"card": card.model_dump(mode="json")})
        here = (info.sha256, info.n_train, info.n_test)
        there = reference.data.get(spec.dataset, ("none", 0, 0))
        if here != there:
            texts = ["{} ({:,} + {:,} rows)".format(*one) for one in (here, there)]
            raise OwnDataError(
                f"{spec.dataset}: data or splits are not those of the reference: {texts[0]} here, "
                f"{texts[1]} there; leave it out by --datasets"
            )


def rank_joined(reference: ReferencePart, records: Sequence[Record]) -> SuiteRanks:
    """Rank the competitor of some records among those of the reference, as if all had run together."""
    plan = reference.plan
    joined = [record.model_copy(update={"suite": plan.suite.name}) for record in records]
    return suite_ranks(plan.suite, group_runs([plan], [*reference.records, *joined]))[0]


def joined_result(reference: ReferencePart, plan: SuitePlan, records: Sequence[Record]) -> dict[str, Any]:
    """Return the place of a method among the reference results, from the records of its suite, as JSON.

    ``place`` is by mean rank, 1 is best, with a 95 % interval over resampled datasets. ``seconds`` to fit is
    a geometric mean over datasets; on the front no competitor is both faster and better. ``nearest`` are
    competitors one by one, with Wilcoxon's p-value, not corrected for several, and the ratio of errors to
    theirs. ``datasets`` have the error of each split, None where the run failed; ``code`` a digest of each
    module that is not eigenbench's. A run without record is an `OwnDataError`, as are refused ranks.
    """
    if absent := len(plan.runs) - len(records):
        raise OwnDataError(f"{absent} of {len(plan.runs)} runs have no record: give the command again")
    spec, first = plan.methods[0].spec, plan.runs[0]
    ranks = rank_joined(reference, records)
    if ranks.refusal:
        raise OwnDataError(ranks.refusal)
    name = f"{first.method} + {first.classifier}"
    own = ranks.ranks.loc[name]
    environments = [
        record.environment.model_copy(update={"gemm_gflops": None}).model_dump(mode="json")
        for record in records
        if record.environment
    ]
    return {
        "schema_name": "eigenbench joined method",
        "schema_version": 1,
        "suite": ranks.suite,
        "metric": ranks.metric,
        "competitor": name,
        "steps": [{step.component: step.params} for step in spec.steps],
        "grid": spec.grid,
        "code": {module: own_code_hash(module, folder) for module, folder in sorted(spec.own_modules)},
        "n_competitors": len(ranks.ranks),
        **_plain(own[["place", "place_low", "place_high"]]),
        **_plain(own[["mean_rank", "rank_low", "rank_high", "n_failed", "seconds", "on_front"]]),
        "nearest": _nearest(ranks, name),
        "datasets": [_dataset(one.dataset, ranks.metric, records) for one in plan.suite.experiments.values()],
        "environments": [one for place, one in enumerate(environments) if one not in environments[:place]],
        "made": now(),
    }


def _nearest(ranks: SuiteRanks, name: str) -> list[dict[str, Any]]:
    others = ranks.ranks["mean_rank"].drop(name)
    rivals = (others - ranks.ranks.loc[name, "mean_rank"]).abs().sort_values(kind="stable").index[:N_NEAREST]
    ordered = ranks.errors[[name, *others.index]]
    pairs = win_tie_loss(ordered).join([wilcoxon_holm(ordered), error_ratios(ordered)])
    pairs["conclusion"] = equivalence(pairs)
    columns = ["wins", "ties", "losses", "p_value", "ratio", "low", "high", "conclusion"]
    return [
        {"competitor": rival, "mean_rank": others[rival], **_plain(pairs.loc[(name, rival), columns])}
        for rival in sorted(rivals, key=list(others.index).index)
    ]


def _dataset(name: str, metric: str, records: Sequence[Record]) -> dict[str, Any]:
    own = [record for record in records if record.dataset == name]
    info = next(record.dataset_info for record in own if record.dataset_info)
    return {
        "dataset": name,
        **info.model_dump(include={"sha256", "n_train", "n_test"}),
        "errors": {str(record.seed): record.metrics.get(metric) for record in own},
        "failures": [f"seed {record.seed}: {reason(record)}" for record in own if record.status != "ok"],
    }


def _plain(values: pd.Series) -> dict[str, Any]:
    """Return values as JSON has them: None for NaN and infinite ones."""
    found = values.astype(object).replace([np.nan, np.inf, -np.inf], None)
    return {
        str(key): value.item() if isinstance(value, np.generic) else value for key, value in found.items()
    }
