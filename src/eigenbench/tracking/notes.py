"""Descriptions of suites, experiments and methods in the dashboard, as Markdown, and their tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import within_method
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.formatting import metric_style, seconds
from eigenbench.reporting.replicates import reason, total_seconds
from eigenbench.reporting.shown_table import escape_markdown
from eigenbench.tracking.suite_store import Key
from eigenbench.tracking.summaries import Summary

_MOST_ROWS = 30
#: Columns of `methods_table` that fit into a description.
_MOST_COLUMNS = 7


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    paragraphs = map(escape_markdown, suite.description.strip().split("\n\n"))
    return "\n\n".join([f"**{escape_markdown(suite.title)}**", *paragraphs, _places(suite.name, reports_dir)])


def run_note(record: Record, path: Path) -> str:
    """Describe one run: what became of it, and the command that makes it again."""
    parts = []
    if failure := record.failure:
        cause = f"{failure.stage}: {failure.type}: {failure.message}"
        parts.append(f"**{record.status}** {escape_markdown(cause)}")
    parts.append(f"Run it again: {_code(f'snakemake --force {shlex.quote(str(path))}')}")
    parts.append("Its record is `record.json` among the artifacts.")
    return "\n\n".join(parts)


def overview_note(
    suite: str,
    experiment: str,
    spec: ExperimentSpec | None,
    summaries: Sequence[Summary],
    links: Mapping[Key, str],
    reports_dir: Path,
) -> str:
    """Describe an experiment: its methods by rank, linked to their summaries, and where to read more."""
    table = methods_table(summaries).iloc[:, :_MOST_COLUMNS].fillna("")
    table["method"] = [f"[{escape_markdown(item.runs.label)}]({links[item.key]})" for item in summaries]
    sources = dict.fromkeys(number.source for number in spec.published) if spec else {}
    return "\n\n".join(
        [
            f"**{escape_markdown((spec.title if spec else None) or experiment)}**",
            *[f"Published in: {escape_markdown(source)}" for source in sources],
            _table(table.columns, table.to_numpy()),
            f"{'Lower' if summaries[0].lower else 'Higher'} is better. Methods are ranked by their mean over "
            "seeds. Those with = cannot be distinguished from the best (5 % level)."
            + (" All published numbers stand in `published.csv`." if sources else ""),
            _places(suite, reports_dir),
        ]
    )


def methods_table(summaries: Sequence[Summary]) -> pd.DataFrame:
    """Return the methods of an experiment, in the order given."""
    return pd.DataFrame(
        [
            {
                "rank": item.rank,
                "method": item.runs.label,
                item.style.heading: item.style.measured(item.estimate.mean if item.estimate else None),
                "95 % interval": item.tags["interval"],
                "published": item.style.exact(item.reference.number.value) if item.reference else None,
                "verdict": item.tags["verdict"],
                **{name: None if cost is None else f"{cost:.4g}" for name, cost in item.costs.items()},
                "seeds": len(item.runs.finished),
                "compared with the best over": item.tags["compared_over"],
            }
            for item in summaries
        ],
        dtype=object,
    )


def published_table(summaries: Iterable[Summary]) -> pd.DataFrame:
    """Return a line for each published number that the methods answer."""
    lines = []
    for row in (row for item in summaries for row in item.published):
        style, found = metric_style(row.number.metric), row.estimate
        lines.append(
            {
                "Published in": row.number.source,
                "Method": row.number.label or method_name(row.method),
                "Metric": style.heading,
                "Published": style.exact(row.number.value),
                "Measured": style.measured(found.mean if found else None),
                "95 % interval": style.interval(found.low, found.high) if found else "",
                "Verdict": row.verdict + (" †" if row.uncertain else ""),
            }
        )
    return pd.DataFrame(lines)


def paired_differences(summaries: Sequence[Summary]) -> pd.DataFrame:
    """Return the headline metric of each line less the value of each column, in the order of the summaries.

    A difference is the mean over the seeds that both have, in the unit of the metric; a cell without such
    seeds is empty.
    """
    style, metric = summaries[0].style, summaries[0].headline
    values = style.scale * pd.DataFrame(
        {
            item.runs.label: {one.seed: one.metrics.get(metric) for one in item.runs.finished}
            for item in summaries
            if item.estimate
        },
        dtype=np.float64,
    )
    means = pd.DataFrame(
        {other: values.sub(of, axis=0).mean() for other, of in values.items()}, values.columns
    )
    return means.map(lambda mean: float(f"{mean:.6g}")).reset_index(names=f"{style.heading}: line - column")


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
    parts = [f"**{escape_markdown(f'{summary.runs.label} on {records[0].dataset}')}**", command]
    if found is not None:
        seeds = f"{found.n_seeds} seed" + ("s" if found.n_seeds > 1 else "")
        interval = summary.tags["interval"]
        interval = f", 95 % interval {interval} ({found.interval})" if interval else ""
        parts.append(f"{style.heading}: mean **{style.measured(found.mean)}** over {seeds}{interval}")
    if summary.published:
        table = published_table([summary])
        parts.append(_table(table.columns, (map(escape_markdown, row) for row in table.to_numpy())))
    rows = [
        (
            str(record.seed),
            style.measured(record.metrics.get(summary.headline))
            if record.status == "ok"
            else escape_markdown(reason(record)),
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


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown, from cells that are Markdown."""
    names = list(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [names, ["---"] * len(names), *rows])


def _code(text: str) -> str:
    """Return a text as Markdown shows code, which may hold backticks."""
    line = " ".join(text.split())
    return f"`{line}`" if "`" not in line else f"`` {line} ``"
