"""Descriptions of suites, experiments and methods in the dashboard, as Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.formatting import seconds
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.tracking.suite_store import Group
from eigenbench.tracking.summaries import Summary

_MOST_ROWS = 30
_PUBLISHED = ("published in", "metric", "published", "measured", "verdict")


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    paragraphs = map(escaped, suite.description.strip().split("\n\n"))
    return "\n\n".join([f"**{escaped(suite.title)}**", *paragraphs, _places(suite.name, reports_dir)])


def run_note(record: Record, path: Path) -> str:
    """Describe one run: what became of it, and the command that makes it again."""
    parts = []
    if failure := record.failure:
        cause = f"{failure.stage}: {failure.type}: {failure.message}"
        parts.append(f"**{record.status}** {escaped(cause)}")
    parts.append(f"Run it again: {_code(f'snakemake --force {shlex.quote(str(path))}')}")
    parts.append("Its record is `record.json` among the artifacts.")
    return "\n\n".join(parts)


def overview_note(
    title: str,
    suite: str,
    spec: ExperimentSpec | None,
    summaries: Sequence[Summary],
    links: Mapping[Group, str],
    reports_dir: Path,
) -> str:
    """Describe an experiment: its methods by rank, linked to their summaries, and where to read more."""
    columns, *rows = (line[:7] for line in methods_table(summaries))
    for item, row in zip(summaries, rows, strict=True):
        row[1] = f"[{escaped(row[1])}]({links[item.group]})"
    sources = dict.fromkeys(number.source for number in spec.published) if spec else {}
    return "\n\n".join(
        [
            f"**{escaped(title)}**",
            *[f"Published in: {escaped(source)}" for source in sources],
            _table(columns, rows),
            f"{'Lower' if summaries[0].lower else 'Higher'} is better. Methods are ranked by their mean over "
            "seeds. Those with = cannot be distinguished from the best (5 % level). "
            "All published numbers stand in `published.csv`.",
            _places(suite, reports_dir),
        ]
    )


def methods_table(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the methods of an experiment, below the names of the columns."""
    heading = ["rank", "method", summaries[0].style.heading, "95 % interval", "published", "verdict"]
    costs = ("train_s", "predict_s", "features", "memory_mib", "model_kb", "seeds")
    lines = [[*heading, "fit + train (s)", *costs[1:], "compared with the best over"]]
    for item in summaries:
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
    lines = [[item.runs.label, *_published(row)] for item in summaries for row in item.published]
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
    records, style, found = summary.runs.records, summary.style, summary.estimate
    # MLflow folds all but the first lines.
    command = f"Run it: {_code(f'snakemake {_target(records, results_dir)}')}"
    parts = [f"**{escaped(f'{summary.runs.label} on {records[0].dataset}')}**", command]
    if found is not None:
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        interval = f", 95 % interval {summary.interval} ({found.interval})" if summary.interval else ""
        parts.append(f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}{interval}")
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
    parts.append(_places(records[0].suite, reports_dir))
    if model_uri:
        parts.append(f"Serve its best model: `mlflow models serve -m {model_uri} --env-manager local`")
    return "\n\n".join(parts)


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


def _places(suite: str, reports_dir: Path) -> str:
    """Name the command of a suite, and its report: in its own folder when it was asked for by name."""
    own, common = _code(str(reports_dir / suite / "index.html")), _code(str(reports_dir / "index.html"))
    command = _code(f"snakemake {shlex.quote(suite)}")
    return f"Run the suite: {command}\n\nReport: {own} after {command}, {common} after `snakemake`"


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
