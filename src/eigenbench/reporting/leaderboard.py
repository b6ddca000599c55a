"""The leaderboard of an experiment: every method with every classifier, best first, and who ties."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import SIZES, ExperimentSpec, Suite
from eigenbench.comparison.differences import COLUMNS as COMPARED
from eigenbench.comparison.differences import (
    MIN_SPLITS,
    OVER_SPLITS,
    MethodDifferences,
    compare_methods,
    compare_values,
)
from eigenbench.comparison.pareto import pareto_front
from eigenbench.reporting.checks import check_results, scaled_scores
from eigenbench.reporting.display_names import method_name, run_name
from eigenbench.reporting.formatting import metric_style, split_size
from eigenbench.reporting.parameters import edge_note
from eigenbench.reporting.replicates import (
    Groups,
    RunGroup,
    failed_sizes,
    group_runs,
    headline_direction,
    reason,
    total_seconds,
)

#: Beside the rank of a method that is not distinguishable from the best.
TIED = "="

#: Why there is no result of a run that was not made.
WITHOUT_RECORD = "without a record"

_IDENTITY = ("suite", "experiment", "dataset", "rank", "method", "classifier", "metric")
_ESTIMATE = ("mean", "ci_low", "ci_high", "interval")
_COMPARED = (*COMPARED, "compared_over", "refusal")
_QUALITY = ("balanced_error", "log_loss")
_COSTS = ("seconds", "gemm_equivalents", "on_front", "peak_rss_mb", "model_bytes", "predictions_per_second")
_COMPLETENESS = ("n_seeds", "n_planned", "without_result", "grid_edge", "scaled_score", "checks")
_FURTHER = ("train_rows", "classes", "search_seconds")
COLUMNS = (*_IDENTITY, *_ESTIMATE, *_COMPARED, *_QUALITY, *_COSTS, *_COMPLETENESS, *_FURTHER)

#: Errors of kernels, which differ between methods by powers of ten, and the basis of their test.
_OVER_POWERS_OF_TEN = ("kernel_mse", "expected_kernel_mse")
_OVER_LOGS = "logarithms of the values of the seeds"

_ONE_TEST_SET = "No test: without stored predictions, one test set gives no variance over its rows."
_ALONE = "No test: it lacks seeds or splits that the others have."
_BEST_ALONE = "No test: the method with the best mean lacks seeds that the others have."
_NO_SPREAD = "No test: its differences from the best do not vary."

#: Where a group stands among the others.
STANDINGS = ("rank", *_COMPARED)


def leaderboard(
    plan: SuitePlan, experiment: str, records: Sequence[Record], results_dir: Path | None = None
) -> pd.DataFrame:
    """Rank the methods of one experiment by its headline metric: a line each, columns `COLUMNS`.

    First come methods with a result from every planned seed, by rank, then those that lack some, which have
    no rank and are never tied, then those without any. ``tied`` (nullable) is membership in the tie group of
    the best, ``compared_over`` the basis of the test, ``refusal`` the reason for none; the columns between
    are those of `eigenbench.comparison.differences.MethodDifferences`. ``seconds`` is the mean time to fit,
    ``gemm_equivalents`` that time in 10^9 operations of float32 matrix products on the same machine. Nothing
    with a rank is faster and better than a line ``on_front``. Without ``results_dir``, and where a run has no
    predictions there, methods are compared by the values of the seeds alone.
    """
    groups = group_runs([plan], records, results_dir=results_dir)[plan.suite.name, experiment]
    return leaderboard_of_groups(plan.suite, experiment, groups)


def leaderboard_of_groups(
    suite: Suite, experiment: str, groups: Sequence[RunGroup], metric: str | None = None
) -> pd.DataFrame:
    """Make the table of `leaderboard` from the groups of an experiment, by its headline or another metric."""
    spec = suite.experiments[experiment]
    metric, lower = metric or spec.headline, headline_direction(spec)
    shared = {"suite": suite.name, "experiment": experiment, "dataset": spec.dataset, "metric": metric}
    size = _size(spec, metric)
    lines = [shared | size | _estimated(group, metric) | _costs(group) for group in groups]
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    table[list(STANDINGS)] = standings(groups, metric, lower=lower)
    scores, checks = scaled_scores(spec, groups), check_results(spec, groups)
    silent = "grid_edge" in spec.silence
    table["grid_edge"] = ["" if silent else edge_note(group.finished) for group in groups]
    table["scaled_score"] = [scores.get(group.label, math.nan) for group in groups]
    table["checks"] = [
        "; ".join(f"{check.code}: {check.text}" for check in checks if check.label == group.label)
        for group in groups
    ]
    losses = table["mean"] * (1 if lower else -1)
    ranked = pd.DataFrame({"loss": losses.where(table["rank"].notna()), "seconds": table["seconds"]})
    table["on_front"] = pareto_front(ranked.to_numpy(dtype=np.float64))
    order = pd.DataFrame({"rank": table["rank"].fillna(len(table) + 1), "mean": losses})
    return table.loc[order.sort_values(["rank", "mean"], kind="stable").index].reset_index(drop=True)


def standings(groups: Sequence[RunGroup], metric: str, *, lower: bool) -> pd.DataFrame:
    """Rank groups by a metric and compare them with the best: a line for each, columns `STANDINGS`."""
    compared = compare_groups(groups, metric, lower=lower)
    ranks = _means(_complete(groups, metric), metric).rank(method="min", ascending=lower).astype("Int64")
    table = compared.table.assign(rank=ranks, compared_over=compared.basis, refusal=compared.refusal)
    table = table.reindex([group.label for group in groups]).reset_index(drop=True)
    incomplete = pd.Series([bool(group.records) for group in groups], dtype=bool) & table["rank"].isna()
    table["tied"] = table["tied"].astype("boolean").mask(incomplete, False)
    table = table.fillna({"refusal": ""})
    ranked = table["rank"].notna()
    untested = ranked & table["tied"].isna() & (table["difference"] != 0) & (table["refusal"] == "")
    seeds = pd.Series([frozenset(record.seed for record in group.finished) for group in groups], dtype=object)
    lacks_some = seeds != frozenset().union(*seeds[ranked])
    table.loc[untested, "refusal"] = lacks_some.map({True: _ALONE, False: _NO_SPREAD})
    return table[list(STANDINGS)]


def compare_groups(groups: Sequence[RunGroup], metric: str, *, lower: bool) -> MethodDifferences:
    """Compare the groups with a result from every planned seed, by their test rows where these are kept."""
    complete = _complete(groups, metric)
    found = {name: rows for name, group in complete.items() if (rows := group.row_metrics(metric))}
    if complete and len(found) == len(complete):
        longest = max(found.values(), key=lambda rows: len(rows.by_seed))
        sizes = {run.n_rows for rows in found.values() for run in rows.by_seed.values()}
        if longest.test_rows is not None or len(sizes) == 1:
            return compare_methods(
                {name: rows.by_seed for name, rows in found.items()},
                test_rows=longest.test_rows,
                groups=longest.groups,
                lower_is_better=lower,
            )
    runs = {name: group.finished for name, group in complete.items()}
    by_seed = {name: {run.seed: run.metrics[metric] for run in own} for name, own in runs.items()}
    values = pd.DataFrame(by_seed).dropna(axis="columns")
    means = _means(complete, metric)
    untested = compare_values(means.to_frame().T, lower_is_better=lower)
    overlap = max((group.overlap for group in complete.values()), default=0.0)
    if len(complete) > 1 and overlap >= 1:
        return replace(untested, refusal=_ONE_TEST_SET)
    if not (untested.table.loc[values.columns, "difference"] == 0).any():
        return replace(untested, refusal=_BEST_ALONE) if len(values) >= MIN_SPLITS else untested
    tested = _compare_seeds(values, metric, overlap=overlap, lower=lower)
    return replace(tested, table=tested.table.combine_first(untested.table))


def _compare_seeds(values: pd.DataFrame, metric: str, *, overlap: float, lower: bool) -> MethodDifferences:
    """Compare the values of the seeds; positive kernel errors, which differ by powers of ten, by logarithms.

    The test of logarithms gives tie mark and p-value. A difference of means then has no interval.
    """
    tested = compare_values(values, overlap=overlap, lower_is_better=lower)
    if split_size(metric)[0] not in _OVER_POWERS_OF_TEN or not (values > 0).all(axis=None):
        return tested
    of_logs = compare_values(np.log(values), overlap=overlap, lower_is_better=lower)
    best = tested.table["difference"] == 0
    if not (of_logs.table["difference"] == 0).equals(best):
        return tested
    table = tested.table.assign(
        **{name: of_logs.table[name] for name in ("tied", "p_value", "n_to_settle")},
        **dict.fromkeys(("difference_low", "difference_high", "detectable"), math.nan),
    )
    return MethodDifferences(table, _OVER_LOGS, of_logs.refusal)


def in_order(board: pd.DataFrame, groups: Sequence[RunGroup]) -> list[RunGroup]:
    """Return the groups of the lines of a leaderboard."""
    by_key = {group.key: group for group in groups}
    return [by_key[key] for key in zip(board["method"], board["classifier"], strict=True)]


def tie_group_of(groups: Sequence[RunGroup], metric: str, *, lower: bool) -> list[RunGroup]:
    """Return the best groups by a metric, with those that cannot be distinguished from them."""
    table = compare_groups(groups, metric, lower=lower).table
    tied = set(table.index[table["tied"].fillna(False) | (table["difference"] == 0)])
    return [group for group in _complete(groups, metric).values() if group.label in tied]


def ranked_label(line: Mapping[Hashable, Any] | pd.Series) -> str:
    """Return the display name of the method and classifier of a line."""
    return run_name(str(line["method"]), str(line["classifier"]))


def line_titles(board: pd.DataFrame) -> list[str]:
    """Return the display names of the lines, without a classifier that they all share."""
    shared = board["classifier"].nunique() == 1
    return [
        method_name(str(line["method"])) if shared else ranked_label(line) for _, line in board.iterrows()
    ]


def boards_at_sizes(suites: Sequence[Suite], groups: Groups) -> list[pd.DataFrame]:
    """Make the leaderboards of experiments that measure several sizes in one run, at each of the others."""
    return [
        leaderboard_of_groups(suite, name, groups[suite.name, name], metric)
        for suite in suites
        for name, spec in suite.experiments.items()
        if (settings := spec.protocol_settings) is not None and settings.takes_sizes
        for metric in settings.metrics()
        if metric.startswith("test_error_at_") and metric != spec.headline
    ]


def _size(spec: ExperimentSpec, metric: str) -> dict[str, int | None]:
    """Return the training rows or classes of an experiment's leaderboard; of a protocol, by its metric."""
    settings = spec.protocol_settings
    sizes = {key: max(getattr(spec, key), default=None) for key in SIZES}
    if settings is not None and settings.takes_sizes:
        sizes = {key: split_size(metric)[1] if getattr(settings, key) else None for key in SIZES}
    return sizes


