"""Tables of the page about runs with their files, suites, machines and data, each described once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import Suite
from eigenbench.reporting.display_names import dataset_name
from eigenbench.reporting.formatting import count, metric_style, seconds, sentence
from eigenbench.reporting.leaderboard import line_titles, significance
from eigenbench.reporting.parameters import search_summary
from eigenbench.reporting.published import VERDICTS, verdict_counts
from eigenbench.reporting.replicates import RunGroup, reason, status_counts, total_seconds
from eigenbench.reporting.row_metrics import run_of
from eigenbench.reporting.shown_table import NONE, Cell, Row, ShownTable


@dataclass(frozen=True)
class RunFiles:
    """The files of runs, seen from the folder of the page; without a folder of results nothing is linked."""

    page_dir: Path
    results_dir: Path | None = None
    logs_dir: Path | None = None

    def record(self, record: Record) -> str:
        """Return the path of a run's record, which is what `snakemake` is given to make it."""
        return (self.results_dir or Path("results")).joinpath(run_of(record).record).as_posix()

    def record_link(self, record: Record) -> str:
        """Return the address of a run's record; empty where the folder of the records is not known."""
        return "" if self.results_dir is None else self._link(self.results_dir / run_of(record).record)

    def log_link(self, record: Record) -> str:
        """Return the address of a run's log, or of its experiment's where small runs share a job, or none."""
        if self.logs_dir is None:
            return ""
        folder = self.logs_dir / run_of(record).folder
        of_experiment = self.logs_dir / record.suite / record.experiment
        logs = [folder / "train.log", folder / "measure.log", of_experiment]
        named = Path((record.failure and record.failure.log) or "")
        if named.name and not named.is_absolute() and ".." not in named.parts:
            logs.insert(0, self.logs_dir.parent / named)
        return next((self._link(path) for path in logs if path.exists()), "")

    def _link(self, path: Path) -> str:
        return quote(Path(os.path.relpath(path, self.page_dir)).as_posix())


def problems_table(views: Iterable[Any], files: RunFiles, *, several: bool) -> ShownTable | None:
    """Describe the runs without a result and the doubtful ones, by experiment; None without any."""
    rows: list[Row] = []
    for view in views:
        title = f"{view.suite.title}: {view.title}" if several else view.title
        found = [(group, cells) for group in view.groups for cells in _problems(group, files)]
        rows += [
            Row.of({"Method and classifier": group.title} | cells, group.filter_name, "", title * (not place))
            for place, (group, cells) in enumerate(found)
        ]
    return ShownTable("problems", "Runs without a result or with a doubtful one.", rows) if rows else None


def _problems(group: RunGroup, files: RunFiles) -> Iterator[dict[str, Any]]:
    for record in group.records:
        name_of_log = record.failure.log if record.failure else None
        log = Cell(name_of_log, href=files.log_link(record)) if name_of_log else Cell()
        found = [("doubtful", warning) for warning in record.warnings]
        if record.status != "ok":
            found.insert(0, (record.status.replace("_", " "), reason(record, 1000)))
        for status, why in found:
            shown = Cell(status, style="failed-text")
            yield {"Seed": str(record.seed), "Status": shown, "Reason": why, "Log": log}
    if lacking := group.n_planned - len(group.records):
        why = f"{lacking} of {group.n_planned} seeds have no record: run the same snakemake command again"
        yield {"Seed": NONE, "Status": Cell("no record", style="failed-text"), "Reason": why, "Log": Cell()}


def searches_table(name: str, groups: Iterable[RunGroup]) -> ShownTable | None:
    """Describe the hyperparameter searches; None without any."""
    rows = []
    for group in groups:
        if searches := {record.seed: record.search for record in group.records if record.search}:
            cells = {"Method and classifier": group.title} | search_summary(searches)
            rows.append(Row.of(cells, group.filter_name))
    caption = (
        "Hyperparameter searches on held-out training rows; the selected candidate was refitted on all "
        "training rows. Every candidate is in searches.csv."
    )
    numeric = ("Candidates", "Validation score", "Scores of all")
    return ShownTable(name, caption, rows, numeric) if rows else None


def runs_table(name: str, headline: str, groups: Sequence[RunGroup], files: RunFiles) -> ShownTable:
    """Describe every run, with the command that makes it."""
    style, rows = metric_style(headline), []
    heading = sentence(style.heading)
    for place, group in enumerate(groups):
        for number, record in enumerate(group.records):
            cells = {
                "Method and classifier": group.title,
                "Seed": Cell(str(record.seed), href=files.record_link(record)),
                "Status": Cell(record.status.replace("_", " "), href=files.log_link(record)),
                heading: style.measured(record.metrics.get(headline)),
                "Time (s)": seconds(total_seconds(record)),
                "Command": Cell(f"snakemake {files.record(record)}", style="command"),
            }
            rows.append(Row.of(cells, group.filter_name, f"{name}-{place}" if number == 0 else ""))
    caption = (
        "Every run, with the command that makes it. Seeds link to records, states to logs. All metrics and "
        "keys are in results.csv."
    )
    return ShownTable(name, caption, rows, ("Seed", heading, "Time (s)"))


