"""Replicates: runs of one method and classifier that differ only in the seed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.protocols.transfer_tasks import TransferSettings
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.comparison.mean_intervals import mean_interval
from eigenbench.datasets.catalogue import CatalogueEntry
from eigenbench.datasets.splits import FoldSplit, SampledSplit
from eigenbench.reporting.display_names import method_name, run_name
from eigenbench.reporting.estimates import (
    OVER_ROWS,
    ROWS_AND_SEEDS,
    ROWS_AND_SPLITS,
    ROWS_OF_ONE_RUN,
    Estimate,
    estimate,
    prediction_interval,
    within_range,
)
from eigenbench.reporting.formatting import lower_is_better
from eigenbench.reporting.row_metrics import RunMetrics, read_run_metrics

#: Methods have this many colours.
N_COLOURS = 10


@dataclass(frozen=True)
class RunGroup:
    """One method and classifier of an experiment, over its seeds; records are in the order of the seeds.

    The suite asks for ``n_planned`` seeds. ``results_dir`` holds the predictions, None where only the records
    are known. ``overlap`` is the share of test rows that two seeds have in common: 1 on one test set.
    ``synthetic`` data are made in place of those of a paper. ``n_tested`` rows are tested by a protocol; None
    where it is the dataset's. ``colour`` numbers the colour of the method in all figures.
    """

    method: str
    classifier: str
    records: tuple[Record, ...]
    n_planned: int
    results_dir: Path | None = None
    overlap: float = 0.0
    synthetic: bool = False
    n_tested: int | None = None
    colour: int = 0
    _row_metrics: dict[str, RunMetrics | None] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def finished(self) -> list[Record]:
        """The runs that have metrics."""
        return [record for record in self.records if record.status == "ok"]

    @property
    def key(self) -> tuple[str, str]:
        """Method and classifier as in leaderboards; the classifier is empty where there is none."""
        return self.method, "" if self.classifier == NO_CLASSIFIER else self.classifier

    @property
    def label(self) -> str:
        """Method and classifier by their keys."""
        return self.method if self.classifier == NO_CLASSIFIER else f"{self.method} + {self.classifier}"

    @property
    def title(self) -> str:
        """The display name of the method and classifier."""
        return run_name(self.method, self.classifier)

    @property
    def filter_name(self) -> str:
        """The display name of the method, by which a page filters."""
        return method_name(self.method)

    @property
    def state(self) -> str:
        """Placeholder of a number in a table: a dash where no such number was measured."""
        if self.finished:
            return "–"
        return self.records[0].status.replace("_", " ") if self.records else "no record"

    def estimate(self, metric: str) -> Estimate | None:
        """Return mean and interval of a metric over the finished seeds; None when no seed has it."""
        if not (records := self._having(metric)):
            return None
        values = self._values(records, metric)
        if (found := self.row_metrics(metric)) is None:
            return estimate(metric, **values, overlap=self.overlap)
        interval = mean_interval(found.by_seed, test_rows=found.test_rows, groups=found.groups)
        kind = ROWS_AND_SPLITS
        if found.test_rows is None:
            is_share = next(iter(found.by_seed.values())).is_share
            of_one_run = OVER_ROWS if is_share else ROWS_OF_ONE_RUN
            kind = ROWS_AND_SEEDS if len(records) > 1 and not records[0].deterministic else of_one_run
        low, high = within_range(metric, interval.low, interval.high, values["n_test"])
        return Estimate(math.fsum(values["values"]) / len(records), low, high, len(records), kind)

    def prediction(self, metric: str) -> tuple[float, float] | None:
        """Return the interval of one further run, by the values of the finished seeds; None without any."""
        records = self._having(metric)
        return prediction_interval(metric, **self._values(records, metric)) if records else None

    def _values(self, records: Sequence[Record], metric: str) -> dict[str, Any]:
        info = records[0].dataset_info
        return {
            "values": [record.metrics[metric] for record in records],
            "deterministic": all(record.deterministic for record in records),
            "n_test": self.n_tested or (info.n_test if info else None),
        }

    def _having(self, metric: str) -> list[Record]:
        return [record for record in self.finished if metric in record.metrics]

    def row_metrics(self, metric: str) -> RunMetrics | None:
        """Return the contributions of test rows to a metric; None where predictions do not give it."""
        if metric not in self._row_metrics:
            records, found = self._having(metric), None
            if self.results_dir is not None and self.classifier != NO_CLASSIFIER and records:
                found = read_run_metrics(self.results_dir, records, metric)
            self._row_metrics[metric] = found
        return self._row_metrics[metric]

    def seeds_note(self, metric: str = "") -> str:
        """Say how many planned seeds have a metric, or any, as ``3 of 5 seeds``; empty for all or none."""
        n_seeds = len(self._having(metric) if metric else self.finished)
        return f"{n_seeds} of {self.n_planned} seeds" if 0 < n_seeds < self.n_planned else ""

    def mean(self, value: Callable[[Record], float | None]) -> float | None:
        """Return the mean of a number over the finished seeds that have it."""
        found = [number for record in self.finished if (number := value(record)) is not None]
        return sum(found) / len(found) if found else None

    @cached_property
    def costs(self) -> dict[str, float | None]:
        """Means over the finished seeds: dimension, seconds, MiB of memory, bytes of the model."""
        timed = (f"{part}_seconds" for part in ("fit", "train", "predict", "search"))
        costs = {name: self.mean(attrgetter(name)) for name in ("dimension", "peak_rss_mb", *timed)}
        size = self.mean(lambda run: run.model.bytes if run.model else None)
        return {**costs, "seconds": self.mean(total_seconds), "model_bytes": size}

    def why_not(self, metric: str) -> str:
        """Say in one line why there is no value of a metric."""
        if self.finished:
            return f"its records have no metric {metric!r}"
        return reason(self.records[0]) if self.records else "no record yet"


def reason(record: Record, limit: int = 200) -> str:
    """Say in one line why a run has no metrics."""
    if record.failure is None:
        return f"{record.status.replace('_', ' ')}, no reason recorded"
    text = " ".join(record.failure.message.split())
    if record.status == "failed":
        text = f"failed in {record.failure.stage}: {record.failure.type}: {text}"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def failed_sizes(record: Record) -> list[int]:
    """Return the sizes at which a method could not be fitted, of a run that measures several."""
    return [int(name.removeprefix("failed_at_")) for name in record.metrics if name.startswith("failed_at_")]


def total_seconds(record: Record) -> float | None:
    """Return the time to fit the embedding and train the classifier, where there is one; None if unknown."""
    if record.classifier == NO_CLASSIFIER:
        return record.fit_seconds
    if record.fit_seconds is None or record.train_seconds is None:
        return None
    return record.fit_seconds + record.train_seconds


#: The groups of each experiment, by the names of its suite and its own.
Groups = dict[tuple[str, str], list[RunGroup]]


def group_runs(
    plans: Iterable[SuitePlan], records: Iterable[Record], *, results_dir: Path | None = None
) -> Groups:
    """Group records by (suite, experiment), in the order of the suite files; every planned group is there.

    Groups that only records know come after the planned ones, by name; records of other suites or
    experiments are left out. Without ``results_dir`` statistics rest on the records, not on predictions.
    """
    by_key: dict[tuple[str, str], dict[tuple[str, str], list[Record]]] = {}
    for record in sorted(records, key=attrgetter("method", "classifier", "seed", "run_key")):
        of_experiment = by_key.setdefault((record.suite, record.experiment), {})
        of_experiment.setdefault((record.method, record.classifier), []).append(record)
    by_experiment: Groups = {}
    for plan in plans:
        experiments = plan.suite.experiments
        of_suite = {name: by_key.get((plan.suite.name, name), {}) for name in experiments}
        methods = [[*spec.methods, *(key[0] for key in of_suite[name])] for name, spec in experiments.items()]
        colours = method_colours([list(dict.fromkeys(names)) for names in methods])
        for name, known in of_suite.items():
            shared = {"results_dir": results_dir, **_test_rows(plan, name)}
            by_experiment[plan.suite.name, name] = [
                RunGroup(*pair, tuple(known.get(pair, ())), planned, colour=colours[pair[0]], **shared)
                for pair, planned in _planned_seeds(plan, name, known).items()
            ]
    return by_experiment


def _planned_seeds(
    plan: SuitePlan, experiment: str, known: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return how many seeds are planned of each method and classifier, also of those that are only known."""
    planned = {
        (method.spec.method, classifier): len(method.seeds)
        for method in plan.of(experiment)
        for classifier in method.classifiers
    }
    n_seeds = len(plan.suite.experiments[experiment].seeds)
    return dict.fromkeys([*planned, *known], n_seeds) | planned


