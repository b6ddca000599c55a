"""Sections of the page, computed from suites and records; the template only lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting import page_tables
from eigenbench.reporting.captioned_figures import (
    CaptionedFigure,
    ExhibitGroup,
    confusion_figures,
    drawn,
    exhibit_groups,
    experiment_figures,
    ranking_figures,
)
from eigenbench.reporting.display_names import dataset_name, method_name
from eigenbench.reporting.figures import forest_plot, published_by_group
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.leaderboard import in_order, leaderboards, line_titles, significance
from eigenbench.reporting.published import PublishedComparison, compare_all_published, verdict_counts
from eigenbench.reporting.replicates import RunGroup, headline_direction
from eigenbench.reporting.shown_table import ShownTable
from eigenbench.reporting.suite_ranks import SuiteRanks, suite_ranks


@dataclass(frozen=True)
class ExperimentView:
    """Content of the page on one experiment; ``comparisons`` are its published and measured numbers."""

    suite: Suite
    name: str
    groups: list[RunGroup]
    board: pd.DataFrame
    comparisons: list[PublishedComparison]

    @property
    def anchor(self) -> str:
        """The start of every identifier of the experiment, unique on the page."""
        return f"{self.suite.name}-{self.name}"

    @property
    def spec(self) -> ExperimentSpec:
        """The experiment in its suite."""
        return self.suite.experiments[self.name]

    @property
    def short_title(self) -> str:
        """The display name of the dataset, with the experiment's name where several are on the dataset."""
        dataset = self.spec.dataset
        alone = sum(one.dataset == dataset for one in self.suite.experiments.values()) == 1
        shown = dataset_name(dataset)
        return shown if alone or self.name == dataset else f"{shown}, {method_name(self.name)}"

    @property
    def title(self) -> str:
        """The title from the suite file, else the display name of the dataset."""
        return self.spec.title or self.short_title

    @cached_property
    def best(self) -> list[RunGroup]:
        """The best group, then those that tie with it; empty where nothing has a rank."""
        tied = self.board["tied"].fillna(self.board["rank"] == 1).fillna(False)
        return in_order(self.board[tied], self.groups)

    @property
    def result(self) -> str:
        """The result of the best, with its unit."""
        style = metric_style(self.spec.headline)
        return f"{style.measured(self.board['mean'].iloc[0])} {style.unit}".strip()

    @property
    def reproduced(self) -> str:
        """The share of the published numbers that are reproduced or bettered; empty where none is judged."""
        counts = verdict_counts(self.comparisons)
        measured = sum(counts.values()) - counts["not run"]
        return f"{measured - counts['off']} of {measured}" if measured else ""

    @property
    def finding(self) -> str:
        """The result in a line: best method, its value, significance of its lead, published numbers."""
        if not self.best:
            return "No method has a result from every planned seed yet."
        style, metric, value = metric_style(self.spec.headline), self.spec.headline, self.result
        order = "lowest" if headline_direction(self.spec) else "highest"
        if metric == "test_errors" and (info := self.best[0].finished[0].dataset_info):
            order, value = "fewest", f"{value} of {info.n_test:,}"
        texts = [f"{line_titles(self.board)[0]} has the {order} {style.label}: {value}."]
        lead = {"yes": "It is significantly", "no": "It", "unknown": "Significance unknown:"}
        answer, _, why = significance(self.board).partition(": ")
        texts += [f"{lead[answer]} {why}."] if answer else []
        reach = {"reproduced †": "reproduced (prediction interval of one run)"}
        texts += [
            f"Published {style.exact(row.number.value)}: {reach.get(row.marked_outcome, row.outcome)}."
            for row in self.comparisons
            if row.outcome and row.number.metric == metric and row.group is self.best[0]
        ]
        return " ".join(texts)

    @cached_property
    def leaderboard(self) -> ShownTable:
        """The leaderboard."""
        name = f"{self.anchor}-leaderboard"
        return page_tables.leaderboard_table(name, self.title, self.board, self.groups, self.runs_link)

    def runs_link(self, group: RunGroup) -> str:
        """Return the address of the runs of a group; empty where there is none."""
        return f"#{self.anchor}-runs-{self.groups.index(group)}" if group.records else ""

    @cached_property
    def pictures(self) -> list[CaptionedFigure]:
        """The figures."""
        return [
            *experiment_figures(self.spec, self.groups, self.anchor),
            *confusion_figures(self.groups, self.board, self.anchor),
        ]

    @cached_property
    def forest(self) -> list[CaptionedFigure]:
        """The forest plot, alone in a list, or nothing with fewer than two ranked methods."""
        caption = "Means with 95 % intervals, best first."
        caption += " Shaded: ties with the best." * (len(self.best) > 1)
        ranked = in_order(self.board[self.board["rank"].notna()], self.groups)
        numbers = published_by_group(self.comparisons, self.spec.headline)
        caption += " ◇: published number." * any(group.key in numbers for group in ranked)
        label = metric_style(self.spec.headline).label
        alt = f"Forest plot of {label} by method; the numbers are in the leaderboard below."
        drawing = forest_plot(self.board, numbers, self.groups)
        return drawn(f"{self.anchor}-forest", drawing, caption, alt, "wide forest")

    @cached_property
    def exhibits(self) -> list[ExhibitGroup]:
        """The figures of what runs exhibit, those of the best methods first."""
        return exhibit_groups(in_order(self.board, self.groups), self.anchor)

    @property
    def all_pictures(self) -> list[CaptionedFigure]:
        """The forest plot, the figures, then the exhibits."""
        exhibits = [picture for group in self.exhibits for picture in group.pictures]
        return [*self.forest, *self.pictures, *exhibits]


@dataclass(frozen=True)
class SuiteView:
    """One suite: its comparisons over datasets with their figures, its experiments, and its file."""

    suite: Suite
    ranks: list[tuple[SuiteRanks, list[CaptionedFigure]]]
    experiments: list[ExperimentView]
    file: str
    text: str

    @property
    def comparisons(self) -> list[PublishedComparison]:
        """The published numbers of all experiments."""
        return [row for experiment in self.experiments for row in experiment.comparisons]

    @property
    def summary(self) -> tuple[str, str]:
        """The first sentence of the description, and the others."""
        first, stop, rest = (self.suite.description or "").partition(". ")
        return first + stop.strip(), rest

    @property
    def pictures(self) -> list[CaptionedFigure]:
        """All pictures, those over datasets first."""
        return [
            *(picture for _, pictures in self.ranks for picture in pictures),
            *(picture for experiment in self.experiments for picture in experiment.all_pictures),
        ]


def suite_views(inputs: ReportInputs) -> list[SuiteView]:
    """Compute the sections of all suites; each published number is judged once."""
    suites, groups, views = inputs.suites, inputs.groups, []
    boards = leaderboards(suites, groups)
    published: dict[tuple[str, str], list[PublishedComparison]] = {place: [] for place in boards}
    for row in compare_all_published(suites, groups):
        published[row.suite, row.experiment].append(row)
    for suite in suites:
        ranks = [(found, ranking_figures(found)) for found in suite_ranks(suite, groups, boards)]
        places = [(suite.name, name) for name in suite.experiments]
        experiments = [ExperimentView(suite, at[1], groups[at], boards[at], published[at]) for at in places]
        path = inputs.suite_paths[suite.name]
        views.append(SuiteView(suite, ranks, experiments, path.name, path.read_text(encoding="utf-8")))
    return views
