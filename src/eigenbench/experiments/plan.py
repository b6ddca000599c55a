"""Turn a suite into a graph of tasks, and tasks into the units that jobs execute.

A unit is a single task, or, in packed experiments, up to ``TASKS_PER_UNIT`` tasks of one stage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from eigenbench.datasets.catalogue import Catalogue, Entry
from eigenbench.experiments.cells import CellBuilder
from eigenbench.experiments.suite import (
    MULTICLASS_METRICS,
    MULTILABEL_METRICS,
    ExperimentSpec,
    Suite,
    SuiteError,
)
from eigenbench.experiments.tasks import Cell, Task, Unit, content_key

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
        builder = CellBuilder(
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
