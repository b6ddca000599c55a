"""Sections of the page, computed from suites and records; the template only lays them out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from eigenbench.bench.records.record import Confusion, Record
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.comparison.differences import OVER_SPLITS
from eigenbench.reporting.captioned_figures import (
    CaptionedFigure,
    ExhibitGroup,
    exhibit_groups,
    experiment_figures,
    ranking_figures,
)
from eigenbench.reporting.estimates import KINDS
from eigenbench.reporting.forest_plot import forest_plot
from eigenbench.reporting.formatting import MetricStyle, by_size, metric_style, sentence
from eigenbench.reporting.leaderboard import leaderboard_notes, ranked_label, tied_with_best
from eigenbench.reporting.measurements import MeasureTable, measure_tables
from eigenbench.reporting.parameters import SearchView, search_of
from eigenbench.reporting.published import PublishedComparison, compare_published, verdict_counts
from eigenbench.reporting.replicates import Groups, RunGroup, find_group, headline_direction, status_counts
from eigenbench.reporting.suite_ranks import SuiteRanks, suite_ranks

#: Larger confusion matrices are left to the dashboard.
MAX_CONFUSION_CLASSES = 20


@dataclass(frozen=True)
class ConfusionView:
    """The confusion matrix of one run; shades of the mistakes go from 0 to 1, the most frequent one."""

    title: str
    counts: Confusion
    shades: list[list[float]]


@dataclass(frozen=True)
class ExperimentView:
    """Everything that the page shows of one experiment.

    Attributes
    ----------
    suite, name : Suite, str
        The suite, and the experiment's name in it.
    groups : list of RunGroup
        Its runs, by method and classifier.
    board : DataFrame
        Its leaderboard.
    """

    suite: Suite
    name: str
    groups: list[RunGroup]
    board: pd.DataFrame

    @property
    def anchor(self) -> str:
        """The start of every identifier of the experiment, unique on the page."""
        return f"{self.suite.name}-{self.name}"

    @property
    def spec(self) -> ExperimentSpec:
        """The experiment in its suite."""
        return self.suite.experiments[self.name]

    @property
    def title(self) -> str:
        """The title from the suite file, else the experiment's name."""
        return self.spec.title or self.name

    @property
    def headline(self) -> MetricStyle:
        """The style of the metric that ranks the methods."""
        return metric_style(self.spec.headline)

    @property
    def lower_is_better(self) -> bool:
        """The direction of the headline metric."""
        return headline_direction(self.spec)

    @cached_property
    def comparisons(self) -> list[PublishedComparison]:
        """The published numbers, each beside what was measured."""
        return compare_published(self.suite, self.name, self.groups)

    @property
    def headline_results(self) -> dict[str, str]:
        """The best method, the significance of its lead, and the share of published numbers reproduced."""
        share = reproduced_share(self.comparisons) if self.comparisons else ""
        return {"best": best_label(self.board), "significant": significance(self.board), "reproduced": share}

    @cached_property
    def best(self) -> list[RunGroup]:
        """The best group and those that cannot be distinguished from it."""
        return tied_with_best(self.groups, self.board)

    @property
    def board_lines(self) -> list[dict[str, Any]]:
        """The lines of the leaderboard; None for what is missing."""
        return self.board.astype(object).where(self.board.notna(), None).to_dict("records")

    @property
    def board_notes(self) -> list[str]:
        """Notes on the leaderboard; runs without a result have a table of their own."""
        return leaderboard_notes(self.board, failures=False)

    @cached_property
    def measures(self) -> list[MeasureTable]:
        """The tables of what a protocol measured."""
        return measure_tables(self.spec, self.groups) if self.spec.protocol else []

    @cached_property
    def pictures(self) -> list[CaptionedFigure]:
        """The figures."""
        return experiment_figures(self.spec, self.groups, self.anchor)

    @cached_property
    def forest(self) -> list[CaptionedFigure]:
        """The forest plot, alone in a list, or nothing with fewer than two ranked methods."""
        drawing = forest_plot(self.board, self.comparisons)
        if drawing is None:
            return []
        found, label = self.headline_results, self.headline.label
        verdicts = [
            f"published {self.headline.exact(row.number.value)}: {row.outcome}"
            for row in self.comparisons
            if row.outcome and row.number.metric == self.spec.headline and row.group in self.best[:1]
        ]
        caption = f"{found['best']} has the best {label}. Significant: {found['significant']}." + "".join(
            f" {sentence(text)}." for text in verdicts
        )
        caption += (
            " Lines are 95 % intervals, the band joins what ties with the best, ◇ is a published number."
        )
        alt = f"Forest plot of {label} by method; the numbers are in the leaderboard of this section."
        return [CaptionedFigure(f"{self.anchor}-forest", drawing, caption, alt, True)]

    @cached_property
    def exhibits(self) -> list[ExhibitGroup]:
        """The figures of what protocols exhibit."""
        return exhibit_groups(self.groups, self.anchor)

    @property
    def all_pictures(self) -> list[CaptionedFigure]:
        """The forest plot, the figures, then the exhibits."""
        return [
            *self.forest,
            *self.pictures,
            *(picture for group in self.exhibits for picture in group.pictures),
        ]

    @property
    def confusions(self) -> list[ConfusionView]:
        """The confusion matrices of the best group and of those with a published number."""
        first = [group for group in self.groups if group.label == best_label(self.board)]
        compared = [row.group for row in self.comparisons if row.group and row.estimate]
        shown = {group.label: group for group in [*first, *compared]}
        return [matrix for group in shown.values() if (matrix := _confusion(group))]

    @property
    def searches(self) -> list[SearchView]:
        """The hyperparameter searches."""
        return [search for group in self.groups if (search := search_of(group))]

    @property
    def metrics(self) -> list[str]:
        """Every metric that a run has."""
        names = {metric for group in self.groups for record in group.finished for metric in record.metrics}
        return sorted(names, key=by_size)

    @property
    def methods(self) -> list[str]:
        """Names of the rows of the grid."""
        return list(dict.fromkeys(group.method for group in self.groups))

    @property
    def classifiers(self) -> list[str]:
        """Names of the columns of the grid."""
        return list(dict.fromkeys(group.classifier for group in self.groups))

    def group(self, method: str, classifier: str) -> RunGroup | None:
        """Return one field of the grid."""
        return find_group(self.groups, method, classifier)

    def runs_link(self, method: str, classifier: str | None) -> str:
        """Return where the runs of a method and classifier begin in the table of all; empty without any."""
        group = find_group(self.groups, method, classifier or None)
        return f"#{self.anchor}-runs-{self.groups.index(group)}" if group and group.records else ""

    @property
    def runs(self) -> list[Record]:
        """Every run, in the order of the grid."""
        return [record for group in self.groups for record in group.records]

    @property
    def interval_note(self) -> str:
        """The kinds of the intervals of the grid."""
        kinds = {found.interval for group in self.groups if (found := group.estimate(self.spec.headline))}
        return " or ".join(kind for kind in KINDS if kind in kinds)

    @property
    def missing(self) -> list[RunGroup]:
        """Groups with fewer records than the suite asks for."""
        return [group for group in self.groups if len(group.records) < group.n_planned]


