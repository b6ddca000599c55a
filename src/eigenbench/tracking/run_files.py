"""The files of runs: confusion matrices, exhibits, figures and paired differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Confusion
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.csv_files import csv_text
from eigenbench.tracking.summaries import Summary


def write_confusion(folder: Path, confusion: Confusion) -> None:
    """Write the counts as ``confusion.csv``, one row per true class."""
    rows = [[label, *row] for label, row in zip(confusion.labels, confusion.matrix, strict=True)]
    write_table(folder, "confusion", [["true \\ predicted", *confusion.labels], *rows])


def write_exhibits(folder: Path, exhibits: Sequence[Exhibit]) -> None:
    """Draw a run's exhibits as ``exhibits/<place>-<title>.png`` in a folder; empty ones are left out."""
    if not exhibits:
        return
    from eigenbench.reporting.exhibit_plots import as_png

    for place, exhibit in enumerate(exhibits, start=1):
        picture = as_png(exhibit)
        if picture is not None:
            title = re.sub(r"[^A-Za-z0-9]+", "-", exhibit.title).strip("-").lower()[:80]
            (folder / "exhibits").mkdir(exist_ok=True)
            (folder / "exhibits" / f"{place:02d}-{title}.png").write_bytes(picture)


def write_figures(folder: Path, experiment: str, spec: ExperimentSpec, summaries: Sequence[Summary]) -> None:
    """Draw the figures that the report has of an experiment as ``figures/<key>.svg`` in a folder."""
    from eigenbench.reporting.captioned_figures import experiment_figures

    for picture in experiment_figures(spec, [summary.runs for summary in summaries], experiment):
        (folder / "figures").mkdir(exist_ok=True)
        (folder / "figures" / f"{picture.key}.svg").write_text(picture.svg, encoding="utf-8")


def write_table(folder: Path, name: str, lines: Sequence[Sequence[Any]]) -> None:
    """Write a table, whose first line names the columns, as a CSV file, which the dashboard shows."""
    (folder / f"{name}.csv").write_text(csv_text(lines[0], lines[1:]), encoding="utf-8", newline="")


def write_pairs(folder: Path, summaries: Sequence[Summary]) -> None:
    """Write ``paired_differences.csv``: the headline metric of each line less the value of each column.

    A difference is the mean over the seeds that both have, in the unit of the metric; a cell without such
    seeds is empty. Lines and columns stand in the order of the summaries.
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
    rows = [
        [name, *("" if np.isnan(mean) else float(f"{mean:.6g}") for mean in values.rsub(of, axis=0).mean())]
        for name, of in values.items()
    ]
    write_table(folder, "paired_differences", [[f"{style.heading}: line - column", *values], *rows])
