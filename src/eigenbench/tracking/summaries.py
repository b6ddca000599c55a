"""What the seeds of a method and classifier say together: mean, interval, published value, verdict, rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eigenbench.bench.jobs.plan import plan_suite
from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.reporting.estimates import Estimate
from eigenbench.reporting.formatting import MetricStyle, lower_is_better, metric_style
from eigenbench.reporting.leaderboard import standings
from eigenbench.reporting.published import PublishedComparison, compare_published
from eigenbench.reporting.replicates import RunGroup, group_runs, headline_direction, total_seconds
from eigenbench.tracking.suite_store import Group

#: A method and classifier is as good as the worst of its verdicts.
_VERDICTS = ("off", "reproduced", "better")
_USUAL_HEADLINE = "test_error"


@dataclass(frozen=True)
class Summary:
    """The runs of one method and classifier of an experiment.

    Attributes
    ----------
    group : Group
        What is summarized.
    runs : RunGroup
        Its records, at least one.
    headline : str
        The metric that ``estimate`` is of.
    lower : bool
        Whether less of it is better.
    estimate : Estimate or None
        Mean and interval; None where no seed has the metric.
    published : tuple of PublishedComparison
        The numbers of papers that these runs answer.
    rank : int or None
        1 for the best mean, over all seeds, of the experiment; equal means share a rank.
    tied : bool or None
        Whether it is in the tie group of the best, as in the leaderboard; None where that is unknown.
    tie_p_value : float or None
        Of the test behind ``tied``.
    compared_over : str or None
        What ``tied`` rests on; None where nothing was compared.
    """

    group: Group
    runs: RunGroup
    headline: str
    lower: bool
    estimate: Estimate | None
    published: tuple[PublishedComparison, ...]
    rank: int | None
    tied: bool | None
    tie_p_value: float | None
    compared_over: str | None

    @property
    def style(self) -> MetricStyle:
        """How the headline metric is shown."""
        return metric_style(self.headline)

    @property
    def verdict(self) -> str | None:
        """The worst verdict on its published numbers; None where there are none."""
        outcomes = {row.outcome for row in self.published}
        worst = next((verdict for verdict in _VERDICTS if verdict in outcomes), None)
        return worst or ("not run" if self.published else None)

    @property
    def reference(self) -> PublishedComparison | None:
        """The first published number on the headline metric."""
        return next((row for row in self.published if row.number.metric == self.headline), None)

    @property
    def state(self) -> str:
        """``ok`` when all seeds have finished, else how many have, or why none has."""
        return self.runs.finished_note or "ok" if self.runs.finished else self.runs.state

    @property
    def tie_group(self) -> str | None:
        """``best`` for the best and what cannot be told from it, else ``behind``; None if unknown."""
        return None if self.rank is None or self.tied is None else "best" if self.tied else "behind"

    @property
    def interval(self) -> str | None:
        """The 95 % interval of the mean as text, where the data give one."""
        found = self.estimate
        return self.style.interval(found.low, found.high) or None if found else None

    @property
    def tags(self) -> dict[str, str | None]:
        """The words beside the numbers."""
        sources = dict.fromkeys(row.number.source for row in self.published)
        return {
            **self.group._asdict(),
            "dataset": self.runs.records[0].dataset,
            "metric": self.style.heading,
            "status": self.state,
            "interval": self.interval,
            "verdict": self.verdict,
            "tie_group": self.tie_group,
            "compared_over": self.compared_over,
            "published_in": "; ".join(sources) or None,
            "best_run": self.best.run_key if self.best else None,
        }

    @property
    def metrics(self) -> dict[str, float]:
        """The numbers by short names, in the units in which they are shown, with six digits."""
        found, number = self.estimate, self.reference
        costs = self.runs.costs
        scale = self.style.scale
        values = {
            "mean": None if found is None else scale * found.mean,
            "ci_low": None if found is None or found.low is None else scale * found.low,
            "ci_high": None if found is None or found.high is None else scale * found.high,
            "published": None if number is None else scale * number.number.value,
            "rank": self.rank,
            "tied": None if self.tie_group is None else float(self.tie_group == "best"),
            "tie_p": self.tie_p_value,
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
    experiment: str, suite: Suite | None, records: Sequence[Record], *, results_dir: Path | None = None
) -> list[Summary]:
    """Summarize the records of an experiment, a summary for each method and classifier that has any.

    Parameters
    ----------
    experiment : str
        Its name.
    suite : Suite or None
        The suite that the records are of, for headline, planned seeds and published numbers. None, or one
        that lacks the experiment, where the suite's file is not at hand.
    records : sequence of Record
        All of one suite and of the experiment.
    results_dir : Path, optional
        The folder with the predictions of the runs, for the statistics of the report; without it, and where
        some are elsewhere, they rest on the values of the seeds.
    """
    if not records:
        return []
    spec = suite.experiments.get(experiment) if suite else None
    comparisons: list[PublishedComparison] = []
    if suite is not None and spec is not None:
        groups = group_runs([plan_suite(suite, catalogue_of(suite))], records, results_dir=results_dir)[
            suite.name, experiment
        ]
        comparisons = compare_published(suite, experiment, groups)
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
            **{name: place[name] for name in ("rank", "tied", "tie_p_value", "compared_over")},
        )
        for group, place in zip(groups, places.to_dict("records"), strict=True)
        if group.records
    ]


def by_rank(summaries: Iterable[Summary]) -> list[Summary]:
    """Return summaries by rank, those without a rank last."""
    return sorted(summaries, key=lambda item: (item.rank is None, item.rank, item.runs.label))


def _groups_of(records: Iterable[Record]) -> list[RunGroup]:
    found: dict[tuple[str, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: record.seed):
        found.setdefault((record.method, record.classifier), []).append(record)
    return [RunGroup(*names, tuple(of), len(of)) for names, of in sorted(found.items())]


def _headline(spec: ExperimentSpec | None, records: Iterable[Record]) -> tuple[str, bool]:
    if spec is not None:
        return spec.headline, headline_direction(spec)
    names = dict.fromkeys(name for record in records for name in record.metrics)
    headline = _USUAL_HEADLINE if _USUAL_HEADLINE in names else min(names, default=_USUAL_HEADLINE)
    return headline, lower_is_better(headline)
