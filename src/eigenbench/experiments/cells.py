"""The cells of one experiment, each with the tasks that make it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigenbench.experiments.suite import (
    NO_CLASSIFIER,
    ClassifierSpec,
    ExperimentSpec,
    MethodSpec,
    Params,
    StepSpec,
    grid_points,
    step_names,
)
from eigenbench.experiments.tasks import Cell, Task
from eigenbench.registry import component


class CellBuilder:
    """Builds the cells of one experiment; ``random_split`` and ``shards`` are those of its dataset."""

    def __init__(self, suite: str, name: str, experiment: ExperimentSpec, random_split: bool, shards: int):
        self.suite = suite
        self.name = name
        self.experiment = experiment
        self.random_split = random_split
        self.shards = shards

    def cells(self) -> Iterable[Cell]:
        """Yield a cell for each method, classifier and seed."""
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