@dataclass(frozen=True)
class RanksView:
    """A comparison over the datasets of a suite, with its figures."""

    anchor: str
    metric: MetricStyle
    found: SuiteRanks
    pictures: list[CaptionedFigure]


@dataclass(frozen=True)
class SuiteView:
    """One suite: its experiments, what they say together, and its file."""

    suite: Suite
    ranks: list[RanksView]
    experiments: list[ExperimentView]
    file: str
    text: str

    @property
    def comparisons(self) -> list[PublishedComparison]:
        """The published numbers of all experiments."""
        return [row for experiment in self.experiments for row in experiment.comparisons]

    @property
    def pictures(self) -> list[tuple[str, CaptionedFigure]]:
        """All pictures, each with the name of its experiment; empty for those over datasets."""
        over_datasets = [("", picture) for ranks in self.ranks for picture in ranks.pictures]
        return over_datasets + [
            (experiment.name, picture)
            for experiment in self.experiments
            for picture in experiment.all_pictures
        ]

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of published numbers by verdict."""
        return verdict_counts(self.comparisons)

    @property
    def runs(self) -> dict[str, int]:
        """Number of runs by status."""
        return status_counts(record for experiment in self.experiments for record in experiment.runs)


def suite_views(
    suites: Sequence[Suite],
    groups: Groups,
    boards: dict[tuple[str, str], pd.DataFrame],
    files: dict[str, tuple[str, str]],
) -> list[SuiteView]:
    """Compute the sections of all suites; ``files`` maps a suite to its file's name and text."""
    return [
        SuiteView(
            suite,
            [_ranks(found, place) for place, found in enumerate(suite_ranks(suite, groups))],
            [
                ExperimentView(suite, name, groups[suite.name, name], boards[suite.name, name])
                for name in suite.experiments
            ],
            *files[suite.name],
        )
        for suite in suites
    ]


