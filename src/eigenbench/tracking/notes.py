"""Descriptions of suites, experiments and methods in the dashboard, as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.formatting import probability, seconds
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.tracking.summaries import Summary, by_rank

_MOST_ROWS = 30


def run_link(experiment_id: str, run_id: str, page: str = "") -> str:
    """Return the address of a run below that of the dashboard, which opens on model training."""
    return f"#/experiments/{experiment_id}/runs/{run_id}{page}?workflowType=machine_learning"


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    rows = [
        (name, spec.title or "", spec.dataset, "; ".join(_sources_of(spec)) or "–")
        for name, spec in suite.experiments.items()
    ]
    return "\n\n".join(
        [
            f"**{suite.title}**",
            *filter(None, [suite.description.strip()]),
            _table(("experiment", "what", "dataset", "published in"), rows),
            f"Run it: `snakemake {shlex.quote(suite.name)}`",
            _report_places(suite.name, reports_dir),
        ]
    )


def overview_note(
    experiment: str, suite: str, spec: ExperimentSpec | None, summaries: Sequence[Summary], reports_dir: Path
) -> str:
    """Describe an experiment: all its methods by rank, with published values and verdicts."""
    first = summaries[0]
    rows = [
        (
            "–" if item.rank is None else f"{item.rank}{' =' * bool(item.tied)}",
            item.runs.label,
            item.style.measured(item.estimate.mean if item.estimate else None),
            item.interval or "",
            item.style.exact(item.reference.number.value) if item.reference else "",
            item.verdict or "",
            seconds(item.runs.mean(total_seconds)),
        )
        for item in by_rank(summaries)
    ]
    columns = ("95 % interval", "published", "verdict", "fit + train (s)")
    return "\n\n".join(
        [
            f"**{(spec.title if spec else None) or experiment}**",
            *[f"Published in: {source}" for source in _sources_of(spec)],
            _table(("rank", "method", first.style.heading, *columns), rows),
            f"{'Lower' if first.lower else 'Higher'} is better. A rank is that of the mean over all seeds; = "
            "marks what cannot be distinguished from the best at 5 %.",
            f"Run it: `snakemake {shlex.quote(suite)}`",
            _report_places(suite, reports_dir),
        ]
    )


def summary_note(
    summary: Summary,
    results_dir: Path,
    reports_dir: Path,
    run_links: Mapping[str, str],
    model_uri: str | None,
) -> str:
    """Describe a method and classifier: what its seeds gave, beside published numbers, and how to repeat it.

    ``run_links`` has the address of each run's record in the dashboard by its run key.
    """
    records = summary.runs.records
    style, found = summary.style, summary.estimate
    # MLflow folds all but the first lines.
    command = f"Run it: `snakemake {_target(records, results_dir)}`"
    parts = [f"**{summary.runs.label} on {records[0].dataset}**", command]
    if found is not None:
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        interval = f", 95 % interval {summary.interval} ({found.interval})" if summary.interval else ""
        parts.append(f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}{interval}")
    if summary.tie_group:
        parts.append(_standing(summary))
    if summary.published:
        columns = ("published in", "metric", "published", "measured", "verdict")
        parts.append(_table(columns, map(_published, summary.published)))
    rows = [
        (
            str(record.seed),
            style.measured(record.metrics.get(summary.headline)) if record.status == "ok" else reason(record),
            seconds(total_seconds(record)),
            f"[record.json]({run_links[record.run_key]})",
        )
        for record in records[:_MOST_ROWS]
    ]
    parts.append(_table(("seed", style.heading, "fit + train (s)", "record"), rows))
    parts.append(_report_places(records[0].suite, reports_dir))
    if model_uri:
        parts.append(f"Serve its best model: `mlflow models serve -m {model_uri} --env-manager local`")
    return "\n\n".join(parts)


def _standing(summary: Summary) -> str:
    if summary.rank == 1:
        return f"Rank **1**: the best. Compared over {summary.compared_over}."
    if summary.tied is None:
        return f"Rank **{summary.rank}**. Too few splits or seeds to compare it with the best."
    place = "cannot be distinguished from the best" if summary.tied else "is behind the best"
    p_value = "" if summary.tie_p_value is None else f", p {probability(summary.tie_p_value)}"
    return f"Rank **{summary.rank}**: {place}. Compared over {summary.compared_over}{p_value}."


def _published(row: PublishedComparison) -> tuple[str, ...]:
    number = row.number
    published = f"{number.value:.10g}"
    measured = "–" if row.estimate is None else f"{row.estimate.mean:.6g}"
    return number.source, number.metric.replace("_", " "), published, measured, row.verdict


def _target(records: Sequence[Record], results_dir: Path) -> str:
    """Return the shell's words for the record files of all seeds."""
    first = records[0]
    seeds = [str(record.seed) for record in records]
    folder = results_dir / first.suite / first.experiment / first.method / "seed-"
    all_seeds = seeds[0] if len(seeds) == 1 else f"{{{','.join(seeds)}}}"
    rest = within_method("", first.classifier).removeprefix("seed-")
    return f"{shlex.quote(str(folder))}{all_seeds}{shlex.quote(f'{rest}/record.json')}"


def _report_places(suite: str, reports_dir: Path) -> str:
    """Name the report of a suite: in its own folder when it was asked for by name."""
    asked = f"`{reports_dir / suite / 'index.html'}` after `snakemake {shlex.quote(suite)}`"
    return f"Report: {asked}, `{reports_dir / 'index.html'}` after `snakemake`"


def _sources_of(spec: ExperimentSpec | None) -> list[str]:
    """Return where the numbers of an experiment were published, each place once."""
    return list(dict.fromkeys(number.source for number in spec.published)) if spec else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
