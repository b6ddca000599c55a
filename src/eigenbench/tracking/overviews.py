"""What an experiment's overview has as files: the figures, and how its methods differ on the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.csv_files import csv_text
from eigenbench.tracking.summaries import Summary

_FOLDER = "figures"
_PAIRS = "paired_differences.csv"


def write_figures(folder: Path, experiment: str, spec: ExperimentSpec, summaries: Sequence[Summary]) -> None:
    """Draw the figures that the report has of an experiment as ``figures/<what>.svg`` in a folder."""
    from eigenbench.reporting.captioned_figures import experiment_figures

    pictures = experiment_figures(spec, [summary.runs for summary in summaries], experiment)
    if pictures:
        (folder / _FOLDER).mkdir(exist_ok=True)
    for picture in pictures:
        (folder / _FOLDER / f"{picture.key}.svg").write_text(picture.svg, encoding="utf-8")


def write_pairs(folder: Path, summaries: Sequence[Summary]) -> None:
    """Write ``paired_differences.csv``: the headline metric of each line less that of each column.

    A difference is the mean over the seeds that both have, in the unit of the metric; a cell without such
    seeds is empty. Methods stand by rank.
    """
    ranked = sorted(summaries, key=lambda item: (item.rank is None, item.rank, item.runs.label))
    values = {
        item.runs.label: {
            record.seed: record.metrics[item.headline]
            for record in item.runs.finished
            if item.headline in record.metrics
        }
        for item in ranked
        if item.estimate
    }
    style = summaries[0].style
    rows = [
        [first, *(_difference(values[first], values[second], style.scale) for second in values)]
        for first in values
    ]
    text = csv_text([f"{style.heading}: line - column", *values], rows)
    (folder / _PAIRS).write_text(text, encoding="utf-8", newline="")


def _difference(first: Mapping[int, float], second: Mapping[int, float], scale: float) -> float | None:
    shared = first.keys() & second.keys()
    if not shared:
        return None
    return float(f"{scale * fmean(first[seed] - second[seed] for seed in shared):.6g}")
