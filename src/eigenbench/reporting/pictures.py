"""The pictures of one experiment, each with its caption and a description in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from eigenbench.experiments.record import Record
from eigenbench.experiments.suite import ExperimentSpec
from eigenbench.protocols.base import Exhibit
from eigenbench.reporting import exhibit_plots
from eigenbench.reporting.cells import Cell, total_seconds
from eigenbench.reporting.figures import error_against, has_families, learning_curves
from eigenbench.reporting.formatting import metric_style, sentence, split_size
from eigenbench.reporting.size_curves import curve_label, mean_curves


@dataclass(frozen=True)
class Picture:
    """An inline SVG with its caption and a description for readers who cannot see it."""

    svg: Markup
    caption: str
    alt: str
    wide: bool
    title: str = ""


@dataclass(frozen=True)
class ExhibitGroup:
    """The pictures of one title, side by side: one per method."""

    title: str
    note: str
    pictures: list[Picture]


class _Drawn(NamedTuple):
    svg: Markup | None
    caption: str
    alt: str
    wide: bool


def experiment_pictures(spec: ExperimentSpec, cells: Sequence[Cell], anchor: str) -> list[Picture]:
    """Draw what an experiment measured: against its costs, and over steps or sizes.

    ``anchor`` begins every identifier, and is unique on the page.
    """
    drawn = [] if split_size(spec.headline)[1] else [*_against_costs(spec, cells, anchor)]
    drawn += _over_sizes(cells, anchor) if spec.protocol else [_learning(cells, anchor)]
    return [Picture(one.svg, one.caption, one.alt, one.wide) for one in drawn if one.svg]


def _against_costs(spec: ExperimentSpec, cells: Sequence[Cell], anchor: str) -> tuple[_Drawn, _Drawn]:
    label = metric_style(spec.headline).label
    work = "fit" if spec.protocol else "fit the embedding and train the classifier"
    reach = "features" if spec.protocol else "features that reach the classifier"
    shifted = ", and classifiers of one method are shifted slightly" if len(spec.classifiers) > 1 else ""
    joined = " Methods whose names differ only in a final number are joined." if has_families(cells) else ""

    def dimension(record: Record) -> float | None:
        return record.dimension

    seconds = "fitting time (s)" if spec.protocol else "embedding + training time (s)"
    return (
        _Drawn(
            error_against(cells, spec.headline, total_seconds, seconds, key=f"{anchor}-time"),
            f"{sentence(label)} against the time to {work}, means over seeds; "
            f"bars are 95 % intervals.{joined}",
            f"Scatter plot of {label} against total time; the numbers are in the tables of this section.",
            False,
        ),
        _Drawn(
            error_against(cells, spec.headline, dimension, "features", key=f"{anchor}-dimension", dodge=True),
            f"{sentence(label)} against the number of {reach}; bars are 95 % intervals{shifted}.{joined}",
            f"Scatter plot of {label} against dimension; the numbers are in the tables of this section.",
            False,
        ),
    )


def _learning(cells: Sequence[Cell], anchor: str) -> _Drawn:
    return _Drawn(
        learning_curves(cells, key=f"{anchor}-curves"),
        "Learning curves of the first seed of each method.",
        "Line plots of training curves; the values are in the run records and in the dashboard.",
        True,
    )


def _over_sizes(cells: Sequence[Cell], anchor: str) -> list[_Drawn]:
    names = dict.fromkeys(name for cell in cells for record in cell.finished for name in record.curves)
    return [
        _Drawn(
            mean_curves(cells, name, key=f"{anchor}-curve-{number}"),
            f"{sentence(curve_label(name))}: means over seeds; shades are 95 % intervals, cut at the axes.",
            f"Line plot of {curve_label(name)}, one line per method; the values are in the run records.",
            False,
        )
        for number, name in enumerate(names)
    ]


def exhibit_groups(cells: Sequence[Cell], anchor: str) -> list[ExhibitGroup]:
    """Draw the exhibits of the first seed of each cell that has any, those of one title together."""
    by_title: dict[str, list[tuple[str, Record, Exhibit]]] = {}
    for cell in cells:
        for record in [record for record in cell.finished if record.exhibits][:1]:
            for exhibit in record.exhibits:
                by_title.setdefault(exhibit.title, []).append((cell.label, record, exhibit))
    groups = []
    for number, (title, shown) in enumerate(by_title.items()):
        pictures = [
            picture
            for place, (label, record, exhibit) in enumerate(shown)
            if (picture := _exhibit(label, record.seed, exhibit, f"{anchor}-exhibit-{number}-{place}"))
        ]
        notes = dict.fromkeys(note for *_, exhibit in shown if (note := exhibit_plots.reading(exhibit)))
        if pictures:
            groups.append(ExhibitGroup(title, sentence("; ".join(notes)), pictures))
    return groups


def _exhibit(label: str, seed: int, exhibit: Exhibit, key: str) -> Picture | None:
    svg = exhibit_plots.as_svg(exhibit, key)
    if svg is None:
        return None
    alt = f"{label}: {exhibit_plots.description(exhibit)}"
    return Picture(svg, f"seed {seed}", alt, exhibit_plots.is_wide(exhibit), label)
