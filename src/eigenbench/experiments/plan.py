"""Turn a suite into a graph of tasks, and tasks into the units that jobs execute.

A *task* is one moment pass, one embedding fit, one classifier fit, one evaluation or one selection.
Its key is a hash of everything that determines its result, so equal work is done once, paths stay
short, and a changed suite never meets stale results. A *unit* is what one job executes: a single
task, or, in packed experiments, up to ``TASKS_PER_UNIT`` tasks of one stage.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from eigenbench.datasets.catalogue import Catalogue, Entry
from eigenbench.experiments.suite import (
    MULTICLASS_METRICS,
    MULTILABEL_METRICS,
    NO_CLASSIFIER,
    ClassifierSpec,
    ExperimentSpec,
    MethodSpec,
    Params,
    StepSpec,
    Suite,
    SuiteError,
    grid_points,
    step_names,
)
from eigenbench.registry import component

STAGES = ("moments", "embed", "train", "evaluate", "select", "measure")

#: Tasks that one job of a packed experiment does at most: the start of a process is then a small part.
TASKS_PER_UNIT = 20

#: Multiplications that one job of a moment pass does: some minutes of one core.
SHARD_FLOPS = 2e13

#: Runs of a packed experiment after which, at the next method, another group of cluster jobs begins.
RUNS_PER_GROUP = 60

#: Records of a packed experiment that one job imports into MLflow.
BATCH_RECORDS = 100


def batched(items: Iterable[Task], size: int) -> Iterator[tuple[Task, ...]]:
    """Cut a sequence into tuples of at most ``size`` items."""
    iterator = iter(items)
    while chunk := tuple(islice(iterator, size)):
        yield chunk


def content_key(content: Any, length: int = 16) -> str:
    """Hash JSON-like content to hexadecimal digits, independent of key order."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@dataclass(frozen=True)
class Task:
    """One piece of work with a content key.

    Attributes
    ----------
    stage : str
        One of ``STAGES``.
    spec : dict
        Everything that determines the result, JSON-like.
    needs : tuple of Task
        The tasks whose artifacts it reads.
    """

    stage: str
    key: str
    spec: dict[str, Any] = field(compare=False, hash=False)
    needs: tuple[Task, ...] = field(compare=False, hash=False)

    @classmethod
    def make(cls, stage: str, spec: dict[str, Any], needs: Iterable[Task] = ()) -> Task:
        """Create a task; its key covers the stage, the spec and the keys of what it needs."""
        needs = tuple(needs)
        return cls(stage, content_key([stage, spec, [task.key for task in needs]]), spec, needs)


@dataclass(frozen=True)
class Unit:
    """The tasks that one job executes, all of one stage and on the same datasets."""

    stage: str
    id: str
    datasets: tuple[str, ...]
    label: str
    packed: bool
    tasks: tuple[Task, ...] = field(compare=False, hash=False)


@dataclass(frozen=True)
class Cell:
    """One run: suite × experiment × method × classifier × seed, and the tasks that make it.

    ``final`` is the task that measures: an evaluation of what ``embed`` and ``train`` made, or the whole
    measurement of a protocol, which has neither of these.
    """

    suite: str
    experiment: str
    dataset: str
    method: str
    classifier: str
    seed: int
    deterministic: bool
    steps: tuple[StepSpec, ...] = field(compare=False)
    final: Task = field(compare=False)
    embed: Task | None = field(default=None, compare=False)
    train: Task | None = field(default=None, compare=False)
    select: Task | None = field(default=None, compare=False)

    @cached_property
    def run_key(self) -> str:
        """The content key of the run: what the MLflow tag and the record's file name hold."""
        return content_key([self.dataset, self.method, self.classifier, self.seed, self.final.key])

    @property
    def label(self) -> str:
        """A short name for people."""
        names = [self.method, self.classifier] if self.train else [self.method]
        return " · ".join([self.dataset, *names, f"seed {self.seed}"])