def _test_rows(plan: SuitePlan, experiment: str) -> dict[str, Any]:
    """Return what the groups of an experiment share, by the names of `RunGroup`'s fields."""
    spec = plan.suite.experiments[experiment]
    catalogue, settings = catalogue_of(plan.suite), spec.protocol_settings
    entry = catalogue.entry(spec.dataset)
    if isinstance(settings, TransferSettings):
        overlap = _target_overlap(settings, catalogue.entry(settings.target or spec.dataset))
    else:
        method = plan.of(experiment)[0]
        overlap = _overlap(method.spec, entry, len(method.seeds))
    return {
        "overlap": overlap,
        "synthetic": entry.format.reader == "planted_labels",
        "n_tested": settings.n_tested() if settings else None,
    }


def is_crowded(groups: Sequence[RunGroup]) -> bool:
    """Return whether an experiment has more methods than there are colours."""
    return len({group.method for group in groups}) > N_COLOURS


def method_colours(experiments: Sequence[list[str]]) -> dict[str, int]:
    """Number the colours of a suite's methods, different within each experiment as far as colours suffice.

    Methods that are only in experiments with more methods than colours all have the first.
    """
    small = sorted((methods for methods in experiments if len(methods) <= N_COLOURS), key=len)
    found: dict[str, int] = {}
    for method in dict.fromkeys(chain.from_iterable(small)):
        beside = chain.from_iterable(methods for methods in small if method in methods)
        used = Counter(found.get(other) for other in beside)
        found[method] = min(range(N_COLOURS), key=used.__getitem__)
    return dict.fromkeys(chain.from_iterable(experiments), 0) | found


