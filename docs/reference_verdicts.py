"""The verdict on every published number by the reference results: python docs/reference_verdicts.py.

Run it after a change of suites or reference: it also writes ``comparison.csv`` and the table of suites
in ``reports/reference``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from page_parts import table, write_parts

from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.bench.records.record import DatasetInfo, Failure, Record
from eigenbench.bench.records.runs import Run
from eigenbench.bench.suites.suite_file import catalogue_of, suite_files
from eigenbench.datasets.catalogue import Catalogue, CatalogueEntry
from eigenbench.datasets.project_files import project_folder
from eigenbench.reporting.display_names import experiment_name
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.page_tables import published_table
from eigenbench.reporting.published import (
    PublishedComparison,
    compare_all_published,
    comparison_csv,
    verdict_counts,
)
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.shown_table import escape_markdown
from eigenbench.reproduction.receipt import MachineCounts, read_receipts
from eigenbench.reproduction.reference import (
    ReferenceRun,
    ReproductionError,
    default_reference_folder,
    load_reference,
)

PAGE = Path(__file__).with_name("verdicts.md")


def reference_comparisons(
    plans: Sequence[SuitePlan], reference_dir: Path | None = None
) -> list[PublishedComparison]:
    """Compare every published number with the reference results, in the order of the suites.

    A run counts where the reference has it by its key, so with the settings that the suite has now. Results
    hold no predictions: intervals are over seeds or, without them, over test rows. A number without a result
    says why; where other settings measured it, with their value.
    """
    records = [record for plan in plans for record in reference_records(plan, reference_dir)]
    compared = compare_all_published([plan.suite for plan in plans], group_runs(plans, records))
    return [_with_earlier_value(row) for row in compared]


def reference_records(plan: SuitePlan, reference_dir: Path | None = None) -> list[Record]:
    """Return a record for each run of a suite; ``not_run`` where the reference has it by other settings."""
    try:
        runs = load_reference(plan.suite.name, reference_dir).runs
    except ReproductionError:
        runs = []
    asked = {run.key for run in plan.runs}
    by_key = {run.run_key: run for run in runs}
    others = {run.name: run for run in runs if run.run_key not in asked}
    catalogue = catalogue_of(plan.suite)
    return [_record(run, by_key, others, catalogue) for run in plan.runs]


def _record(
    run: Run,
    by_key: dict[str, ReferenceRun],
    others: dict[tuple[str, ...], ReferenceRun],
    catalogue: Catalogue,
) -> Record:
    entry = catalogue.entry(run.dataset)
    name = (run.dataset, run.method, run.classifier, str(run.seed))
    found = by_key.get(run.key) or others.get(name)
    why = ""
    if entry.supplied and (found is None or found.status == "not_run"):
        why = f"the files of {run.dataset} have to be supplied"
    elif found is None:
        why = "no reference run yet"
    elif found.status == "not_run":
        why = "its data or a package could not be had where the reference was made"
    elif found.status != "ok":
        why = "failed where the reference was made"
    elif found.run_key != run.key:
        why = "the reference was made with other settings"
    return Record(
        **run.identity,
        # Of seeds that changed nothing the values agree, and the interval is then over rows all the same.
        deterministic=False,
        status="not_run" if why else "ok",
        failure=Failure(stage="reference", type="NotInReference", message=why) if why else None,
        metrics=found.metrics if found else {},
        dataset_info=_dataset_info(run.dataset, entry),
    )


def _dataset_info(name: str, entry: CatalogueEntry) -> DatasetInfo | None:
    """Return what the catalogue knows of the rows of a split; None where that is not their number."""
    if entry.n_test is None:
        return None
    return DatasetInfo(
        name=name,
        sha256="",
        n_train=entry.rows_of_a_run - entry.n_test,
        n_test=entry.n_test,
        n_features=entry.expect.features,
        n_classes=entry.expect.classes,
        split=str(entry.split),
        source="",
        licence=entry.licence,
    )


def _with_earlier_value(row: PublishedComparison) -> PublishedComparison:
    """Add to a number that only other settings have measured what they gave."""
    records = row.group.records if row.group and row.estimate is None else ()
    metric = row.number.metric
    values = [run.metrics[metric] for run in records if run.status == "not_run" and metric in run.metrics]
    if not values:
        return row
    style = metric_style(metric)
    mean = style.measured(math.fsum(values) / len(values))
    return replace(row, why=f"{row.why}: {mean}{' ' + style.unit if style.unit else ''}")


def shipped_plans() -> Iterator[SuitePlan]:
    """Yield the plans of the suites that come with eigenbench, by name."""
    return (load_plan(path) for path in suite_files(project_folder() / "config" / "suites"))


def verdicts_page(rows: Sequence[PublishedComparison], machines: MachineCounts) -> str:
    """Write the page of verdicts in Markdown: counts, then the tables of each paper."""
    counts = verdict_counts(rows)
    verdicts = ", ".join(f"{number} {name}" for name, number in counts.items() if name != "not run")
    measured = sum(counts.values()) - counts["not run"]
    judged = {row.identity: row.outcome for row in rows if row.outcome}
    again = [row for row in rows if row.repeats]
    differing = sum(row.judged.removesuffix(" †") != judged[row.identity] for row in again)
    parts = [
        "# Every published number\n",
        "<!-- Written by python docs/reference_verdicts.py; do not edit. -->\n",
        f"The suites quote {sum(counts.values())} published numbers.\n"
        f"{measured} are measured: {verdicts}. {counts['not run']} are not run.\n"
        "A number that several methods or suites measure counts once, with the verdict of the first.\n"
        f"{differing} of the {len(again)} other measurements would have another verdict.\n\n"
        "*Measured* values are the reference results (`reports/reference`) with the current settings of the\n"
        "suites. Their 95 % intervals are over seeds or, with one seed, over test rows.\n"
        "[Verdicts](reproducibility.md#verdicts) states the rules. † marks a number that is not within 5 %\n"
        "of the mean, but in the prediction interval. *Machines* is the number of machine types, with\n"
        "that of the reference, on which all runs behind a number are identical or within noise.\n"
        "The same tables are in `reports/reference/comparison.csv`.\n",
    ]
    for paper, tables in _by_paper(rows).items():
        parts.append(f"## {paper}\n")
        for name, numbers in tables.items():
            parts += [f"{name}\n"] if name else []
            parts.append(_table(numbers, machines))
    return "\n".join(parts)


def _by_paper(rows: Sequence[PublishedComparison]) -> dict[str, dict[str, list[PublishedComparison]]]:
    """Group numbers by paper and by what follows its name in the source, in the order of the suites."""
    found: dict[str, dict[str, list[PublishedComparison]]] = {}
    for source, numbers in groupby(rows, key=lambda row: row.number.source):
        paper, _, name = source.partition(", ")
        found.setdefault(paper, {}).setdefault(name[:1].upper() + name[1:], []).extend(numbers)
    return {paper: dict(sorted(tables.items())) for paper, tables in found.items()}


def _table(numbers: Sequence[PublishedComparison], machines: MachineCounts) -> str:
    shown = published_table("", numbers, machines)
    lines = []
    for number, row in zip(numbers, shown.rows, strict=True):
        experiment = f"{experiment_name(number.experiment, number.dataset)} ({number.suite})"
        texts = {heading: cell.line for heading, cell in row.cells.items()}
        verdict = row.cells["Verdict"]
        texts["Verdict"] = ": ".join(filter(None, (verdict.text, verdict.small)))
        lines.append([escape_markdown(text) for text in (experiment, *texts.values())])
    return table(["Experiment", *shown.rows[0].cells], lines)


def suites_table(plans: Sequence[SuitePlan]) -> str:
    """Return a table of the suites with results: runs, time, and by the receipts commit and machine."""
    receipts, _ = read_receipts()
    rows = []
    for plan in plans:
        try:
            reference = load_reference(plan.suite.name)
        except ReproductionError:
            continue
        made = [
            one
            for receipt in receipts
            if receipt.reference == reference.digest
            for one in receipt.environments
            if one.git_commit
        ]
        asked = {run.key for run in plan.runs}
        n_done = sum(run.status == "ok" and run.run_key in asked for run in reference.runs)
        runs = f"{n_done:,}" if n_done == len(plan.runs) else f"{n_done:,} of {len(plan.runs):,}"
        minutes = f"{plan.suite.minutes:g} min" if made else "–"
        machines = sorted({f"{one.cpu}, Python {one.python}" for one in made})
        commits = sorted({f"`{str(one.git_commit)[:7]}`" for one in made})
        rows.append([plan.suite.name, runs, minutes, "; ".join(machines) or "–", ", ".join(commits) or "–"])
    return table(["suite", "runs", "time", "machine", "commit"], rows)


def main() -> None:
    """Write the page into ``docs``, and ``comparison.csv`` and the table of suites beside the reference."""
    plans = list(shipped_plans())
    write_parts(default_reference_folder() / "README.md", {"the receipts": suites_table(plans)})
    rows = reference_comparisons(plans)
    pages = {
        default_reference_folder() / "comparison.csv": comparison_csv(rows),
        PAGE: verdicts_page(rows, MachineCounts()),
    }
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path)


if __name__ == "__main__":
    main()
