"""Descriptions of suites, experiments and methods in the dashboard, as Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.formatting import probability, seconds
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.tracking.suite_store import Group
from eigenbench.tracking.summaries import Summary, by_rank

_MOST_ROWS = 30
_PUBLISHED = ("published in", "metric", "published", "measured", "verdict")


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    rows = [
        (name, spec.title or "", spec.dataset, "; ".join(_sources_of(spec)) or "–")
        for name, spec in suite.experiments.items()
    ]
    return "\n\n".join(
        [
            f"**{escaped(suite.title)}**",
            *(escaped(paragraph) for paragraph in suite.description.strip().split("\n\n")),
            _table(("experiment", "title", "dataset", "published in"), [map(escaped, row) for row in rows]),
            f"Run it: {_code(f'snakemake {shlex.quote(suite.name)}')}",
            _report_places(suite.name, reports_dir),
        ]
    )


def run_note(record: Record, path: Path) -> str:
    """Describe one run: what became of it, and the command that makes it again."""
    parts = []
    if failure := record.failure:
        reason = f"{failure.stage}: {failure.type}: {failure.message}"
        parts.append(f"**{record.status}** {escaped(reason)}")
    parts.append(f"Run it again: {_code(f'snakemake --force {shlex.quote(str(path))}')}")
    parts.append("Its record is `record.json` among the artifacts.")
    return "\n\n".join(parts)


def overview_note(
    experiment: str,
    suite: str,
    spec: ExperimentSpec | None,
    summaries: Sequence[Summary],
    links: Mapping[Group, str],
    reports_dir: Path,
) -> str:
    """Describe an experiment: all its methods by rank, and each published number with its verdict.

    ``links`` has the addresses of the summaries.
    """
    first, methods, published = summaries[0], methods_table(summaries), published_table(summaries)
    names = {item.runs.label: f"[{escaped(item.runs.label)}]({links[item.group]})" for item in summaries}
    columns, *rows = ([line[0], names.get(line[1], line[1]), *line[2:7]] for line in methods)
    numbers = [[names.get(line[0], line[0]), *map(escaped, line[1:])] for line in published]
    return "\n\n".join(
        [
            f"**{escaped((spec.title if spec else None) or experiment)}**",
            *[f"Published in: {escaped(source)}" for source in _sources_of(spec)],
            _table(columns, rows),
            f"{'Lower' if first.lower else 'Higher'} is better. Methods are ranked by their mean over seeds. "
            "Those with = cannot be distinguished from the best (5 % level).",
            *([_table(numbers[0], numbers[1:])] if numbers[1:] else []),
            f"Run it: {_code(f'snakemake {shlex.quote(suite)}')}",
            _report_places(suite, reports_dir),
        ]
    )


def methods_table(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the methods of an experiment by rank, below the names of the columns."""
    heading = ["rank", "method", summaries[0].style.heading, "95 % interval", "published", "verdict"]
    costs = ("train_s", "predict_s", "features", "memory_mib", "model_kb", "seeds")
    lines = [[*heading, "fit + train (s)", *costs[1:], "compared with the best over"]]
    for item in by_rank(summaries):
        found, number = item.metrics, item.reference
        lines.append(
            [
                "–" if item.rank is None else f"{item.rank}{' =' * bool(item.tied)}",
                item.runs.label,
                item.style.measured(item.estimate.mean if item.estimate else None),
                item.interval or "",
                item.style.exact(number.number.value) if number else "",
                item.verdict or "",
                *(f"{found[name]:.4g}" if name in found else "" for name in costs),
                item.compared_over or "",
            ]
        )
    return lines


def published_table(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return a line for each published number of an experiment, below the names of the columns."""
    lines = [[item.runs.label, *_published(row)] for item in by_rank(summaries) for row in item.published]
    return [["method", *_PUBLISHED], *lines]


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
    command = f"Run it: {_code(f'snakemake {_target(records, results_dir)}')}"
    parts = [f"**{escaped(f'{summary.runs.label} on {records[0].dataset}')}**", command]
    if found is not None:
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        interval = f", 95 % interval {summary.interval} ({found.interval})" if summary.interval else ""
        parts.append(f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}{interval}")
    if summary.tie_group:
        parts.append(_standing(summary))
    if summary.published:
        parts.append(_table(_PUBLISHED, [map(escaped, _published(row)) for row in summary.published]))
    rows = [
        (
            str(record.seed),
            style.measured(record.metrics.get(summary.headline))
            if record.status == "ok"
            else escaped(reason(record)),
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
    own, common = _code(str(reports_dir / suite / "index.html")), _code(str(reports_dir / "index.html"))
    return f"Report: {own} after {_code(f'snakemake {shlex.quote(suite)}')}, {common} after `snakemake`"


def _sources_of(spec: ExperimentSpec | None) -> list[str]:
    """Return where the numbers of an experiment were published, each place once."""
    return list(dict.fromkeys(number.source for number in spec.published)) if spec else []


def _table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown, from cells that are Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return a printable text on one line that Markdown and HTML show as it is.

    Examples
    --------
    >>> escaped("<b>*deep_gem*</b>")
    '&lt;b&gt;\\\\*deep\\\\_gem\\\\*&lt;/b&gt;'
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#~!])", r"\\\1", plain)


def _code(text: str) -> str:
    """Return a text as Markdown shows code, which may hold backticks."""
    line = " ".join(text.split())
    return f"`{line}`" if "`" not in line else f"`` {line} ``"
