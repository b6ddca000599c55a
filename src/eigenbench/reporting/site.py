"""Write the report: ``index.html``, the tables as CSV files, and the folder ``figures``."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from operator import attrgetter
from pathlib import Path

import jinja2
from markupsafe import Markup

from eigenbench.atomic_files import replacing_entries
from eigenbench.reporting import ReportError, formatting, leaderboard, page_tables, run_tables, sections
from eigenbench.reporting.csv_files import frame_csv, results_csv
from eigenbench.reporting.display_names import dataset_name, label_name
from eigenbench.reporting.figures import LARGEST_RATIO
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.parameters import searches_csv
from eigenbench.reporting.published import DAGGER, comparison_csv, verdict_counts
from eigenbench.reporting.replicates import status_counts
from eigenbench.reporting.suite_ranks import pairs_csv, ranks_csv
from eigenbench.reproduction.receipt import MachineCounts

#: The folder of the figures, in the folder of the report.
FIGURES = "figures"


def render(inputs: ReportInputs, reports_dir: Path, logs_dir: Path | None = None) -> Path:
    """Write the report of some suites; return its page, ``reports_dir/index.html``.

    The page is one file that uses no network; the same input gives the same bytes. Raises `ReportError` if
    the folder is read-only or full; the old files stay as they were.
    """
    records = sorted(inputs.records, key=attrgetter("suite", "experiment", "seed", "run_key"))
    views = sections.suite_views(inputs)
    boards = [experiment.board for view in views for experiment in view.experiments]
    boards += leaderboard.boards_at_sizes(inputs.suites, inputs.groups)
    ranks = [found for view in views for found, _ in view.ranks]
    texts = {
        "results.csv": results_csv(records),
        "comparison.csv": comparison_csv(row for view in views for row in view.comparisons),
        "leaderboard.csv": frame_csv(boards, leaderboard.COLUMNS),
        "ranks.csv": ranks_csv(ranks),
        "pairs.csv": pairs_csv(ranks),
        "searches.csv": searches_csv(records),
    }
    files_of_runs = run_tables.RunFiles(reports_dir, inputs.results_dir, logs_dir)
    texts["index.html"] = _page(inputs, views, files_of_runs, list(texts))
    figures = {
        f"{FIGURES}/{picture.key}.svg": picture.svg_file for view in views for picture in view.pictures
    }
    try:
        with replacing_entries(reports_dir) as folder:
            (folder / FIGURES).mkdir()
            for name, text in (texts | figures).items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ReportError(
            f"{reports_dir}: cannot write the report ({error.strerror or error}); make the folder "
            "writable or free space, then run snakemake again. The run records are not affected."
        ) from error
    return reports_dir / "index.html"


def _page(
    inputs: ReportInputs, views: list[sections.SuiteView], files: run_tables.RunFiles, csv_files: list[str]
) -> str:
    records = inputs.records
    environment = _environment(files)
    script = environment.get_template("script.js").render()
    experiments = [experiment for view in views for experiment in view.experiments]
    return environment.get_template("report.html.j2").render(
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        title=views[0].suite.title if len(views) == 1 else "eigenbench report",
        csv_files=csv_files,
        suites=views,
        started=min((record.started for record in records if record.started), default=None),
        finished=max((record.finished for record in records if record.finished), default=None),
        experiments=experiments,
        runs=status_counts(group for view in experiments for group in view.groups),
        verdicts=verdict_counts(row for view in experiments for row in view.comparisons),
        records=records,
        unreadable=inputs.unreadable,
    )


def _environment(files: run_tables.RunFiles) -> jinja2.Environment:
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
        "dataset_name": dataset_name,
        "first_sentence": lambda text: re.split(r"[.:]( |$)", text)[0],
        "label_name": label_name,
        "probability": formatting.probability,
        "sentence": formatting.sentence,
    }
    environment.globals |= {
        "dagger": DAGGER,
        "files": files,
        "infinity": math.inf,
        "largest_ratio": LARGEST_RATIO,
        "leaderboard": leaderboard,
        "lower_is_better": formatting.lower_is_better,
        "machines": MachineCounts(),
        "metric_style": formatting.metric_style,
        "page_tables": page_tables,
        "run_tables": run_tables,
        "shade": _shade,
    }
    return environment


def _shade(ratio: float) -> str:
    """Return the shade of a ratio to the best, from 0 to 1."""
    return f"{min(1.0, max(0.0, math.log(max(ratio, 1e-9)) / math.log(LARGEST_RATIO))):.2f}"