def experiments_table(views: Sequence[Any], *, several: bool) -> ShownTable:
    """Describe the best of each experiment, with its runs, and whether that is significant."""
    rows = []
    judged = any(view.reproduced for view in views)
    for view in views:
        cells = {"Suite": view.suite.title} if several else {}
        cells |= {
            "Dataset": Cell(view.short_title, href=f"#{view.anchor}"),
            "Best method": Cell(),
            "Result": "no result",
            "Significant": significance(view.board) or NONE,
        }
        if view.best:
            cells["Best method"] = Cell(line_titles(view.board)[0], href=view.runs_link(view.best[0]))
            cells["Result"] = Cell(view.result, metric_style(view.spec.headline).label)
        if judged:
            link = f"#{view.anchor}-published" if view.reproduced else ""
            cells["Reproduced"] = Cell(view.reproduced or NONE, href=link)
        rows.append(Row.of(cells))
    caption = "Best method of each experiment. Significant: whether it beats every other method (5 % level)."
    return ShownTable("experiments", caption, rows, header=int(several))


def suites_table(views: Iterable[Any]) -> ShownTable:
    """Describe the suites of a page: published numbers by verdict, and runs by status."""
    headings = (*map(str.capitalize, VERDICTS), "Runs ok", "Failed", "Runs not made")
    rows = []
    for view in views:
        verdicts = verdict_counts(view.comparisons)
        runs = status_counts(group for experiment in view.experiments for group in experiment.groups)
        not_made = runs["not run"] + runs["no record"]
        counts = map(count, (*verdicts.values(), runs["ok"], runs["failed"], not_made))
        title = Cell(view.suite.title, href=f"#suite-{view.suite.name}")
        rows.append(Row.of({"Suite": title} | dict(zip(headings, counts, strict=True))))
    return ShownTable("suites", "Suites: published numbers by verdict, and runs by status.", rows, headings)


def deviations_table(suite: Suite) -> ShownTable:
    """Describe what deviates from the paper, and why."""
    rows = [Row.of({"Paper": row.paper, "Here": row.here, "Why": row.why}) for row in suite.deviations]
    return ShownTable(f"{suite.name}-deviations", "Deviations from the paper.", rows)


def environments_table(records: Iterable[Record]) -> ShownTable | None:
    """Describe the machines and versions of the runs, most frequent first; None without any."""
    rates: dict[str, list[float | None]] = {}
    for environment in (record.environment for record in records if record.environment):
        text = environment.model_dump_json(exclude={"gemm_gflops"})
        rates.setdefault(text, []).append(environment.gemm_gflops)
    rows = []
    for text, of_runs in sorted(rates.items(), key=lambda item: (-len(item[1]), item[0])):
        found, measured = json.loads(text), [rate for rate in of_runs if rate is not None]
        commit = (found["git_commit"] or "unknown") + " with uncommitted changes" * bool(found["git_dirty"])
        cells = {
            "Runs": count(len(of_runs)),
            "Python": found["python"],
            "Platform": found["platform"],
            "Processor": Cell(found["cpu"], found["blas"] or ""),
            "Threads": str(found["threads"]),
            "GFLOP/s": f"{median(measured):.0f}" if measured else NONE,
            "Git commit": Cell(commit, style="mono"),
            "Code hash": Cell(found["code_hash"], style="mono"),
            "Packages": ", ".join(f"{name} {version}" for name, version in sorted(found["packages"].items())),
        }
        rows.append(Row.of(cells))
    caption = "Environments of the runs. GFLOP/s: median rate of float32 matrix products with these threads."
    return ShownTable("environments", caption, rows, ("Runs", "Threads", "GFLOP/s")) if rows else None


def datasets_table(records: Iterable[Record]) -> ShownTable | None:
    """Describe the data as used, each version once, by name; None without any."""
    infos = {record.dataset_info for record in records if record.dataset_info}
    rows = [
        Row.of(
            {
                "Dataset": dataset_name(info.name),
                "Training rows": count(info.n_train),
                "Test rows": count(info.n_test),
                "Columns": count(info.n_features),
                "Classes": count(info.n_classes),
                "Split": info.split,
                "Source": info.source,
                "Licence": info.licence,
                "SHA-256 of the prepared form": Cell(info.sha256, style="mono"),
            }
        )
        for info in sorted(infos, key=attrgetter("name", "sha256", "n_train"))
    ]
    numeric = ("Training rows", "Test rows", "Columns", "Classes")
    return ShownTable("datasets", "Data as used.", rows, numeric) if rows else None