def significance(board: pd.DataFrame) -> str:
    """Say whether the first line is better than the others, beginning with yes, no or unknown; or nothing."""
    ranked = board[board["rank"].notna()]
    if len(ranked) < 2:
        return ""
    others = ranked["tied"].iloc[1:]
    if others.isna().all():
        return "unknown: no test was possible"
    if n_tied := int(others.fillna(False).sum()):
        return f"no: ties with {n_tied} other{'s' if n_tied > 1 else ''}"
    if others.isna().any():
        return f"yes: better than the {others.notna().sum()} others that could be compared"
    known = {1: "the other", 2: "both others"}.get(len(others), f"all {len(others)} others")
    return f"yes: better than {known}"


def leaderboards(suites: Sequence[Suite], groups: Groups) -> dict[tuple[str, str], pd.DataFrame]:
    """Make the leaderboard of every experiment, by the names of its suite and its own."""
    return {
        (suite.name, name): leaderboard_of_groups(suite, name, groups[suite.name, name])
        for suite in suites
        for name in suite.experiments
    }


def leaderboard_notes(board: pd.DataFrame) -> list[str]:
    """Explain tie marks, resolution, findings of checks, choices at the edge of a grid, and lacking seeds."""
    notes = comparison_notes(board) + check_notes(board) + edge_notes(board)
    lacking: dict[str, list[str]] = {}
    for line in board.to_dict("records"):
        if line["without_result"]:
            lacking.setdefault(line["without_result"], []).append(ranked_label(line))
    return notes + [f"{', '.join(labels)}: {text}" for text, labels in lacking.items()]