def _ranks(found: SuiteRanks, place: int) -> RanksView:
    anchor = f"{found.suite}-ranks-{place}"
    pictures = [] if found.refusal else ranking_figures(found, anchor)
    return RanksView(anchor, metric_style(found.metric), found, pictures)


def _confusion(group: RunGroup) -> ConfusionView | None:
    """Show the first finished run's confusion matrix, when it is small."""
    record = group.finished[0]
    if record.confusion is None or not 0 < len(record.confusion.labels) <= MAX_CONFUSION_CLASSES:
        return None
    shares = [
        [0.0 if row == column else number / max(sum(counts), 1) for column, number in enumerate(counts)]
        for row, counts in enumerate(record.confusion.matrix)
    ]
    largest = max(map(max, shares)) or 1.0
    shades = [[share / largest for share in row] for row in shares]
    return ConfusionView(f"{group.label}, seed {record.seed}", record.confusion, shades)


def by_source(rows: Iterable[PublishedComparison]) -> list[tuple[str, list[PublishedComparison]]]:
    """Group published numbers under a heading that names their source and data."""
    by_heading: dict[str, list[PublishedComparison]] = {}
    for row in rows:
        by_heading.setdefault(f"{row.number.source} · {row.experiment} on {row.dataset}", []).append(row)
    return list(by_heading.items())


def distinct_environments(records: Iterable[Record]) -> list[tuple[dict[str, Any], int]]:
    """Return the environments of the runs, each once, with the number of its runs, most frequent first."""
    texts = Counter(
        record.environment.model_dump_json(exclude={"gemm_gflops"})
        for record in records
        if record.environment
    )
    ordered = sorted(texts.items(), key=lambda item: (-item[1], item[0]))
    return [(json.loads(text), count) for text, count in ordered]


def distinct_datasets(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the datasets of the runs, each version once, by name."""
    texts = {record.dataset_info.model_dump_json() for record in records if record.dataset_info}
    return sorted(
        (json.loads(text) for text in texts), key=lambda info: (info["name"], info["sha256"], info["n_train"])
    )


def best_label(board: pd.DataFrame) -> str:
    """Return method and classifier of the first line of a leaderboard; empty where nothing has a rank."""
    ranked = board[board["rank"].notna()]
    return "" if ranked.empty else ranked_label(ranked.iloc[0])


def significance(board: pd.DataFrame) -> str:
    """Say whether the first line of a leaderboard is better than the others, by its tie group.

    Parameters
    ----------
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.

    Returns
    -------
    str
        Begins with ``yes``, ``no`` or ``unknown``; empty with fewer than two ranks.
    """
    ranked = board[board["rank"].notna()]
    if len(ranked) < 2:
        return ""
    others = ranked["tied"].iloc[1:]
    if others.isna().all():
        redrawn = ranked["compared_over"].iloc[0] == OVER_SPLITS
        return f"unknown: too few {'splits' if redrawn else 'seeds'} to tell"
    if n_tied := int(others.fillna(False).sum()):
        return f"no: ties with {n_tied} other{'s' if n_tied > 1 else ''}"
    if others.isna().any():
        return f"yes: better than the {others.notna().sum()} others that could be compared"
    return "yes: better than the other" if len(others) == 1 else f"yes: better than all {len(others)} others"


def reproduced_share(rows: Sequence[PublishedComparison]) -> str:
    """Say how many of the published numbers that were measured came out."""
    counts = verdict_counts(rows)
    came_out = counts["better"] + counts["reproduced"]
    measured = came_out + counts["off"]
    return f"{came_out} of {measured}" if measured else "none to compare"
