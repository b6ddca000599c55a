"""Sections of the page, computed from suites and records; the template only lays them out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from eigenbench.bench.records.record import Record
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting import page_tables, run_tables
from eigenbench.reporting.captioned_figures import (
    CaptionedFigure,
    ExhibitGroup,
    confusion_figures,
    exhibit_groups,
    experiment_figures,
    ranking_figures,
)
from eigenbench.reporting.display_names import dataset_name, method_name
from eigenbench.reporting.figures import forest_plot
from eigenbench.reporting.formatting import MetricStyle, metric_style
from eigenbench.reporting.leaderboard import (
    best_name,
    check_notes,
    comparison_notes,
    ranked_label,
    significance,
    tied_with_best,
)
from eigenbench.reporting.published import PublishedComparison, compare_published, verdict_counts
from eigenbench.reporting.replicates import Groups, RunGroup, headline_direction, status_counts
from eigenbench.reporting.shown_table import ShownTable
from eigenbench.reporting.suite_ranks import SuiteRanks, suite_ranks


@dataclass(frozen=True)
class ExperimentView:
    """Everything that the page shows of one experiment: its runs by method and classifier, and more."""

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
        """The title from the suite file, else the display name of the dataset."""
        return self.spec.title or self.short_title

    @property
    def short_title(self) -> str:
        """The display name of the dataset, with the experiment's name where that is another."""
        dataset = dataset_name(self.spec.dataset)
        same = (
            self.name == self.spec.dataset
            or sum(one.dataset == self.spec.dataset for one in self.suite.experiments.values()) == 1
        )
        return dataset if same else f"{dataset}, {method_name(self.name)}"

    @property
    def headline(self) -> MetricStyle:
        """The style of the metric that ranks the methods."""
        return metric_style(self.spec.headline)

    @cached_property
    def comparisons(self) -> list[PublishedComparison]:
        """The published numbers, each beside what was measured."""
        return compare_published(self.suite, self.name, self.groups)

    @property
    def headline_results(self) -> dict[str, str]:
        """The best method, the significance of its lead, and the share of published numbers reproduced."""
        share = reproduced_share(self.comparisons) if self.comparisons else ""
        return {"best": best_name(self.board), "significant": significance(self.board), "reproduced": share}

    @property
    def finding(self) -> str:
        """The result in a line: best method, its value, significance of its lead, published numbers."""
        found = self.headline_results
        if not found["best"]:
            return "No method has a result from every planned seed yet."
        style, first = self.headline, self.board.iloc[0]
        order = "lowest" if headline_direction(self.spec) else "highest"
        value = f"{style.measured(first['mean'])} {style.unit}".strip()
        info = next((record.dataset_info for record in self.best[0].finished), None) if self.best else None
        if self.spec.headline == "test_errors" and info:
            order, value = "fewest", f"{value} of {info.n_test:,}"
        answer, _, why = found["significant"].partition(": ")
        lead = {
            "yes": f" It is significantly {why}.",
            "no": f" It {why}.",
            "unknown": f" Significance unknown: {why}.",
        }
        published = [
            f" Published {style.exact(row.number.value)}: {row.outcome}."
            for row in self.comparisons
            if row.outcome and row.number.metric == self.spec.headline and row.group in self.best[:1]
        ]
        return (
            f"{found['best']} has the {order} {style.label}: {value}."
            + lead.get(answer, "")
            + "".join(published)
        )

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
        """The basis of the tie marks, what would settle open comparisons, and findings of checks."""
        return comparison_notes(self.board) + check_notes(self.board)

    @property
    def edge_notes(self) -> list[str]:
        """The methods whose search chose a value at the edge of its grid."""
        return [
            f"{ranked_label(line)}: {line['grid_edge']}" for line in self.board_lines if line["grid_edge"]
        ]

    @cached_property
    def leaderboard(self) -> ShownTable:
        """The leaderboard."""
        return page_tables.leaderboard_table(
            f"{self.anchor}-leaderboard", self.title, self.board, self.groups, self._runs_link
        )

    def _runs_link(self, group: RunGroup) -> str:
        return f"#{self.anchor}-runs-{self.groups.index(group)}" if group.records else ""

    @cached_property
    def measures(self) -> list[ShownTable]:
        """The tables of what a protocol measured."""
        return page_tables.measure_tables(self.spec, self.groups, self.anchor) if self.spec.protocol else []

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
        drawing = forest_plot(self.board, self.comparisons)
        if drawing is None:
            return []
        caption = "Means with 95 % intervals, best first."
        caption += " Shaded: ties with the best." * (len(self.best) > 1)
        caption += " ◇: published number." * bool(self.comparisons)
        alt = f"Forest plot of {self.headline.label} by method; the numbers are in the leaderboard below."
        return [CaptionedFigure(f"{self.anchor}-forest", drawing, caption, alt, True)]

    @cached_property
    def exhibits(self) -> list[ExhibitGroup]:
        """The figures of what runs exhibit."""
        order = {(line["method"], line["classifier"]): place for place, line in enumerate(self.board_lines)}
        by_rank = sorted(self.groups, key=lambda one: order[one.method, page_tables.classifier_key(one)])
        return exhibit_groups(by_rank, self.anchor)

    @property
    def all_pictures(self) -> list[CaptionedFigure]:
        """The forest plot, the figures, then the exhibits."""
        return [
            *self.forest,
            *self.pictures,
            *(picture for group in self.exhibits for picture in group.pictures),
        ]

    @cached_property
    def searches(self) -> ShownTable | None:
        """The hyperparameter searches."""
        return run_tables.searches_table(f"{self.anchor}-searches", self.groups)

    @property
    def runs(self) -> list[Record]:
        """Every run, in the order of the leaderboard's groups."""
        return [record for group in self.groups for record in group.records]


@dataclass(frozen=True)
class RanksView:
    """A comparison over the datasets of a suite, with its figures."""

    anchor: str
    metric: MetricStyle
    found: SuiteRanks
    pictures: list[CaptionedFigure]

    @property
    def table(self) -> ShownTable:
        """Mean ranks."""
        return page_tables.ranks_table(self.anchor, self.found, self.metric)

    @property
    def pairs(self) -> ShownTable:
        """The tests of pairs."""
        return page_tables.pairs_table(self.anchor.replace("-ranks-", "-pairs-"), self.found, self.metric)


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
    def summary(self) -> tuple[str, str]:
        """The first sentence of the description, and the others."""
        first, stop, rest = self.suite.description.partition(". ") if self.suite.description else ("", "", "")
        return first + stop.strip(), rest

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
            [_ranks(found, place) for place, found in enumerate(suite_ranks(suite, groups, boards))],
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


def reproduced_share(rows: Sequence[PublishedComparison]) -> str:
    """Say how many of the published numbers that were measured are reproduced or bettered."""
    counts = verdict_counts(rows)
    reproduced = counts["better"] + counts["reproduced"]
    measured = reproduced + counts["off"]
    return f"{reproduced} of {measured}" if measured else ""