@dataclass(frozen=True)
class Plan:
    """All cells of a suite, and the units of work behind them.

    ``unit_of`` has the unit of each task key, ``group_of`` the group of cluster jobs of each run key: a
    method, or, in packed experiments, some methods in a row.
    """

    suite: Suite
    cells: tuple[Cell, ...]
    units: Mapping[str, Unit]
    unit_of: Mapping[str, Unit]
    group_of: Mapping[str, str]

    def upstream(self, unit: Unit) -> list[Unit]:
        """Return the units whose outputs a unit reads, each once, in a stable order."""
        found = {
            self.unit_of[need.key].id: self.unit_of[need.key] for task in unit.tasks for need in task.needs
        }
        return [other for other in found.values() if other.id != unit.id]

    def behind(self, cell: Cell) -> list[Unit]:
        """Return the units that a run needs, each once, what is needed before what needs it."""
        return list(dict.fromkeys(self.unit_of[task.key] for task in _closure(cell)))

    def cell(self, run_key: str) -> Cell:
        """Return the cell with a run key."""
        return self._cell_of[run_key]

    @cached_property
    def _cell_of(self) -> dict[str, Cell]:
        return {cell.run_key: cell for cell in self.cells}

    def batches(self) -> dict[str, list[Cell]]:
        """Group cells for the import into MLflow: by method, or, in packed experiments, by the hundred."""
        counts: Counter[str] = Counter()
        grouped: dict[str, list[Cell]] = {}
        for cell in self.cells:
            name = f"{cell.experiment}.{cell.method}"
            if self.suite.experiments[cell.experiment].pack:
                name = f"{cell.experiment}.{counts[cell.experiment] // BATCH_RECORDS}"
                counts[cell.experiment] += 1
            grouped.setdefault(name, []).append(cell)
        return grouped


def plan_suite(suite: Suite, catalogue: Catalogue) -> Plan:
    """Expand a suite, taking from the catalogue whose splits the seed draws and how large the data are.

    Raises
    ------
    SuiteError
        If an experiment's validation metric is not one for the targets of its dataset.
    """
    for name, experiment in suite.experiments.items():
        multilabel = catalogue.entry(experiment.dataset).target == "multilabel"
        if experiment.protocol is None and experiment.validation.multilabel != multilabel:
            known = MULTILABEL_METRICS if multilabel else MULTICLASS_METRICS
            raise SuiteError(
                f"suite {suite.name}: experiments.{name}.validation.metric: {experiment.validation.metric!r} "
                f"does not suit {experiment.dataset}; one of {', '.join(known)} does"
            )
    return make_plan(
        suite,
        {name: entry.split.kind == "random" for name, entry in catalogue.datasets.items()},
        {name: default_shards(entry) for name, entry in catalogue.datasets.items()},
    )


def default_shards(entry: Entry) -> int:
    """Return the number of jobs that share a dataset's moment pass: one for all but the largest data."""
    return math.ceil(sum(entry.expect.rows.values()) * entry.expect.features**2 / SHARD_FLOPS)


def make_plan(
    suite: Suite, random_split: Mapping[str, bool], shards: Mapping[str, int] | None = None
) -> Plan:
    """Expand a suite into cells, tasks and units.

    Parameters
    ----------
    suite : Suite
        A validated suite.
    random_split : mapping of str to bool
        For each dataset, whether the seed draws its train/test split (else the split is official).
    shards : mapping of str to int, optional
        For each dataset, into how many jobs a moment pass is cut where the experiment doesn't say; one
        when left out.
    """
    cells = []
    group_of: dict[str, str] = {}
    groups: dict[_Group, dict[str, Task]] = {}
    seen: set[str] = set()
    for name, experiment in suite.experiments.items():
        builder = _Builder(
            suite.name,
            name,
            experiment,
            random_split[experiment.dataset],
            experiment.shards or (shards or {}).get(experiment.dataset, 1),
        )
        for number, cell in _numbered(builder.cells()):
            cells.append(cell)
            group_of[cell.run_key] = f"{suite.name}.{name}.{number if experiment.pack else cell.method}"
            for task in _closure(cell):
                if task.key not in seen:
                    seen.add(task.key)
                    groups.setdefault(_group(cell, task, experiment, number), {})[task.key] = task
    units: dict[str, Unit] = {}
    unit_of: dict[str, Unit] = {}
    for group, tasks in groups.items():
        for members in batched(tasks.values(), TASKS_PER_UNIT):
            keys = [task.key for task in members]
            unit_id = content_key(sorted(keys), 12)
            unit = Unit(group.stage, unit_id, group.datasets, group.label, group.packed, members)
            units[unit.id] = unit
            unit_of.update(dict.fromkeys(keys, unit))
    return Plan(suite, tuple(cells), units, unit_of, group_of)


