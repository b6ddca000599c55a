"""Figures of experiments and suites, each with its caption and a description in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from markupsafe import Markup

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting import exhibit_plots
from eigenbench.reporting.drawing import Drawing
from eigenbench.reporting.figures import error_against, has_families, learning_curves
from eigenbench.reporting.formatting import metric_style, sentence, split_size
from eigenbench.reporting.rank_figures import critical_differences, rank_against_seconds
from eigenbench.reporting.replicates import RunGroup, total_seconds
from eigenbench.reporting.size_curves import curve_label, mean_curves
from eigenbench.reporting.suite_ranks import SuiteRanks


@dataclass(frozen=True)
class CaptionedFigure:
    """A drawing with its caption and a description for readers who cannot see it.

    ``key`` begins every identifier in the SVG, is unique on the page, and names the picture's own file.
    """

    key: str
    drawing: Drawing
    caption: str
    alt: str
    wide: bool
    title: str = ""

    @cached_property
    def svg(self) -> Markup:
        """The SVG element of the page."""
        return self.drawing.svg(self.key)


@dataclass(frozen=True)
class ExhibitGroup:
    """The pictures of one title, side by side: one per method."""

    title: str
    note: str
    pictures: list[CaptionedFigure]


def experiment_figures(
    spec: ExperimentSpec, groups: Sequence[RunGroup], anchor: str
) -> list[CaptionedFigure]:
    """Draw what an experiment measured: against its costs, and over steps or sizes.

    ``anchor`` begins every identifier, and is unique on the page.
    """
    found = [] if split_size(spec.headline)[1] else _against_costs(spec, groups, anchor)
    return found + (_over_sizes(groups, anchor) if spec.protocol else _learning(groups, anchor))


def ranking_figures(ranks: SuiteRanks, anchor: str) -> list[CaptionedFigure]:
    """Draw a comparison over datasets: the critical-difference diagram, and cost against rank."""
    return _drawn(
        f"{anchor}-critical-differences",
        critical_differences(ranks),
        f"Mean ranks over {ranks.n_datasets} datasets, 1 is best. Bars join competitors whose mean ranks "
        "differ by less than Nemenyi's critical difference at 5 %.",
        "Critical-difference diagram; the mean ranks are in the table of this section.",
        wide=True,
    ) + _drawn(
        f"{anchor}-time",
        rank_against_seconds(ranks),
        "Mean rank against the time to fit, geometric mean over datasets. The line is the Pareto front: "
        "nothing is both faster and of a better rank than its members, which are named.",
        "Scatter plot of mean rank against time; the numbers are in the table of this section.",
        wide=True,
    )


def _drawn(
    key: str, drawing: Drawing | None, caption: str, alt: str, *, wide: bool = False
) -> list[CaptionedFigure]:
    """Return a figure as a list of one; an empty list where there is nothing to draw."""
    return [CaptionedFigure(key, drawing, caption, alt, wide)] if drawing else []


def _against_costs(spec: ExperimentSpec, groups: Sequence[RunGroup], anchor: str) -> list[CaptionedFigure]:
    label = metric_style(spec.headline).label
    work = "fit" if spec.protocol else "fit the embedding and train the classifier"
    reach = "features" if spec.protocol else "features that reach the classifier"
    shifted = ", and classifiers of one method are shifted slightly" if len(spec.classifiers) > 1 else ""
    joined = " Methods whose names differ only in a final number are joined." if has_families(groups) else ""
    notes = joined + _partial_note(groups)
    seconds = "fitting time (s)" if spec.protocol else "embedding + training time (s)"
    in_tables = "the numbers are in the tables of this section."
    return _drawn(
        f"{anchor}-time",
        error_against(groups, spec.headline, total_seconds, seconds),
        f"{sentence(label)} against the time to {work}, means over seeds; bars are 95 % intervals.{notes}",
        f"Scatter plot of {label} against total time; {in_tables}",
    ) + _drawn(
        f"{anchor}-dimension",
        error_against(groups, spec.headline, attrgetter("dimension"), "features", dodge=True),
        f"{sentence(label)} against the number of {reach}; bars are 95 % intervals{shifted}.{notes}",
        f"Scatter plot of {label} against dimension; {in_tables}",
    )


def _partial_note(groups: Sequence[RunGroup]) -> str:
    """Name the groups whose means are over fewer seeds than planned."""
    partial = [
        f"{group.label} ({group.finished_note})" for group in groups if group.finished and group.finished_note
    ]
    return f" Not over all seeds: {', '.join(partial)}." if partial else ""


def _learning(groups: Sequence[RunGroup], anchor: str) -> list[CaptionedFigure]:
    return _drawn(
        f"{anchor}-learning-curves",
        learning_curves(groups),
        "Learning curves of the first seed of each method.",
        "Line plots of training curves; the values are in the run records and in the dashboard.",
        wide=True,
    )


def _over_sizes(groups: Sequence[RunGroup], anchor: str) -> list[CaptionedFigure]:
    names = dict.fromkeys(name for group in groups for record in group.finished for name in record.curves)
    found = []
    for number, name in enumerate(names, start=1):
        found += _drawn(
            f"{anchor}-curve-{number}-{re.sub('[^A-Za-z0-9]+', '-', name)}",
            mean_curves(groups, name),
            f"{sentence(curve_label(name))}: means over seeds; shades are 95 % intervals, cut at the axes."
            f"{_partial_note(groups)}",
            f"Line plot of {curve_label(name)}, one line per method; the values are in the run records.",
        )
    return found


def exhibit_groups(groups: Sequence[RunGroup], anchor: str) -> list[ExhibitGroup]:
    """Draw the exhibits of the first seed of each group that has any, those of one title together."""
    by_title: dict[str, list[tuple[str, Record, Exhibit]]] = {}
    for group in groups:
        for record in [record for record in group.finished if record.exhibits][:1]:
            for exhibit in record.exhibits:
                by_title.setdefault(exhibit.title, []).append((group.label, record, exhibit))
    titled = []
    for number, (title, shown) in enumerate(by_title.items()):
        pictures = [
            picture
            for place, (label, record, exhibit) in enumerate(shown)
            if (picture := _exhibit(label, record.seed, exhibit, f"{anchor}-exhibit-{number}-{place}"))
        ]
        notes = dict.fromkeys(note for *_, exhibit in shown if (note := exhibit.legend()))
        if pictures:
            titled.append(ExhibitGroup(title, sentence("; ".join(notes)), pictures))
    return titled


def _exhibit(label: str, seed: int, exhibit: Exhibit, key: str) -> CaptionedFigure | None:
    drawing = exhibit_plots.drawing(exhibit)
    if drawing is None:
        return None
    alt = f"{label}: {exhibit.describe()}"
    return CaptionedFigure(key, drawing, f"seed {seed}", alt, exhibit_plots.is_wide(exhibit), label)
