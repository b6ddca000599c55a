"""The figures of an experiment, for those who look at it in the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eigenbench.experiments.suite import ExperimentSpec
from eigenbench.tracking.summaries import Summary

_FOLDER = "figures"


def write_figures(folder: Path, experiment: str, spec: ExperimentSpec, summaries: Sequence[Summary]) -> None:
    """Draw the figures that the report has of an experiment as ``figures/<what>.svg`` in a folder."""
    from eigenbench.reporting.pictures import experiment_pictures

    pictures = experiment_pictures(spec, [summary.runs for summary in summaries], experiment)
    if pictures:
        (folder / _FOLDER).mkdir(exist_ok=True)
    for picture in pictures:
        (folder / _FOLDER / f"{picture.key}.svg").write_text(picture.svg, encoding="utf-8")