def _numbered(cells: Iterable[Cell]) -> Iterator[tuple[int, Cell]]:
    """Give the runs of some methods in a row, about ``RUNS_PER_GROUP``, the same number."""
    number = runs = 0
    method = None
    for cell in cells:
        if cell.method != method and runs >= RUNS_PER_GROUP:
            number, runs = number + 1, 0
        method = cell.method
        runs += 1
        yield number, cell


def _closure(cell: Cell) -> list[Task]:
    """All tasks behind a cell, each once, what is needed before what needs it."""
    ordered: dict[str, Task] = {}

    def visit(task: Task) -> None:
        if task.key not in ordered:
            for need in task.needs:
                visit(need)
            ordered[task.key] = task

    visit(cell.final)
    return list(ordered.values())


class _Group(NamedTuple):
    """What the tasks of one unit have in common; ``apart`` says what else keeps some apart."""

    stage: str
    datasets: tuple[str, ...]
    label: str
    packed: bool
    apart: str


def _group(cell: Cell, task: Task, experiment: ExperimentSpec, number: int) -> _Group:
    phase = "search" if task.spec.get("part", {}).get("name") in ("fit", "validation") else "final"
    datasets = experiment.datasets
    if experiment.pack:
        apart = "merge" if "merge" in task.spec else str(number)
        return _Group(task.stage, datasets, f"{cell.experiment} · {phase}", True, apart)
    words = [cell.dataset]
    if "of" in task.spec:
        words.append(f"shard {task.spec['shard'] + 1} of {task.spec['of']}")
    if task.stage != "moments":
        words.append(cell.method)
    if task.stage in ("train", "evaluate", "select"):
        words.append(cell.classifier)
    if task.stage != "measure":
        words.append(phase)
    label = " · ".join([*words, f"seed {cell.seed}"])
    return _Group(task.stage, datasets, label, False, task.key)


