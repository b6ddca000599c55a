"""The specification of a job: all that determines the results of the runs that it makes, and nothing else.

The workflow gives it to a job as a parameter. So a job reads no suite file, a suite that is edited while the
workflow runs changes nothing, and Snakemake itself sees which runs an edit concerns.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eigenbench.bench.components import Component, is_randomized, make_importable
from eigenbench.bench.records.runs import NO_CLASSIFIER, Run
from eigenbench.bench.suites.steps import (
    MAX_EMBEDDINGS,
    Params,
    Step,
    grid_points,
    nested_steps,
    sampled_points,
    with_params,
)
from eigenbench.datasets.splits import holdout_split
from eigenbench.datasets.strict_model import StrictModel

#: What a run's key does not depend on: where code is, and how long it may take.
_NOT_IN_KEY = {"components", "pictured_seed", "protocol_folder", "time_limit"}


class Classifier(StrictModel):
    """A classifier with its parameters and what a search varies of them."""

    component: str
    params: Params = {}
    grid: dict[str, list[Any]] = {}

    @property
    def step(self) -> Step:
        """The classifier as a step of a pipeline."""
        return Step(component=self.component, params=self.params)


class Validation(StrictModel):
    """The share of the training rows that a search scores on, its metric and its candidates; None: all."""

    fraction: float
    metric: str
    higher_is_better: bool
    n_points: int | None = None


#: The rows that a fit or a score is made on; ``fit`` and ``validation`` are two parts of the training rows.
Part = Literal["train", "fit", "validation", "test"]


def search_rows(
    y: Any, fraction: float, seed: int, groups: Any = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training rows that a search fits on, and those that it scores on; ValueError for none."""
    fit, validation = holdout_split(y, fraction, seed, groups)
    if not len(validation):
        raise ValueError("no class has two training rows, so that none can be held out")
    return fit, validation