def edge_notes(board: pd.DataFrame) -> list[str]:
    """Name the methods whose search chose a value at the edge of its grid."""
    lines = board.to_dict("records")
    return [f"{ranked_label(line)}: {line['grid_edge']}" for line in lines if line["grid_edge"]]


def check_notes(board: pd.DataFrame) -> list[str]:
    """List the findings of automatic checks, a sentence for each method."""
    lines = board.to_dict("records")
    return [f"Check of {ranked_label(line)}: {line['checks']}." for line in lines if line["checks"]]


def comparison_notes(board: pd.DataFrame) -> list[str]:
    """Explain what the tie marks of a leaderboard rest on, and what would settle the open comparisons."""
    refused = board[board["refusal"].fillna("") != ""]
    if not board["p_value"].notna().any():
        return refused["refusal"].iloc[:1].tolist()
    basis = board["compared_over"].dropna().iloc[0]
    notes = [f"Compared over {basis}."]
    if not math.isnan(detectable := float(board["detectable"].median())):
        style = metric_style(str(board["metric"].iloc[0]))
        found = f"{style.measured(detectable)}{' points' if style.unit == '%' else f' in {style.label}'}"
        notes[0] += f" A difference of {found} is found with a probability of 80 %."
    if board["tied"].fillna(False).sum() > 1:
        notes[0] = f"{TIED} ties with the best. {notes[0]}"
    open_ones = board[board["n_to_settle"].notna()].sort_values("n_to_settle")
    if len(open_ones):
        line = open_ones.iloc[0]
        kind = "splits" if basis == OVER_SPLITS else "seeds"
        notes.append(
            f"About {line['n_to_settle']} {kind} would settle {ranked_label(line)} against the best, "
            "if the difference is as large as it seems."
        )
    return notes + [f"{ranked_label(line)}: {line['refusal']}" for line in refused.to_dict("records")]


