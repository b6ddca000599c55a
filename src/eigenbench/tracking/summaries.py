"""The seeds of a method and classifier together: mean, interval, published value, verdict, rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.formatting import MetricStyle, lower_is_better, metric_style
from eigenbench.reporting.leaderboard import standings
from eigenbench.reporting.published import PublishedComparison, compare_published
from eigenbench.reporting.replicates import Estimate, RunGroup, group_runs, headline_direction, total_seconds
from eigenbench.tracking.suite_store import Group

_USUAL_HEADLINE = "test_error"


@dataclass(frozen=True)
class Summary:
    """The runs of one method and classifier of an experiment, and their place on its leaderboard.

    ``estimate`` is that of ``headline``, of which less is better where ``lower`` is true. ``published`` has
    the numbers of papers that these runs answer, and ``reference`` the first of them on the headline metric.
    """

    group: Group
    runs: RunGroup
    headline: str
    lower: bool
    estimate: Estimate | None
    published: tuple[PublishedComparison, ...]
    rank: int | None
    tied: bool | None
    p_value: float | None
    compared_over: str | None

    @property
    def style(self) -> MetricStyle:
        """Format of the headline metric."""
        return metric_style(self.headline)

    @property
    def reference(self) -> PublishedComparison | None:
        """The first published number on the headline metric."""
        return next((row for row in self.published if row.number.metric == self.headline), None)

    @property
    def verdict(self) -> str | None:
        """The verdict on that number; None without one."""
        return None if self.reference is None else self.reference.outcome or "not run"

    @property
    def interval(self) -> str | None:
        """The 95 % interval of the mean as text, where the data give one."""
        found = self.estimate
        return self.style.interval(found.low, found.high) or None if found else None

    @property
    def tie_group(self) -> str | None:
        """``best`` for the best and all that cannot be distinguished from it, else ``behind``."""
        return None if self.rank is None or self.tied is None else "best" if self.tied else "behind"

    @property
    def tags(self) -> dict[str, str | None]:
        """The words beside the numbers; ``status`` is ok when all seeds have finished."""
        state = self.runs.finished_note or "ok" if self.runs.finished else self.runs.state
        return {
            "dataset": self.runs.records[0].dataset,
            "metric": self.style.heading,
            "status": state,
            "interval": self.interval,
            "verdict": self.verdict,
            "tie_group": self.tie_group,
            "compared_over": self.compared_over,
            "published_in": self.reference.number.source if self.reference else None,
            "best_run": self.best.run_key if self.best else None,
        }

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers by short names, in the units in which they are shown, with six digits."""
        found, number, costs = self.estimate, self.reference, self.runs.costs
        in_unit = {
            "mean": found and found.mean,
            "ci_low": found and found.low,
            "ci_high": found and found.high,
            "published": number and number.number.value,
        }
        values = {name: value and self.style.scale * value for name, value in in_unit.items()}
        values |= {
            "rank": self.rank,
            "tied": None if self.tie_group is None else float(self.tie_group == "best"),
            "tie_p": self.p_value,
            "seeds": len(self.runs.finished),
            "train_s": self.runs.mean(total_seconds),
            "predict_s": costs["predict_seconds"],
            "features": costs["dimension"],
            "memory_mib": costs["peak_rss_mb"],
            "model_kb": costs["model_kb"],
        }
        return {name: float(f"{value:.6g}") for name, value in values.items() if value is not None}

    @property
    def best(self) -> Record | None:
        """The run whose model is kept: best on validation rows where there are any, else by the headline."""
        names = dict.fromkeys(name for record in self.runs.finished for name in record.metrics)
        chosen_by = next((name for name in names if name.startswith("validation_")), self.headline)
        lower = self.lower if chosen_by == self.headline else lower_is_better(chosen_by)
        candidates = [
            (record.metrics[chosen_by] if lower else -record.metrics[chosen_by], record.seed, record)
            for record in self.runs.finished
            if record.model and chosen_by in record.metrics
        ]
        return min(candidates, key=lambda found: found[:2])[2] if candidates else None


def summarize(
    experiment: str, plan: SuitePlan | None, records: Sequence[Record], results_dir: Path
) -> list[Summary]:
    """Summarize the records of an experiment, a summary for each method and classifier that has any.

    The plan of their suite, where its file is at hand, gives headline, planned seeds and published numbers;
    the results folder has the predictions, for the statistics of the report.
    """
    spec = plan.suite.experiments.get(experiment) if plan else None
    comparisons: list[PublishedComparison] = []
    if plan and spec:
        groups = group_runs([plan], records, results_dir=results_dir)[plan.suite.name, experiment]
        comparisons = compare_published(plan.suite, experiment, groups)
    else:
        groups = _groups_of(records)
    headline, lower = _headline(spec, records)
    places = standings(groups, headline, lower=lower).astype(object)
    places = places.where(places.notna(), None)
    return [
        Summary(
            Group(experiment, group.method, group.classifier),
            group,
            headline,
            lower,
            group.estimate(headline),
            tuple(row for row in comparisons if row.group is group),
            **{name: place[name] for name in ("rank", "tied", "p_value", "compared_over")},
        )
        for group, place in zip(groups, places.to_dict("records"), strict=True)
        if group.records
    ]


def by_rank(summaries: Iterable[Summary]) -> list[Summary]:
    """Return summaries by rank, those without a rank last."""
    return sorted(summaries, key=lambda item: (item.rank is None, item.rank, item.runs.label))


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
    names = dict.fromkeys(name for record in records for name in record.metrics)
    headline = _USUAL_HEADLINE if _USUAL_HEADLINE in names else min(names, default=_USUAL_HEADLINE)
    return headline, lower_is_better(headline)