class JobSpec(StrictModel):
    """One method of an experiment, and the classifiers that a job trains on it.

    The seed draws training and test rows where ``split_drawn``, and as many rows or classes as ``train_rows``
    or ``classes`` say. ``permute_labels`` is for a control. ``propensity`` has the constants of label
    propensities. ``protocol`` is a module, in ``protocol_folder`` if it is not installed. ``time_limit`` is
    in seconds, of a search and of a fit. Records of ``pictured_seed`` have pictures of the embedding.
    ``components`` are those that steps, classifiers and settings name.
    """

    suite: str = ""
    experiment: str = ""
    method: str = ""
    dataset: str
    other_datasets: tuple[str, ...] = ()
    split_drawn: bool = False
    train_rows: int | None = None
    classes: int | None = None
    steps: tuple[Step, ...] = ()
    grid: dict[str, list[Any]] = {}
    classifiers: dict[str, Classifier] = {}
    validation: Validation | None = None
    permute_labels: bool = False
    propensity: dict[str, float] | None = None
    protocol: str | None = None
    protocol_folder: str | None = None
    settings: Params = {}
    time_limit: float | None = None
    pictured_seed: int = 0
    components: dict[str, Component] = {}

    @property
    def datasets(self) -> tuple[str, ...]:
        """All datasets that the job reads."""
        return (self.dataset, *self.other_datasets)

    def rows(self, dataset: Any, part: Part, seed: int) -> tuple[Any, Any]:
        """Return (X, y) of a part of a dataset that was opened with the seed, which draws the part, too."""
        if part == "test":
            return dataset.X_test, dataset.y_test
        y = dataset.y_train
        if self.permute_labels:
            y = y[np.random.default_rng(seed).permutation(y.shape[0])]
        if part == "train":
            return dataset.X_train, y
        assert self.validation is not None
        fit, validation = search_rows(y, self.validation.fraction, seed, dataset.train_groups)
        rows = fit if part == "fit" else validation
        return dataset.X_train[rows], y[rows]

    def searches(self, classifier: str) -> bool:
        """Say whether parameters, or the thresholds of labels, are chosen on validation rows."""
        return bool(self.grid or self.classifiers[classifier].grid or self.propensity)

    def of_run(self, classifier: str) -> JobSpec:
        """Return what determines the runs of one classifier, or, for that of none, of a protocol."""
        chosen = {} if classifier == NO_CLASSIFIER else {classifier: self.classifiers[classifier]}
        narrowed = self.model_copy(update={"classifiers": chosen})
        used = {name: self.components[name] for name in narrowed.named(self.components)}
        return narrowed.model_copy(update={"components": used})

    @property
    def naming(self) -> list[Any]:
        """The values in which names of components stand, as JSON-like data."""
        content = self.model_dump(mode="json", include={"steps", "grid", "classifiers", "settings"})
        return [*content.pop("classifiers").values(), *content.values()]

    def named(self, known: Iterable[str]) -> list[str]:
        """Return the names of components, of some that are known, that stand in the specification."""
        text = json.dumps(self.naming, ensure_ascii=False)
        return sorted(name for name in known if f'"{name}"' in text)

    @property
    def as_json(self) -> str:
        """The specification as JSON, for the command line of a job."""
        return self.model_dump_json(exclude_defaults=True)

    @property
    def n_points(self) -> int | None:
        """Number of candidates of each search; None for all points of its grids."""
        return self.validation.n_points if self.validation else None

    def _method_points(self) -> list[Params]:
        return sampled_points(self.grid, MAX_EMBEDDINGS) if self.n_points else grid_points(self.grid)

    def embedding_points(self) -> list[tuple[Step, ...]]:
        """Return the steps at each point of the method's grid; the steps themselves where there is none."""
        return [with_params(self.steps, point) for point in self._method_points()]

    def points(self, classifier: str) -> list[Point]:
        """Return the candidates of a search: the method's points, each with those of the classifier.

        With ``n_points`` the classifier's points are dealt in turn to the method's, of which there are at
        most `MAX_EMBEDDINGS`.
        """
        outer, inner = self._method_points(), grid_points(self.classifiers[classifier].grid)
        if self.n_points is None:
            pairs = list(itertools.product(range(len(outer)), inner))
        else:
            inner = sampled_points(self.classifiers[classifier].grid, self.n_points)
            dealt = [(k % len(outer), inner[k * len(inner) // self.n_points]) for k in range(self.n_points)]
            pairs = sorted(dealt, key=lambda pair: pair[0])
        return [
            Point(number, outer[number] | {f"classifier__{name}": value for name, value in params.items()})
            for number, params in pairs
        ]

    def load(self, name: str) -> type:
        """Import and return the class of a component; raises a MissingExtraError as `Component.load` does."""
        return self.components[name].load()

    @property
    def own_modules(self) -> set[tuple[str, str]]:
        """The modules that are not eigenbench's, with the folder of each; an empty one if it is installed."""
        own = {(item.module, item.folder or "") for item in self.components.values() if item.own}
        if self.protocol and not self.protocol.startswith("eigenbench."):
            own.add((self.protocol, self.protocol_folder or ""))
        return own

    def load_protocol(self) -> Any:
        """Import and return the module of the protocol."""
        assert self.protocol is not None
        if self.protocol_folder is not None:
            make_importable(self.protocol_folder)
        return import_module(self.protocol)

    def is_random(self, step: Step) -> bool:
        """Say whether a seed changes the result of a step, its own ``random_state`` or that of a part."""
        inner = nested_steps(list(step.params.values()), self.components)
        return is_randomized(self.load(step.component), step.params) or any(
            is_randomized(self.load(name), params) for name, params in inner
        )

    def run(self, seed: int, classifier: str) -> Run:
        """Return the run of a seed and classifier."""
        names = (self.suite, self.experiment, self.dataset, self.method)
        return Run(*names, classifier, seed, self.key(seed, classifier))

    def key(self, seed: int, classifier: str) -> str:
        """Return the content key of a run: 16 hexadecimal digits."""
        content = self.of_run(classifier).model_dump(mode="json", exclude=_NOT_IN_KEY)
        # Where a choice is not made, keys are as they were before there was one.
        if self.validation is not None and self.n_points is None:
            del content["validation"]["n_points"]
        for name in ("permute_labels", "train_rows", "classes"):
            if not content[name]:
                del content[name]
        if self.protocol is not None:
            # Where the module stands is no setting: keys are as they were before the rooms.
            content["protocol"] = self.protocol.replace(
                "eigenbench.bench.protocols.", "eigenbench.protocols."
            )
        return content_key([content, seed])


class Point(NamedTuple):
    """One candidate of a search: the point of the method's grid that it stands on, and its parameters."""

    embedding: int
    params: Params


def content_key(content: Any, length: int = 16) -> str:
    """Hash JSON-like content to hexadecimal digits, independent of key order."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:length]
