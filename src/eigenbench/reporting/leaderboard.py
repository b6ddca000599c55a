"""The leaderboard of an experiment: every method with every classifier, best first, and who ties."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import Suite
from eigenbench.comparison.diagram import pareto_front
from eigenbench.comparison.one_dataset import COLUMNS as COMPARED
from eigenbench.comparison.one_dataset import compare_over_seeds, compare_over_splits, compare_values
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.parameters import edge_note
from eigenbench.reporting.replicates import (
    Groups,
    RunGroup,
    group_runs,
    headline_direction,
    reason,
    total_seconds,
)
from eigenbench.reporting.row_metrics import RunMetrics, open_predictions

#: How methods were told apart.
OVER_SPLITS = "rows and splits"
OVER_SEEDS = "rows and seeds"
OVER_VALUES = "values of the seeds"

#: Beside the rank of a method that is not distinguishable from the best.
TIED = "="

#: Why there is no result of a run that was not made.
WITHOUT_RECORD = "without a record"

COLUMNS = (
    "suite",
    "experiment",
    "dataset",
    "rank",
    "method",
    "classifier",
    "metric",
    "mean",
    "ci_low",
    "ci_high",
    "interval",
    *COMPARED,
    "compared_over",
    "balanced_error",
    "log_loss",
    "seconds",
    "gemm_equivalents",
    "on_front",
    "peak_rss_mb",
    "model_bytes",
    "predictions_per_second",
    "n_seeds",
    "n_planned",
    "without_result",
    "grid_edge",
)

#: Where a group stands among the others.
STANDINGS = ("rank", *COMPARED, "compared_over")


def leaderboard(
    plan: SuitePlan, experiment: str, records: Sequence[Record], results_dir: Path | None = None
) -> pd.DataFrame:
    """Rank the methods of one experiment by its headline metric, from records and stored predictions.

    Parameters
    ----------
    plan : SuitePlan
        Its runs give the lines.
    experiment : str
        Name of the experiment in the suite.
    records : sequence of Record
        The runs; those of other experiments are left out.
    results_dir : Path, optional
        The folder with the predictions of the runs. Without it, and where a run has none, methods are
        compared by the values of the seeds alone.

    Returns
    -------
    DataFrame
        One line per method and classifier, columns `COLUMNS`: those with a result from every planned seed by
        ascending rank, then those that lack some, which have no rank and are never tied with the best, then
        those without any. ``tied`` (nullable) says whether the method is in the tie group of the best, and
        ``compared_over`` what that rests on; ``difference`` is to the best in units of the metric, with its
        95 % interval; ``p_holm`` is corrected for the number of methods, ``tie_p_value`` also for the choice
        of the best. ``seconds`` is the time to fit embedding and classifier, mean over seeds;
        ``gemm_equivalents`` is that time in 10^9 operations of float32 matrix products on the same machine;
        ``on_front`` says whether nothing with a rank is both faster and better.
        ``without_result`` says which seeds have none, and why.

    Raises
    ------
    KeyError
        If the suite has no such experiment.
    """
    groups = group_runs([plan], records, results_dir=results_dir)[plan.suite.name, experiment]
    return leaderboard_of_groups(plan.suite, experiment, groups)


def leaderboard_of_groups(suite: Suite, experiment: str, groups: Sequence[RunGroup]) -> pd.DataFrame:
    """Make the table of `leaderboard` from the groups of one experiment."""
    spec = suite.experiments[experiment]
    metric, lower = spec.headline, headline_direction(spec)
    shared = {"suite": suite.name, "experiment": experiment, "dataset": spec.dataset, "metric": metric}
    lines = [shared | _estimated(group, metric) | _costs(group) for group in groups]
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    table[list(STANDINGS)] = standings(groups, metric, lower=lower)
    losses = table["mean"] * (1 if lower else -1)
    ranked = pd.DataFrame({"loss": losses.where(table["rank"].notna()), "seconds": table["seconds"]})
    table["on_front"] = pareto_front(ranked.to_numpy(dtype=np.float64))
    order = pd.DataFrame({"rank": table["rank"].fillna(len(table) + 1), "mean": losses})
    return table.loc[order.sort_values(["rank", "mean"], kind="stable").index].reset_index(drop=True)


def standings(groups: Sequence[RunGroup], metric: str, *, lower: bool) -> pd.DataFrame:
    """Rank groups by a metric and tell them apart: a line for each, in their order, columns `STANDINGS`."""
    complete = [group for group in groups if _is_complete(group, metric)]
    compared, basis = _compared(complete, metric, lower)
    lines = []
    for group in groups:
        line: dict[str, Any] = {"tied": False if group.records else pd.NA}
        if group.label in compared.index:
            line |= compared.loc[group.label].to_dict() | {"compared_over": basis}
        lines.append(line)
    table = pd.DataFrame(lines, columns=list(STANDINGS))
    means = {group.label: found.mean for group in complete if (found := group.estimate(metric))}
    ranked = pd.Series([means.get(group.label) for group in groups], dtype=np.float64)
    table["rank"] = ranked.rank(method="min", ascending=lower).astype("Int64")
    table["tied"] = table["tied"].astype("boolean")
    return table


def tied_with_best(groups: Sequence[RunGroup], board: pd.DataFrame) -> list[RunGroup]:
    """Return the groups of an experiment that its leaderboard has in the tie group of the best."""
    tied = board[board["tied"].fillna(False)]
    names = set(zip(tied["method"], tied["classifier"], strict=True))
    return [
        group
        for group in groups
        if (group.method, "" if group.classifier == NO_CLASSIFIER else group.classifier) in names
    ]


def tie_group_of(groups: Sequence[RunGroup], metric: str, *, lower: bool) -> list[RunGroup]:
    """Return the best groups by a metric, with those that cannot be distinguished from them."""
    complete = [group for group in groups if _is_complete(group, metric)]
    compared, _ = _compared(complete, metric, lower)
    tied = set(compared.index[compared["tied"].fillna(False)]) if len(compared) else set()
    return [group for group in complete if group.label in tied]


def ranked_label(line: pd.Series) -> str:
    """Return method and classifier of a line in a few words, as `RunGroup.label` does."""
    return f"{line['method']} + {line['classifier']}" if line["classifier"] else str(line["method"])


def leaderboards(suites: Sequence[Suite], groups: Groups) -> dict[tuple[str, str], pd.DataFrame]:
    """Make the leaderboard of every experiment, by the names of its suite and its own."""
    return {
        (suite.name, name): leaderboard_of_groups(suite, name, groups[suite.name, name])
        for suite in suites
        for name in suite.experiments
    }


def leaderboard_notes(board: pd.DataFrame, *, failures: bool = True) -> list[str]:
    """Say what ties mean here, which choices lie at the edge of a grid, and which seeds have no result.

    What holds for several methods is said once.
    """
    notes = []
    lacking: dict[str, list[str]] = {}
    if board["tied"].fillna(False).sum() > 1:
        basis = str(board["compared_over"].dropna().iloc[0])
        notes.append(f"{TIED} not distinguishable from the best, over {basis}")
    elif (board["compared_over"] == OVER_VALUES).any() and board.loc[board["rank"] > 1, "tied"].isna().any():
        notes.append("One value for each method: whether they tie is unknown.")
    for line in board.to_dict("records"):
        label = " + ".join(filter(None, (line["method"], line["classifier"])))
        notes += [f"{label}: {line['grid_edge']}"] if line["grid_edge"] else []
        if failures and line["without_result"]:
            lacking.setdefault(line["without_result"], []).append(label)
    return notes + [f"{', '.join(labels)}: {text}" for text, labels in lacking.items()]


def leaderboard_csv(boards: Sequence[pd.DataFrame]) -> str:
    """Tabulate leaderboards one below the other as CSV, raw and unrounded; missing values are empty."""
    rows = [
        [None if pd.isna(value) else value for value in line]
        for board in boards
        for line in board.astype(object).itertuples(index=False)
    ]
    return csv_text(COLUMNS, rows)


def _is_complete(group: RunGroup, metric: str) -> bool:
    found = group.estimate(metric)
    return found is not None and math.isfinite(found.mean) and found.n_seeds >= group.n_planned


def _compared(complete: Sequence[RunGroup], metric: str, lower: bool) -> tuple[pd.DataFrame, str]:
    """Tell the complete groups apart; return the table by label and what it rests on."""
    if not complete:
        return pd.DataFrame(), ""
    found = {group.label: rows for group in complete if (rows := group.row_metrics(metric)) is not None}
    if len(found) == len(complete):
        if any(runs.drawn and len(runs.by_seed) > 1 for runs in found.values()):
            return _over_splits(complete, found, lower), OVER_SPLITS
        sizes = {run.n_rows for runs in found.values() for run in runs.by_seed.values()}
        seeds = {seed for runs in found.values() if runs.drawn for seed in runs.by_seed}
        if len(sizes) == 1 and len(seeds) <= 1:
            runs_of = {label: list(runs.by_seed.values()) for label, runs in found.items()}
            return compare_over_seeds(runs_of, lower_is_better=lower), OVER_SEEDS
    return _over_values(complete, metric, lower), OVER_VALUES


def _over_splits(complete: Sequence[RunGroup], found: dict[str, RunMetrics], lower: bool) -> pd.DataFrame:
    """Compare the groups with a run in every split; one that is planned in fewer cannot be compared."""
    splits = sorted({seed for runs in found.values() for seed in runs.by_seed})
    everywhere = {label: runs.by_seed for label, runs in found.items() if len(runs.by_seed) == len(splits)}
    first = next((group for group in complete if group.label in everywhere), None)
    if first is None:
        return pd.DataFrame()
    info = first.finished[0].dataset_info
    assert info is not None
    return compare_over_splits(
        everywhere,
        _test_rows(first),
        n_train=info.n_train,
        n_test=info.n_test,
        lower_is_better=lower,
    )


def _test_rows(group: RunGroup) -> dict[int, Any]:
    assert group.results_dir is not None
    found = {}
    for record in group.finished:
        with open_predictions(group.results_dir, record) as arrays:
            found[record.seed] = arrays["rows"]
    return found


def _over_values(complete: Sequence[RunGroup], metric: str, lower: bool) -> pd.DataFrame:
    """Pair the values over the seeds that all have in common."""
    values = pd.DataFrame(
        {
            group.label: {record.seed: record.metrics[metric] for record in group.finished}
            for group in complete
        }
    ).dropna()
    return compare_values(values, lower_is_better=lower) if len(values) else pd.DataFrame()


def _estimated(group: RunGroup, metric: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "method": group.method,
        "classifier": "" if group.classifier == NO_CLASSIFIER else group.classifier,
        "n_seeds": 0,
        "n_planned": group.n_planned,
        "without_result": _without_result(group),
        "grid_edge": edge_note(group.finished),
    }
    if found := group.estimate(metric):
        line |= {"mean": found.mean, "ci_low": found.low, "ci_high": found.high}
        line |= {"interval": found.interval, "n_seeds": found.n_seeds}
    return line


def _without_result(group: RunGroup) -> str:
    """Say which seeds have no result and why, those of one reason together."""
    seeds: dict[str, list[str]] = {}
    for record in group.records:
        if record.status != "ok":
            seeds.setdefault(reason(record), []).append(str(record.seed))
    notes = [f"seed {', '.join(found)}: {why}" for why, found in seeds.items()]
    if len(group.records) < group.n_planned:
        notes.append(f"{group.n_planned - len(group.records)} of {group.n_planned} seeds {WITHOUT_RECORD}")
    return "; ".join(notes)


def _costs(group: RunGroup) -> dict[str, float | None]:
    return {
        "balanced_error": group.mean(lambda record: record.metrics.get("test_balanced_error")),
        "log_loss": group.mean(lambda record: record.metrics.get("test_log_loss")),
        "seconds": group.mean(total_seconds),
        "gemm_equivalents": group.mean(gemm_equivalents),
        "peak_rss_mb": group.mean(lambda record: record.peak_rss_mb),
        "model_bytes": group.mean(lambda record: record.model.bytes if record.model else None),
        "predictions_per_second": group.mean(_predictions_per_second),
    }


def gemm_equivalents(record: Record) -> float | None:
    """Return the time to fit in 10^9 operations of matrix products on the same machine; None if unknown."""
    seconds, environment = total_seconds(record), record.environment
    if seconds is None or environment is None or environment.gemm_gflops is None:
        return None
    return seconds * environment.gemm_gflops


def _predictions_per_second(record: Record) -> float | None:
    if not record.predict_seconds or record.dataset_info is None or record.classifier == NO_CLASSIFIER:
        return None
    return record.dataset_info.n_test / record.predict_seconds
