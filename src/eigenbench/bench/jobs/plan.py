"""From suite files to runs, and how much of them one job makes.

A rough estimate of the cost of runs, by suite and catalogue alone, decides which share a job. Results and
paths do not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from eigenbench.bench.components import folder_of
from eigenbench.bench.jobs.job_spec import Classifier, JobSpec, Validation
from eigenbench.bench.protocols.available import find_protocol
from eigenbench.bench.protocols.base import ProtocolSettings
from eigenbench.bench.records.runs import NO_CLASSIFIER, Run, run_files
from eigenbench.bench.registry import COMPONENTS, NAMES, find_component
from eigenbench.bench.suites.parts import SuiteError
from eigenbench.bench.suites.steps import Step, as_step, grid_size
from eigenbench.bench.suites.suite import SIZES, ExperimentSpec, Suite
from eigenbench.bench.suites.suite_file import catalogue_of, load_suite
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry

#: What one job makes at least: all runs of a method, those of one seed, or a single run.
Granularity = Literal["method", "seed", "fit"]

#: Estimated work, in seconds, up to which all runs of a method, or else those of a seed, share a job, and of
#: each of their fits. A retry repeats all work of a job, and so does the run after a kill.
JOB_SECONDS = 60
FIT_SECONDS = 10

#: Estimated work of a suite from which its experiments are imported into MLflow one by one.
IMPORT_SECONDS = 800

#: To start a job, and to do what is no fit.
START_SECONDS = 2.0

#: Values (rows × features) that one core passes over in a second, and multiplications (rows × features²) that
#: it does. Measured on 183 jobs of `comparison`: their sum is right, half of them take 0.1 to 1 of their
#: estimate, iterative methods up to 40 times it.
_VALUES_PER_SECOND = 2e7
_PRODUCTS_PER_SECOND = 5e10

#: Share of the values of sparse data that are not zero, and the classes up to which their number is free.
_DENSITY = 0.05
_FEW_CLASSES = 10

_TARGETS = {"multiclass": "classes", "multilabel": "labels", "regression": "numbers"}


@dataclass(frozen=True)
class MethodPlan:
    """A method of an experiment, with the estimated work of all its runs and of a single fit.

    Jobs of an ``exclusive`` one get the whole machine, because they measure time.
    """

    spec: JobSpec
    seeds: tuple[int, ...]
    granularity: Granularity
    seconds: float
    seconds_of_fit: float
    exclusive: bool = False

    @property
    def experiment(self) -> str:
        """Folder of its experiment, below the results folder."""
        return f"{self.spec.suite}/{self.spec.experiment}"

    @property
    def folder(self) -> str:
        """Folder of its files, below the results folder."""
        return f"{self.experiment}/{self.spec.method}"

    @property
    def shares_jobs(self) -> bool:
        """True if one job makes several of its runs."""
        return self.granularity != "fit"

    @property
    def parts(self) -> list[MethodPlan]:
        """The method as one job makes it at least: with all its seeds, or with one of them each."""
        if self.granularity != "seed":
            return [self]
        seconds = self.seconds / len(self.seeds)
        return [replace(self, seeds=(seed,), seconds=seconds) for seed in self.seeds]

    @property
    def verb(self) -> str:
        """The module that makes its runs."""
        return "measure" if self.spec.protocol else "train"

    @property
    def classifiers(self) -> tuple[str, ...]:
        """The names that its records have in their field ``classifier``."""
        return tuple(self.spec.classifiers) or (NO_CLASSIFIER,)

    @cached_property
    def runs(self) -> list[Run]:
        """All its runs."""
        return [self.spec.run(seed, classifier) for classifier in self.classifiers for seed in self.seeds]

    @property
    def files(self) -> list[str]:
        """The files of its runs, below the results folder."""
        return [
            f"{self.folder}/{file}"
            for seed in self.seeds
            for classifier in self.classifiers
            for file in run_files(seed, classifier)
        ]


@dataclass(frozen=True)
class SuitePlan:
    """All methods of a suite, in the order of the suite file."""

    suite: Suite
    methods: tuple[MethodPlan, ...]

    @cached_property
    def runs(self) -> list[Run]:
        """All runs of the suite."""
        return [run for method in self.methods for run in method.runs]

    @cached_property
    def n_large(self) -> int:
        """The number of runs that are jobs of their own."""
        return sum(len(method.runs) for method in self.methods if not method.shares_jobs)

    @property
    def imports(self) -> list[str]:
        """Folders of results that one import into MLflow covers: a short suite, or an experiment."""
        if sum(method.seconds for method in self.methods) < IMPORT_SECONDS:
            return [self.suite.name]
        return [f"{self.suite.name}/{name}" for name in self.suite.experiments]

    def of(self, experiment: str) -> list[MethodPlan]:
        """Return the methods of an experiment."""
        return [method for method in self.methods if method.spec.experiment == experiment]


def load_plan(path: Path) -> SuitePlan:
    """Read a suite file and plan it with eigenbench's catalogue and the user's own beside the file."""
    suite = load_suite(path)
    return plan_suite(suite, catalogue_of(suite))


def plan_suite(suite: Suite, catalogue: Catalogue) -> SuitePlan:
    """Expand a suite, taking from the catalogue whose splits the seed draws and how large the data are.

    A SuiteError refuses what does not suit a dataset: a metric, a method for partitions, a size.
    """
    methods: list[MethodPlan] = []
    for name, experiment in suite.experiments.items():
        target = catalogue.entry(experiment.dataset).target
        if experiment.protocol is None and experiment.validation.target != target:
            raise SuiteError(
                f"suite {suite.name}: experiments.{name}.validation.metric: {experiment.validation.metric!r} "
                f"does not suit {experiment.dataset}, which has {_TARGETS[target]}"
            )
        _check_sizes(suite, name, experiment, catalogue.entry(experiment.dataset))
        methods += _methods(suite, name, experiment, catalogue)
    return SuitePlan(suite, tuple(methods))


def _check_sizes(suite: Suite, name: str, experiment: ExperimentSpec, entry: CatalogueEntry) -> None:
    """Raise for more training rows or classes than there are, and for sizes of rows in partitions."""
    settings = experiment.protocol_settings
    sizes = {key: getattr(experiment, key) for key in SIZES}
    if settings is not None and settings.takes_sizes:
        sizes = {key: getattr(settings, key) for key in SIZES}
    there = {
        "train_rows": entry.rows_of_a_run - entry.n_test if entry.n_test else None,
        "classes": entry.expect.classes if entry.target == "multiclass" else 0,
    }
    file = f"{suite.name}.yaml" if suite.folder is None else suite.folder / f"{suite.name}.yaml"
    for key, asked in sizes.items():
        most = there[key]
        written = name.removesuffix(f"_{max(asked, default=0)}_{SIZES[key]}")  # one of several sizes
        place = f"{file}: experiments.{written}.{key}"
        if asked and entry.partitioned:
            raise SuiteError(f"{place}: rows of {experiment.dataset} stay in partitions: none can be drawn")
        if asked and most is not None and asked[-1] > most:
            what = key.replace("train", "training").replace("_", " ")
            raise SuiteError(
                f"{place}: {asked[-1]:,} are asked for; {experiment.dataset} has {most:,} {what}"
            )


def _methods(
    suite: Suite, name: str, experiment: ExperimentSpec, catalogue: Catalogue
) -> Iterator[MethodPlan]:
    entry, settings = catalogue.entry(experiment.dataset), experiment.protocol_settings
    first = settings.chosen_by() if settings else None
    for method_name, method in experiment.methods.items():
        seeds = method.seeds or experiment.seeds
        if first is not None and seeds[0] != first:
            raise SuiteError(
                f"suite {suite.name}: experiments.{name}.seeds: {seeds[0]} is the first, and has to be "
                f"{first}, which chooses the parameters"
            )
        spec = _job_spec(suite, name, method_name, drawn=entry.split.drawn and first is None)
        _check_partitions(spec, catalogue)
        exclusive = settings is not None and settings.exclusive
        fit = _seconds_of_fit(spec, entry, settings)
        of_seed = _fits_with_a_seed(spec) * fit
        seconds = len(seeds) * of_seed
        granularity: Granularity = "method" if first is not None or seconds <= JOB_SECONDS else "seed"
        if exclusive or (first is None and (fit > FIT_SECONDS or of_seed > JOB_SECONDS)):
            granularity = "fit"
        yield MethodPlan(spec, seeds, granularity, seconds, fit, exclusive)


def _job_spec(suite: Suite, name: str, method_name: str, *, drawn: bool) -> JobSpec:
    """Return what the jobs of a method need; ``drawn`` says whether the seed draws the split."""
    experiment = suite.experiments[name]
    method, validation = experiment.methods[method_name], experiment.validation
    protocol = find_protocol(experiment.protocol, suite.folder) if experiment.protocol else None
    spec = JobSpec(
        suite=suite.name,
        experiment=name,
        method=method_name,
        dataset=experiment.dataset,
        other_datasets=experiment.datasets[1:],
        split_drawn=drawn,
        train_rows=max(experiment.train_rows, default=None),
        classes=max(experiment.classes, default=None),
        steps=method.steps,
        grid=method.grid,
        classifiers={
            key: Classifier(**item.model_dump(exclude={"methods"}))
            for key, item in experiment.classifiers_of(method_name).items()
        },
        validation=None
        if protocol
        else Validation(**validation.model_dump(), higher_is_better=validation.higher_is_better),
        permute_labels=experiment.permute_labels,
        propensity=experiment.propensity.model_dump() if validation.multilabel and not protocol else None,
        protocol=protocol.module if protocol else None,
        protocol_folder=folder_of(protocol.module, suite.folder) if protocol else None,
        settings=experiment.settings,
        time_limit=suite.time_limit_of(name),
        pictured_seed=0 if protocol else (method.seeds or experiment.seeds)[0],
    )
    # Registered components count wherever their names stand, others where a step or a classifier has one.
    named = spec.named({*COMPONENTS, *_written_like_steps(spec.naming)})
    components = {component: find_component(component, suite.folder) for component in named}
    return spec.model_copy(update={"components": components})


def _check_partitions(spec: JobSpec, catalogue: Catalogue) -> None:
    """Raise a SuiteError for a method that does not read partitions, if one of its datasets stays in them."""
    for dataset in (dataset for dataset in spec.datasets if catalogue.entry(dataset).partitioned):
        from eigenbench.bench.jobs.pipelines import why_not_in_partitions  # imports what methods need

        if reason := why_not_in_partitions(spec):
            raise SuiteError(
                f"suite {spec.suite}: experiments.{spec.experiment}.methods.{spec.method}: {reason}, and the "
                f"rows of {dataset} stay in partitions"
            )


def _written_like_steps(value: Any) -> Iterator[str]:
    """Yield names that stand where steps, classifiers and parameters written like steps have theirs."""
    if isinstance(value, dict):
        if isinstance(name := value.get("component"), str) and name in NAMES:
            yield name
        if step := as_step(value, NAMES):
            yield step[0]
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _written_like_steps(item)


def _fits_with_a_seed(spec: JobSpec) -> int:
    """Return the number of fits of a method with one seed, those of searches included; 1 for a protocol."""
    fits = [
        1 + (spec.n_points or grid_size(spec.grid) * grid_size(chosen.grid) if spec.searches(name) else 0)
        for name, chosen in spec.classifiers.items()
    ]
    return sum(fits) or 1


def _seconds_of_fit(spec: JobSpec, entry: CatalogueEntry, settings: ProtocolSettings | None) -> float:
    """Estimate the time of one fit, or of one measurement of a protocol with some settings."""
    features, classes = entry.expect.features, entry.expect.classes
    drawn = (spec.train_rows or entry.rows_of_a_run) + (entry.n_test or 0)
    rows = min(round((spec.classes / classes if spec.classes else 1.0) * entry.rows_of_a_run), drawn)
    if settings is not None:
        return settings.work(rows, features) / _VALUES_PER_SECOND
    widest = max(features, *_widths(spec.steps, features, classes), 0)
    passes = widest * (_DENSITY if entry.sparse else 1.0) / _VALUES_PER_SECOND
    products = 0.0 if entry.sparse else widest**2 / _PRODUCTS_PER_SECOND
    return rows * (passes + products) * max(1.0, classes / _FEW_CLASSES) ** 0.75


def _widths(steps: tuple[Step, ...], features: int, classes: int) -> list[int]:
    """Estimate the number of features behind each step: what it is asked for, or detectors of all pairs."""
    widths = []
    for step in steps:
        asked = step.params.get("n_components")
        if isinstance(asked, int):
            features = asked
        elif isinstance(step.params.get("top"), int):
            features = step.params["top"] * classes * (classes - 1)
        elif step.component == "SignedPowers":
            features *= 2 * len(step.params.get("powers", (0.5, 1, 1.5)))
        widths.append(features)
    return widths