def _complete(groups: Sequence[RunGroup], metric: str) -> dict[str, RunGroup]:
    """Return the groups with a finite result from every planned seed, by label."""
    return {
        group.label: group
        for group in groups
        if (found := group.estimate(metric)) is not None
        and math.isfinite(found.mean)
        and found.n_seeds >= group.n_planned
    }


def _means(groups: Mapping[str, RunGroup], metric: str) -> pd.Series:
    found = {name: group.estimate(metric) for name, group in groups.items()}
    return pd.Series({name: own.mean for name, own in found.items() if own}, dtype=np.float64)


def _estimated(group: RunGroup, metric: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        **dict(zip(("method", "classifier"), group.key, strict=True)),
        "n_seeds": 0,
        "n_planned": group.n_planned,
        "without_result": _without_result(group),
    }
    if found := group.estimate(metric):
        line |= {"mean": found.mean, "ci_low": found.low, "ci_high": found.high}
        line |= {"interval": found.interval, "n_seeds": found.n_seeds}
    return line


def _without_result(group: RunGroup) -> str:
    """Say which seeds have no result, or none at some size, and why, those of one reason together."""
    seeds: dict[str, list[str]] = {}
    for record in group.records:
        if record.status != "ok":
            seeds.setdefault(reason(record), []).append(str(record.seed))
        elif failed_sizes(record):
            seeds.setdefault("; ".join(record.warnings), []).append(str(record.seed))
    notes = [f"seed {', '.join(found)}: {why}" for why, found in seeds.items()]
    if len(group.records) < group.n_planned:
        notes.append(f"{group.n_planned - len(group.records)} of {group.n_planned} seeds {WITHOUT_RECORD}")
    return "; ".join(notes)


def _costs(group: RunGroup) -> dict[str, float | None]:
    return {
        "balanced_error": group.mean(lambda record: record.metrics.get("test_balanced_error")),
        "log_loss": group.mean(lambda record: record.metrics.get("test_log_loss")),
        **{name: group.costs[name] for name in ("seconds", "search_seconds", "peak_rss_mb", "model_bytes")},
        "gemm_equivalents": group.mean(gemm_equivalents),
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
