"""Figures of experiments and suites, each with its caption and a description in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from eigenbench.bench.exhibits import Exhibit
from eigenbench.bench.records.record import Confusion
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting import exhibit_plots
from eigenbench.reporting.drawing import Drawing
from eigenbench.reporting.figures import LARGEST_RATIO, error_against, heat_map, rank_against_seconds, ranking
from eigenbench.reporting.formatting import metric_style, sentence, split_size
from eigenbench.reporting.leaderboard import in_order
from eigenbench.reporting.replicates import RunGroup, failed_sizes, headline_direction, total_seconds
from eigenbench.reporting.size_curves import LEARNING, mean_curves
from eigenbench.reporting.suite_ranks import SuiteRanks

#: Pictures of embeddings that an experiment shows side by side.
MAX_EXHIBITS = 4
#: Larger confusion matrices are only files in the dashboard.
MAX_CONFUSION_CLASSES = 20


@dataclass(frozen=True)
class CaptionedFigure:
    """A drawing with its caption and a description for readers who cannot see it.

    ``key`` is unique on the page and names the picture's own file; ``title`` is the method of an exhibit, to
    filter it by; ``kind`` has classes of the style sheet: ``wide`` for a row of its own, and ``forest``.
    """

    key: str
    drawing: Drawing
    caption: str
    alt: str
    kind: str = ""
    title: str = ""

    @cached_property
    def svg(self) -> Markup:
        """The SVG element of the page."""
        return self.drawing.svg(self.key)

    @property
    def svg_file(self) -> str:
        """The picture as a file of its own, labelled with the description."""
        label = f'role="img" aria-label="{escape(self.alt)}"'
        return str(self.svg).replace('aria-hidden="true"', label, 1)


@dataclass(frozen=True)
class ExhibitGroup:
    """The pictures of one title, side by side: one per method."""

    title: str
    note: str
    pictures: list[CaptionedFigure]


def experiment_figures(
    spec: ExperimentSpec, groups: Sequence[RunGroup], anchor: str
) -> list[CaptionedFigure]:
    """Draw what an experiment measured: against its costs, and over steps or sizes."""
    found = [] if spec.protocol and split_size(spec.headline)[1] else _against_costs(spec, groups, anchor)
    return found + _curves(spec, groups, anchor)


def ranking_figures(ranks: SuiteRanks) -> list[CaptionedFigure]:
    """Draw a comparison over datasets, unless it is refused: ratios to the best, ranks, rank against time."""
    if ranks.refusal:
        return []
    anchor, in_table = ranks.anchor, "the numbers are in the table of this section."
    ratios = (
        f"Error as a ratio to the best of the dataset: dark is {LARGEST_RATIO:g} times or more; "
        "a square marks ties with the best. Rows by mean rank."
    )
    over = f"Mean rank over {ranks.n_datasets} datasets with its 95 % interval, best first."
    time = "Mean rank against the time to fit (geometric mean). The line joins the Pareto front."
    return [
        *drawn(f"{anchor}-heat-map", heat_map(ranks), ratios, f"Heat map of ratios; {in_table}", "wide"),
        *drawn(f"{anchor}-ranking", ranking(ranks), over, f"Forest plot of ranks; {in_table}", "wide"),
        *drawn(f"{anchor}-time", rank_against_seconds(ranks), time, f"Rank by time; {in_table}", "wide"),
    ]


def confusion_figures(groups: Sequence[RunGroup], board: pd.DataFrame, anchor: str) -> list[CaptionedFigure]:
    """Draw the confusion matrices of the two best methods, where these are small."""
    ranked = in_order(board[board["rank"].notna()], groups)
    first = [(group, group.finished[0].confusion) for group in ranked if group.finished]
    small = [(group, one) for group, one in first if one and 0 < len(one.labels) <= MAX_CONFUSION_CLASSES]
    return [
        CaptionedFigure(
            f"{anchor}-confusion-{place}",
            exhibit_plots.confusion_drawing(matrix),
            f"Confusion of {group.title}, seed {group.finished[0].seed}: dark fields are the most frequent "
            "mistakes of a class.",
            f"Confusion matrix of {group.title}. {_mistakes(matrix)}",
        )
        for place, (group, matrix) in enumerate(small[:2], start=1)
    ]


def _mistakes(matrix: Confusion) -> str:
    """Name the most frequent mistake, for readers who cannot see the matrix."""
    counts = np.array(matrix.matrix) * (1 - np.eye(len(matrix.labels), dtype=int))
    row, column = np.unravel_index(counts.argmax(), counts.shape)
    if not counts.any():
        return "There is no mistake."
    rows = f"{counts[row, column]:.0f} rows"
    return f"Most frequent mistake: {matrix.labels[row]} taken for {matrix.labels[column]}, {rows}."


def drawn(key: str, drawing: Drawing | None, caption: str, alt: str, kind: str = "") -> list[CaptionedFigure]:
    """Return a figure as a list of one; an empty list where there is nothing to draw."""
    return [CaptionedFigure(key, drawing, caption, alt, kind)] if drawing else []


def _against_costs(spec: ExperimentSpec, groups: Sequence[RunGroup], anchor: str) -> list[CaptionedFigure]:
    label, lower = metric_style(spec.headline).label, headline_direction(spec)
    notes = _partial_note(groups)
    seconds = "fitting time (s)" if spec.protocol else "embedding + training time (s)"
    corner = f"{'lower' if lower else 'upper'} left is best"
    in_tables = "the numbers are in the tables of this section."
    return drawn(
        f"{anchor}-time",
        error_against(groups, spec.headline, total_seconds, seconds, lower=lower, front=True),
        f"{sentence(label)} against time: {corner}. The step line is the Pareto front, bars are 95 % "
        f"intervals.{notes}",
        f"Scatter plot of {label} against total time; {in_tables}",
    ) + drawn(
        f"{anchor}-dimension",
        error_against(groups, spec.headline, attrgetter("dimension"), "features", lower=lower),
        f"{sentence(label)} against the number of features: {corner}. Bars are 95 % intervals.{notes}",
        f"Scatter plot of {label} against the number of features; {in_tables}",
    )


def _partial_note(groups: Sequence[RunGroup]) -> str:
    """Name the groups whose means are over fewer seeds than planned, and those that failed at a size."""
    partial = [f"{group.title} ({note})" for group in groups if (note := group.seeds_note())]
    failed = [group.title for group in groups if any(map(failed_sizes, group.finished))]
    gaps = f" × marks sizes at which a seed failed: {', '.join(failed)}." if failed else ""
    return (f" Not over all seeds: {', '.join(partial)}." if partial else "") + gaps


_MEAN_CURVE = "means over seeds; shades are 95 % intervals, cut at the axes."
_CURVES = {
    **dict.fromkeys(LEARNING, "first seed; a line that still falls at its right end had not converged."),
    "kernel_mse_by_features": "lower is better; shades are 95 % intervals. A straight line is a power of the "
    "number of features.",
    "effective_rank_by_features": "higher is better: the directions that the features use. Shades are 95 % "
    "intervals.",
    "spectrum_by_component": "eigenvalues or singular values of the embedding, largest first; on a steep "
    "line few directions carry the signal.",
}


def _curves(spec: ExperimentSpec, groups: Sequence[RunGroup], anchor: str) -> list[CaptionedFigure]:
    better = "lower is better; " if headline_direction(spec) else "higher is better; "
    names = dict.fromkeys(name for group in groups for record in group.finished for name in record.curves)
    found = []
    for number, name in enumerate(names, start=1):
        metric = name.partition("_by_")[0]
        label = metric_style(metric).label
        direction = better if metric == split_size(spec.headline)[0] else ""
        found += drawn(
            f"{anchor}-curve-{number}-{re.sub('[^A-Za-z0-9]+', '-', name)}",
            mean_curves(groups, name),
            f"{sentence(label)}: {direction}{_CURVES.get(name, _MEAN_CURVE)}{_partial_note(groups)}",
            f"Line plot of {label}, one line per method; the values are in the run records.",
        )
    return found


def exhibit_groups(groups: Sequence[RunGroup], anchor: str) -> list[ExhibitGroup]:
    """Draw the exhibits of each group's first seed, those of one title together; the best group is first."""
    by_title: dict[str, list[tuple[RunGroup, int, Exhibit]]] = {}
    for group in groups:
        for record in [record for record in group.finished if record.exhibits][:1]:
            for exhibit in record.exhibits:
                by_title.setdefault(exhibit.title, []).append((group, record.seed, exhibit))
    titled = []
    for number, (title, shown) in enumerate(by_title.items()):
        pictures: list[CaptionedFigure] = []
        for place, (group, seed, exhibit) in enumerate(shown):
            if group.classifier == NO_CLASSIFIER or place < MAX_EXHIBITS:
                drawing = exhibit_plots.drawing(exhibit)
                name, kind = group.filter_name, "wide" if exhibit_plots.is_wide(drawing) else ""
                key, alt = f"{anchor}-exhibit-{number}-{place}", f"{name}: {exhibit.describe()}"
                pictures.append(CaptionedFigure(key, drawing, f"seed {seed}", alt, kind, name))
        notes = dict.fromkeys(note for *_, exhibit in shown if (note := exhibit.legend()))
        titled.append(ExhibitGroup(title, sentence("; ".join(notes)), pictures))
    return titled