class _Builder:
    """Builds the cells of one experiment."""

    def __init__(self, suite: str, name: str, experiment: ExperimentSpec, random_split: bool, shards: int):
        self.suite = suite
        self.name = name
        self.experiment = experiment
        self.random_split = random_split
        self.shards = shards

    def cells(self) -> Iterable[Cell]:
        for method_name, method in self.experiment.methods.items():
            if self.experiment.protocol is not None:
                for seed in method.seeds or self.experiment.seeds:
                    yield self._measured_cell(method_name, method, seed)
            for classifier_name, classifier in self.experiment.classifiers.items():
                for seed in method.seeds or self.experiment.seeds:
                    yield self._cell(method_name, method, classifier_name, classifier, seed)

    def _measured_cell(self, method_name: str, method: MethodSpec, seed: int) -> Cell:
        spec = {
            "protocol": self.experiment.protocol,
            "settings": self.experiment.settings,
            "datasets": list(self.experiment.datasets),
            "steps": [step.model_dump() for step in method.steps],
            "seed": seed,
        }
        return Cell(
            suite=self.suite,
            experiment=self.name,
            dataset=self.experiment.dataset,
            method=method_name,
            classifier=NO_CLASSIFIER,
            seed=seed,
            deterministic=False,
            steps=method.steps,
            final=Task.make("measure", spec),
        )

    def _cell(
        self,
        method_name: str,
        method: MethodSpec,
        classifier_name: str,
        classifier: ClassifierSpec,
        seed: int,
    ) -> Cell:
        base = StepSpec(component=classifier.component, params=classifier.params)
        train_part = self._part("train", seed)
        select = self._search(method, classifier, base, seed)
        embed_select = select if method.grid else None
        embed = self._embed(method.steps, train_part, seed, embed_select)
        train = self._train(embed, base, train_part, seed, select if classifier.grid else None)
        evaluate = self._evaluate(self._part("test", seed), train, select)
        seeded = any(component(step.component).is_seeded(step.params) for step in (*method.steps, base))
        return Cell(
            suite=self.suite,
            experiment=self.name,
            dataset=self.experiment.dataset,
            method=method_name,
            classifier=classifier_name,
            seed=seed,
            deterministic=not (seeded or self.random_split or select is not None),
            steps=method.steps,
            final=evaluate,
            embed=embed,
            train=train,
            select=select,
        )

    def _part(self, name: str, seed: int) -> dict[str, Any]:
        part: dict[str, Any] = {"name": name, "dataset": self.experiment.dataset}
        if self.random_split:
            part["split_seed"] = seed
        if name in ("fit", "validation"):
            part |= {"fraction": self.experiment.validation.fraction, "seed": seed}
        return part

    def _search(
        self, method: MethodSpec, classifier: ClassifierSpec, base: StepSpec, seed: int
    ) -> Task | None:
        grid = {**method.grid, **{f"classifier__{name}": values for name, values in classifier.grid.items()}}
        if not grid and not self.experiment.validation.multilabel:
            return None
        fit_part, validation_part = self._part("fit", seed), self._part("validation", seed)
        candidates, evaluations = [], []
        for point in grid_points(grid):
            steps, step = with_params(method.steps, base, point)
            embed = self._embed(steps, fit_part, seed, None)
            train = self._train(embed, step, fit_part, seed, None)
            evaluations.append(self._evaluate(validation_part, train, None))
            candidates.append({"params": point, "evaluate": evaluations[-1].key})
        spec = {
            "part": validation_part,
            "metric": self.experiment.validation.metric,
            "candidates": candidates,
        }
        return Task.make("select", spec, evaluations)

    def _evaluate(self, part: dict[str, Any], train: Task, select: Task | None) -> Task:
        """Score a model; on multilabel data with the thresholds that the selection found, if there is one."""
        if not self.experiment.validation.multilabel:
            return Task.make("evaluate", {"part": part}, [train])
        spec = {"part": part, "propensity": self.experiment.propensity.model_dump()}
        return Task.make("evaluate", spec, [train, select] if select else [train])

    def _embed(
        self, steps: tuple[StepSpec, ...], part: dict[str, Any], seed: int, select: Task | None
    ) -> Task:
        spec: dict[str, Any] = {"part": part, "steps": [step.model_dump() for step in steps]}
        if any(component(step.component).is_seeded(step.params) for step in steps):
            spec["seed"] = seed
        needs = [select] if select else []
        if steps and component(steps[0].component).uses_moments:
            needs.append(self._moments(part))
        return Task.make("embed", spec, needs)

    def _moments(self, part: dict[str, Any]) -> Task:
        """One pass over the rows, or passes over shards and a task that merges them."""
        if self.shards == 1:
            return Task.make("moments", {"part": part})
        of = self.shards
        shards = [Task.make("moments", {"part": part, "shard": index, "of": of}) for index in range(of)]
        return Task.make("moments", {"part": part, "merge": of}, shards)

    def _train(
        self, embed: Task, classifier: StepSpec, part: dict[str, Any], seed: int, select: Task | None
    ) -> Task:
        spec: dict[str, Any] = {"part": part, "classifier": classifier.model_dump()}
        if component(classifier.component).is_seeded(classifier.params):
            spec["seed"] = seed
        return Task.make("train", spec, [embed, *([select] if select else [])])


def with_params(
    steps: tuple[StepSpec, ...], classifier: StepSpec, point: Params
) -> tuple[tuple[StepSpec, ...], StepSpec]:
    """Put one point of a search grid (``step__parameter``, ``classifier__parameter``) into a pipeline."""
    changes: dict[str, Params] = {}
    for key, value in point.items():
        step_name, _, parameter = key.partition("__")
        changes.setdefault(step_name, {})[parameter] = value

    def updated(step: StepSpec, name: str) -> StepSpec:
        return StepSpec(component=step.component, params={**step.params, **changes.get(name, {})})

    named = zip(steps, step_names(steps), strict=True)
    return tuple(updated(step, name) for step, name in named), updated(classifier, "classifier")
