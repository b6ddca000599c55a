"""Methods over the datasets of a suite: ranks, wins, tests of pairs, and cost against rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from eigenbench.bench.suites.suite import Suite
from eigenbench.comparison.pareto import pareto_front
from eigenbench.comparison.rank_intervals import rank_intervals
from eigenbench.comparison.ranks import (
    Friedman,
    RefusedComparison,
    complete_table,
    friedman,
    least_holm_p,
    wilcoxon_holm,
    win_tie_loss,
)
from eigenbench.comparison.ratios import equivalence, error_ratios
from eigenbench.reporting.csv_files import frame_csv
from eigenbench.reporting.replicates import Groups, RunGroup, headline_direction, total_seconds

#: Significance.
LEVEL = 0.05

_SHARED = ("suite", "metric", "n_datasets")
_INTERVALS = ("mean_rank", "rank_low", "rank_high", "place", "place_low", "place_high")
_OF_RANKS = ("competitor", *_INTERVALS, "n_failed", "seconds", "on_front")
_OF_PAIRS = ("first", "second", "wins", "ties", "losses", "p_value", "p_holm", "ratio", "low", "high")
RANK_COLUMNS = (*_SHARED, *_OF_RANKS)
PAIR_COLUMNS = (*_SHARED, *_OF_PAIRS, "detectable", "conclusion")


@dataclass(frozen=True)
class SuiteRanks:
    """Competitors that several experiments of a suite share, compared over their datasets.

    ``anchor`` identifies the comparison on a page. ``errors`` are datasets x competitors, the smaller the
    better, 1 minus the score where more is better; infinite where a run failed or was not run, NaN where
    there is no record. ``seconds`` and ``tied`` (with the best; False where unknown) have that shape.
    ``left_out`` are competitors that not all of these experiments plan, ``without_result`` datasets on which
    nothing has a result.
    """

    anchor: str
    suite: str
    metric: str
    errors: pd.DataFrame
    seconds: pd.DataFrame
    tied: pd.DataFrame
    left_out: tuple[str, ...]
    without_result: tuple[str, ...]

    @cached_property
    def refusal(self) -> str:
        """Reason for no comparison over datasets, in one sentence; empty where there is one."""
        try:
            complete_table(self.errors)
        except RefusedComparison as error:
            return str(error)
        return ""

    @property
    def n_datasets(self) -> int:
        """Number of datasets."""
        return len(self.errors)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Mean rank and place with intervals, failures, geometric mean of seconds and front, best first."""
        found = rank_intervals(self.errors)
        seconds = self.seconds[found.index].where(np.isfinite(self.errors[found.index]))
        found["seconds"] = np.exp(np.log(seconds.where(seconds > 0)).mean())
        never_failed = found["n_failed"] == 0
        costs = found.loc[never_failed, ["seconds", "mean_rank"]].to_numpy()
        found["on_front"] = never_failed
        found.loc[never_failed, "on_front"] = pareto_front(costs)
        return found

    @cached_property
    def friedman(self) -> Friedman | None:
        """The test of "all are equally good"; None for two competitors."""
        return friedman(self.errors) if self.errors.shape[1] > 2 else None

    @property
    def ratios(self) -> pd.DataFrame:
        """Errors as ratios to the best of the dataset, competitors by mean rank x datasets.

        An error of zero counts as half of the smallest positive one on its dataset, as in ``pairs``. Datasets
        with negative errors, as of scores above 1, have none.
        """
        positive = self.errors.where(self.errors > 0)
        half = positive.where(np.isfinite(positive)).min(axis=1).fillna(1.0) / 2
        errors = self.errors.mask(self.errors <= 0, half, axis=0)
        errors = errors.where((self.errors >= 0).all(axis=1), axis=0)
        return errors.div(errors.min(axis=1), axis=0)[self.ranks.index].T

    @property
    def shows_holm(self) -> bool:
        """True where so many datasets can make a p-value significant that is corrected for all pairs."""
        return least_holm_p(self.errors.shape[1], self.n_datasets) <= LEVEL

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """Wins, ties and losses of each pair by rank, Wilcoxon's test, and the ratio of positive errors."""
        ordered = self.errors[self.ranks.index]
        found = pd.concat([win_tie_loss(ordered), wilcoxon_holm(ordered)], axis=1)
        if not self.shows_holm:
            found["p_holm"] = np.nan
        try:
            ratios = error_ratios(ordered)
        except RefusedComparison:
            return found.assign(ratio=np.nan, low=np.nan, high=np.nan, detectable=np.nan, conclusion="open")
        return found.join(ratios).assign(conclusion=equivalence(ratios))


