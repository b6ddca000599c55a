"""Write the report: ``index.html``, ``results.csv`` and ``comparison.csv``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2

from eigenbench.atomic_files import replacing_entries
from eigenbench.experiments.record import Record
from eigenbench.experiments.suite import Suite
from eigenbench.reporting import formatting, sections
from eigenbench.reporting.cells import reason, status_counts
from eigenbench.reporting.comparison import comparison_table, verdict_counts
from eigenbench.reporting.results import csv_text, results_table


class ReportError(RuntimeError):
    """The report could not be written; the message names the folder."""


def render(
    suites: Sequence[Suite],
    records: Sequence[Record],
    *,
    reports_dir: Path,
    suite_paths: Mapping[str, Path],
    title: str = "eigenbench report",
    unreadable: Sequence[str] = (),
) -> Path:
    """Write the report of some suites.

    The page is one file that needs no network and no script. The same input gives the same bytes.
    Each file is replaced as a whole, and only after all of them were written beside the old ones.

    Parameters
    ----------
    suites : sequence of Suite
        What to show, in this order.
    records : sequence of Record
        The runs, in any order; those of other suites or experiments are left out.
    reports_dir : Path
        Where to write; created when absent.
    suite_paths : mapping of str to Path
        The file of each suite, shown in full.
    title : str
        The heading of the page.
    unreadable : sequence of str
        What could not be read, listed on the page.

    Returns
    -------
    Path
        ``reports_dir/index.html``.

    Raises
    ------
    ReportError
        If the folder is read-only or full; the old files stay as they were.
    """
    known = {(suite.name, name) for suite in suites for name in suite.experiments}
    records = sorted(
        (record for record in records if (record.suite, record.experiment) in known),
        key=lambda record: (record.suite, record.experiment, record.seed, record.run_key),
    )
    texts = {
        "results.csv": csv_text(results_table(records)),
        "comparison.csv": csv_text(comparison_table(suites, records)),
        "index.html": _page(suites, records, suite_paths, title, unreadable),
    }
    try:
        with replacing_entries(reports_dir) as folder:
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ReportError(
            f"{reports_dir}: cannot write the report ({error.strerror or error}); make the folder "
            "writable or free space, then run snakemake again. The run records are not affected."
        ) from error
    return reports_dir / "index.html"


def _page(
    suites: Sequence[Suite],
    records: Sequence[Record],
    suite_paths: Mapping[str, Path],
    title: str,
    unreadable: Sequence[str],
) -> str:
    files = {suite.name: _suite_file(suite_paths[suite.name]) for suite in suites}
    views = sections.suite_views(suites, records, files)
    comparisons = [row for view in views for row in view.comparisons]
    template = _environment().get_template("report.html.j2")
    return template.render(
        title=title,
        suites=views,
        started=min((record.started for record in records if record.started), default=None),
        finished=max((record.finished for record in records if record.finished), default=None),
        runs=status_counts(records),
        verdicts=verdict_counts(comparisons),
        environments=sections.distinct_environments(records),
        datasets=sections.distinct_datasets(records),
        unreadable=list(unreadable),
    )


def _suite_file(path: Path) -> tuple[str, str]:
    return path.name, path.read_text(encoding="utf-8")


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("eigenbench.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": formatting.count,
        "seconds": formatting.seconds,
        "params": sections.params_text,
        "sentence": formatting.sentence,
        "reason": reason,
    }
    environment.globals |= {"style": formatting.metric_style, "sources": sections.by_source}
    return environment
