"""The seeds of a method and classifier together: mean, interval, published value, verdict, rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.estimates import Estimate
from eigenbench.reporting.formatting import MetricStyle, lower_is_better, metric_style
from eigenbench.reporting.leaderboard import standings
from eigenbench.reporting.published import PublishedComparison, compare_all_published
from eigenbench.reporting.replicates import RunGroup, group_runs, headline_direction
from eigenbench.tracking.suite_store import SUMMARY, Key


@dataclass(frozen=True)
class Summary:
    """The runs of one method and classifier of an experiment, and their place on its leaderboard.

    ``published`` has the numbers of papers that these runs answer, and ``place`` the
    `eigenbench.reporting.leaderboard.STANDINGS`; without a rank it is not ``tied`` or not.
    """

    key: Key
    runs: RunGroup
    headline: str
    lower: bool
    published: tuple[PublishedComparison, ...]
    place: Mapping[str, Any]

    @property
    def style(self) -> MetricStyle:
        """Format of the headline metric."""
        return metric_style(self.headline)

    @cached_property
    def estimate(self) -> Estimate | None:
        """Mean and interval of the headline metric."""
        return self.runs.estimate(self.headline)

    @property
    def reference(self) -> PublishedComparison | None:
        """The first published number on the headline metric."""
        return next((row for row in self.published if row.number.metric == self.headline), None)

    @property
    def tags(self) -> dict[str, str | None]:
        """The words beside the numbers; ``status`` is ok when all seeds have finished."""
        found, number, best = self.estimate, self.reference, self.best
        return {
            "dataset": self.runs.records[0].dataset,
            "metric": self.style.heading,
            "status": self.runs.seeds_note() or "ok" if self.runs.finished else self.runs.state,
            "interval": self.style.interval(found.low, found.high) or None if found else None,
            "verdict": number.verdict.split(":")[0].split(" (")[0] if number else None,
            "tie_group": {True: "best", False: "behind"}.get(self.place["tied"]),
            "compared_over": self.place["compared_over"],
            "published_in": number.number.source if number else None,
            "best_run": best.run_key if best else None,
        }

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers by short names, in the units in which they are shown, with six digits."""
        found, number, place = self.estimate, self.reference, self.place
        values = {"mean": found.mean, "ci_low": found.low, "ci_high": found.high} if found else {}
        values |= {"published": number.number.value} if number else {}
        values = {name: self.style.scale * value for name, value in values.items() if value is not None}
        values |= {"rank": place["rank"], "tied": place["tied"], "tie_p": place["p_value"]}
        values |= {"seeds": len(self.runs.finished)} | self.costs
        return {name: float(f"{float(value):.6g}") for name, value in values.items() if value is not None}

    @property
    def costs(self) -> dict[str, float | None]:
        """Means of time, size and memory by short names."""
        costs, size = self.runs.costs, self.runs.costs["model_bytes"]
        return {
            "train_s": costs["seconds"],
            "predict_s": costs["predict_seconds"],
            "features": costs["dimension"],
            "memory_mib": costs["peak_rss_mb"],
            "model_kb": size and size / 1000,
        }

    @cached_property
    def best(self) -> Record | None:
        """The run whose model is kept: best on validation rows where there are any, else by the headline."""
        names = dict.fromkeys(name for record in self.runs.finished for name in record.metrics)
        chosen_by = next((name for name in names if name.startswith("validation_")), self.headline)
        lower = self.lower if chosen_by == self.headline else lower_is_better(chosen_by)
        return min(
            (record for record in self.runs.finished if record.model and chosen_by in record.metrics),
            key=lambda record: ((1 if lower else -1) * record.metrics[chosen_by], record.seed),
            default=None,
        )


def summarize(
    experiment: str, plan: SuitePlan | None, records: Sequence[Record], results_dir: Path
) -> list[Summary]:
    """Summarize the records of an experiment by method and classifier, with the predictions of a folder."""
    spec = plan.suite.experiments.get(experiment) if plan else None
    comparisons: list[PublishedComparison] = []
    if plan and spec:
        planned = group_runs([plan], records, results_dir=results_dir)
        groups = planned[plan.suite.name, experiment]
        comparisons = compare_all_published([plan.suite], planned)
    else:
        groups = _groups_of(records)
    headline, lower = _headline(spec, records)
    places = standings(groups, headline, lower=lower).astype(object)
    places["tied"] = places["tied"].where(places["rank"].notna())
    return [
        Summary(
            Key(SUMMARY, experiment, group.method, group.classifier),
            group,
            headline,
            lower,
            tuple(row for row in comparisons if row.group is group),
            place,
        )
        for group, place in zip(groups, places.where(places.notna(), None).to_dict("records"), strict=True)
        if group.records
    ]


def _groups_of(records: Sequence[Record]) -> list[RunGroup]:
    """Group the records of a suite that is not at hand; the seeds of one method are planned for all."""
    n_seeds = len({record.seed for record in records})
    found: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: record.seed):
        found.setdefault((record.method, record.classifier), []).append(record)
    return [RunGroup(*names, tuple(of), n_seeds) for names, of in sorted(found.items())]


def _headline(spec: ExperimentSpec | None, records: Iterable[Record]) -> tuple[str, bool]:
    if spec is not None:
        return spec.headline, headline_direction(spec)
    names = {name for record in records for name in record.metrics}
    headline = "test_error" if "test_error" in names or not names else min(names)
    return headline, lower_is_better(headline)