def suite_ranks(
    suite: Suite, groups: Groups, boards: Mapping[tuple[str, str], pd.DataFrame] | None = None
) -> list[SuiteRanks]:
    """Compare the competitors of a suite over its datasets, separately by metric; ``boards`` say which tie.

    Several experiments on one dataset count once, with the mean of their errors.
    """
    by_metric: dict[str, list[str]] = {}
    for name, spec in suite.experiments.items():
        metric = "test_error" if spec.headline == "test_errors" else spec.headline
        by_metric.setdefault(metric, []).append(name)
    several = [
        (metric, names)
        for metric, names in by_metric.items()
        if len({suite.experiments[name].dataset for name in names}) > 1
    ]
    return [
        _ranks(f"{suite.name}-ranks-{place}", suite, metric, names, groups, boards or {})
        for place, (metric, names) in enumerate(several)
    ]


def _ranks(
    anchor: str,
    suite: Suite,
    metric: str,
    names: Sequence[str],
    groups: Groups,
    boards: Mapping[tuple[str, str], pd.DataFrame],
) -> SuiteRanks:
    by_experiment = {name: {group.label: group for group in groups[suite.name, name]} for name in names}
    planned = list(dict.fromkeys(label for found in by_experiment.values() for label in found))
    shared = [label for label in planned if all(label in found for found in by_experiment.values())]
    datasets = [suite.experiments[name].dataset for name in names]
    lower = headline_direction(suite.experiments[names[0]]) if metric != "test_error" else True
    ties = {
        (name, *pair): float(tied)
        for name in names
        if (board := boards.get((suite.name, name))) is not None
        for *pair, tied in board.loc[board["tied"].notna(), ["method", "classifier", "tied"]].to_numpy()
    }
    errors = _table(by_experiment, shared, datasets, lambda _, group: _error(group, metric, lower))
    seconds = _table(by_experiment, shared, datasets, lambda _, group: group.mean(total_seconds))
    tied = _table(
        by_experiment, shared, datasets, lambda name, group: ties.get((name, *group.key)), skipna=True
    )
    empty = ~np.isfinite(errors).any(axis=1)
    return SuiteRanks(
        anchor,
        suite.name,
        metric,
        errors[~empty],
        seconds[~empty],
        tied[~empty] == 1,
        tuple(label for label in planned if label not in shared),
        tuple(errors.index[empty]),
    )


def _table(by_experiment, labels, datasets, value, *, skipna=False) -> pd.DataFrame:
    lines = [[value(name, found[label]) for label in labels] for name, found in by_experiment.items()]
    table = pd.DataFrame(lines, index=pd.Index(datasets, name="dataset"), columns=labels, dtype=np.float64)
    return table.groupby(level="dataset", sort=False).agg(lambda column: column.mean(skipna=skipna))


def _error(group: RunGroup, metric: str, lower: bool) -> float:
    """Return the mean error over all planned seeds; infinite if one failed, NaN if one has no record."""
    values = [record.metrics[metric] for record in group.finished if metric in record.metrics]
    if len(values) >= group.n_planned and np.isfinite(values).all():
        return float(np.mean(values)) if lower else 1 - float(np.mean(values))
    return np.nan if len(group.records) < group.n_planned else np.inf


def ranks_csv(found: Iterable[SuiteRanks]) -> str:
    """Tabulate mean ranks as CSV, one line per competitor; comparisons that were refused have none."""
    frames = [_named(one, one.ranks.rename_axis("competitor")) for one in found if not one.refusal]
    return frame_csv(frames, RANK_COLUMNS)


def pairs_csv(found: Iterable[SuiteRanks]) -> str:
    """Tabulate the tests of pairs as CSV, one line per pair of competitors."""
    frames = [_named(one, one.pairs.rename_axis(["first", "second"])) for one in found if not one.refusal]
    return frame_csv(frames, PAIR_COLUMNS)


def _named(found: SuiteRanks, lines: pd.DataFrame) -> pd.DataFrame:
    return lines.reset_index().assign(suite=found.suite, metric=found.metric, n_datasets=found.n_datasets)
