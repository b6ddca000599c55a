"""What the dashboard says in words of experiments and runs, as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.formatting import probability, seconds
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.tracking.suite_notes import report_places, sources_of, table
from eigenbench.tracking.summaries import Summary

_MOST_ROWS = 30
_HEADING = ("95 % interval", "published", "verdict", "fit + train (s)")


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
            item.style.interval(item.estimate.low, item.estimate.high) if item.estimate else "",
            item.style.exact(item.reference.number.value) if item.reference else "",
            item.verdict or "",
            seconds(item.runs.mean(total_seconds)),
        )
        for item in sorted(summaries, key=lambda item: (item.rank is None, item.rank, item.runs.label))
    ]
    heading = (
        "rank",
        "method",
        first.style.heading,
        "95 % interval",
        "published",
        "verdict",
        "fit + train (s)",
    )
    direction = "Lower" if first.lower else "Higher"
    return "\n\n".join(
        [
            f"**{(spec.title if spec else None) or experiment}**",
            *[f"Published in: {source}" for source in sources_of(spec)],
            table(heading, rows),
            f"{direction} is better. A rank is that of the mean over all seeds; = marks what cannot be "
            "distinguished from the best at 5 %.",
            f"Run it: `snakemake {shlex.quote(suite)}`",
            report_places(suite, reports_dir),
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

    Parameters
    ----------
    summary : Summary
        What was measured.
    results_dir, reports_dir : Path
        Where records and reports are.
    run_links : mapping of str to str
        Run key to the address of the run in the dashboard.
    model_uri : str or None
        The address of its best model.
    """
    records = summary.runs.records
    suite = records[0].suite
    style, found = summary.style, summary.estimate
    # MLflow folds all but the first lines.
    command = f"Run it: `snakemake {_target(records, results_dir)}`"
    parts = [f"**{summary.runs.label} on {records[0].dataset}**", command]
    if found is not None:
        interval = style.interval(found.low, found.high)
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        parts.append(
            f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}"
            + (f", 95 % interval {interval} ({found.interval})" if interval else "")
        )
    if summary.tie_group:
        parts.append(_standing(summary))
    if summary.published:
        parts.append(_published(summary))
    parts += [
        table(("seed", style.heading, "fit + train (s)", "record"), _seed_rows(summary, run_links)),
        report_places(suite, reports_dir),
    ]
    if model_uri:
        parts.append(f"Serve its best model: `mlflow models serve -m {model_uri} --env-manager local`")
    return "\n\n".join(parts)


def _standing(summary: Summary) -> str:
    if summary.rank == 1:
        return f"Rank **1**: the best. Compared over {summary.compared_over}."
    told = "cannot be distinguished from the best" if summary.tied else "is behind the best"
    p_value = "" if summary.tie_p_value is None else f", p {probability(summary.tie_p_value)}"
    return f"Rank **{summary.rank}**: {told}. Compared over {summary.compared_over}{p_value}."


def _published(summary: Summary) -> str:
    rows = [
        (
            row.number.source,
            row.number.metric.replace("_", " "),
            f"{row.number.value:.10g} ± {row.number.tolerance:.10g}",
            "–" if row.estimate is None else f"{row.estimate.mean:.6g}",
            row.verdict,
        )
        for row in summary.published
    ]
    return table(("published in", "metric", "published", "measured", "verdict"), rows)


def _seed_rows(summary: Summary, run_links: Mapping[str, str]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for record in summary.runs.records[:_MOST_ROWS]:
        value = record.metrics.get(summary.headline)
        link = run_links.get(record.run_key)
        rows.append(
            (
                str(record.seed),
                summary.style.measured(value) if record.status == "ok" else reason(record),
                seconds(total_seconds(record)),
                f"[record.json]({link})" if link else "",
            )
        )
    return rows


def _target(records: Sequence[Record], results_dir: Path) -> str:
    """Return the shell's words for the record files of all seeds."""
    first = records[0]
    seeds = [str(record.seed) for record in records]
    folder = results_dir / first.suite / first.experiment / first.method / "seed-"
    all_seeds = seeds[0] if len(seeds) == 1 else f"{{{','.join(seeds)}}}"
    rest = within_method("", first.classifier).removeprefix("seed-")
    return f"{shlex.quote(str(folder))}{all_seeds}{shlex.quote(f'{rest}/record.json')}"
