"""What the dashboard says in words of a suite, as Markdown, and what all such texts are made of."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from eigenbench.bench.suites.suite import ExperimentSpec, Suite


def suite_note(suite: Suite, reports_dir: Path) -> str:
    """Describe a suite: what it reproduces, the command that runs it, and where its report is."""
    rows = [
        (name, spec.title or "", spec.dataset, "; ".join(sources_of(spec)) or "–")
        for name, spec in suite.experiments.items()
    ]
    return "\n\n".join(
        [
            f"**{suite.title}**",
            *filter(None, [suite.description.strip()]),
            table(("experiment", "what", "dataset", "published in"), rows),
            f"Run it: `snakemake {shlex.quote(suite.name)}`",
            report_places(suite.name, reports_dir),
        ]
    )


def report_places(suite: str, reports_dir: Path) -> str:
    """Say where the report of a suite is: in its own folder when it was asked for by name."""
    asked = f"`{reports_dir / suite / 'index.html'}` after `snakemake {shlex.quote(suite)}`"
    return f"Report: {asked}, `{reports_dir / 'index.html'}` after `snakemake`"


def sources_of(spec: ExperimentSpec | None) -> list[str]:
    """Return where the numbers of an experiment were published, each place once."""
    return list(dict.fromkeys(number.source for number in spec.published)) if spec else []


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