def _overlap(spec: JobSpec, entry: CatalogueEntry, n_seeds: int) -> float:
    """Return the share of their test rows that two seeds have in common; 0 where a protocol draws anew."""
    classes = spec.classes / entry.expect.classes if spec.classes else 1.0
    if not spec.split_drawn:
        return 0.0 if spec.protocol else classes
    if isinstance(entry.split, FoldSplit):  # those of one repetition share none
        return classes * max(0.0, n_seeds / entry.split.n_folds - 1) / max(1, n_seeds - 1)
    rows = entry.expect.rows
    pool = rows["test"] if isinstance(entry.split, SampledSplit) else sum(rows.values())
    return classes * entry.n_test / pool if entry.n_test else 0.0


def _target_overlap(settings: TransferSettings, entry: CatalogueEntry) -> float:
    """Return the share of their test rows that two target tasks share; drawn classes count with all rows."""
    rows, n_classes = entry.expect.rows, entry.expect.classes
    if settings.target or settings.by_part:
        return min(1.0, settings.n_tested() / rows["test"])
    if settings.target_names:
        return min(1.0, settings.target_per_class * n_classes / sum(rows.values()))
    return settings.target_classes / n_classes


def headline_direction(experiment: ExperimentSpec) -> bool:
    """Return whether a smaller headline metric is better: as the published numbers say, else by its name."""
    for number in experiment.published:
        if number.metric == experiment.headline:
            return published_direction(number)
    return lower_is_better(experiment.headline)


def published_direction(number: PublishedNumber) -> bool:
    """Return whether a smaller number is better: as the suite says, else by the name of the metric."""
    said = "lower_is_better" in number.model_fields_set
    return number.lower_is_better if said else lower_is_better(number.metric)


def status_counts(groups: Iterable[RunGroup]) -> dict[str, int]:
    """Count runs: ok, failed, not run, planned without a record, and those whose result is doubtful."""
    counts = {"ok": 0, "failed": 0, "not run": 0, "no record": 0, "doubtful": 0}
    for group in groups:
        counts["no record"] += group.n_planned - len(group.records)
        for record in group.records:
            counts[record.status.replace("_", " ")] += 1
            counts["doubtful"] += bool(record.warnings)
    return counts
