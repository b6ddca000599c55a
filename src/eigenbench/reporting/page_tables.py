"""The tables of reports and exports, each described once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.display_names import classifier_name, experiment_name, label_name
from eigenbench.reporting.estimates import KINDS, OVER_ROWS, ROWS_OF_ONE_RUN
from eigenbench.reporting.formatting import (
    by_size,
    count,
    metric_style,
    probability,
    ratio,
    seconds,
    sentence,
    split_size,
)
from eigenbench.reporting.leaderboard import TIED, in_order, line_titles, tie_group_of
from eigenbench.reporting.parameters import parameters_of
from eigenbench.reporting.published import DAGGER, PublishedComparison, machines_text
from eigenbench.reporting.replicates import RunGroup, headline_direction
from eigenbench.reporting.shown_table import NONE, Cell, Row, ShownTable
from eigenbench.reporting.suite_ranks import SuiteRanks
from eigenbench.reproduction.receipt import MachineCounts

_BOLD = "the best, and ties with it, are bold"


def leaderboard_table(
    name: str,
    title: str,
    board: pd.DataFrame,
    groups: Sequence[RunGroup],
    runs_link: Callable[[RunGroup], str] = lambda group: "",
) -> ShownTable:
    """Describe a leaderboard; ``runs_link`` returns where the runs of a group are, or nothing."""
    lines = board.astype(object).where(board.notna(), None).to_dict("records")
    style = metric_style(str(board["metric"].iloc[0]))
    common = set(board["classifier"])
    trained = any(common)
    titles, mark = line_titles(board), TIED if board["tied"].fillna(False).sum() > 1 else ""
    heading = "Method and classifier" if any(" + " in title for title in titles) else "Method"
    rows, extra = [], {}
    for shown, line, group in zip(titles, lines, in_order(board, groups), strict=True):
        extra = _extra_cells(line, group, trained)
        doubtful = "doubtful" * any(record.warnings for record in group.finished)
        marks = "; ".join(filter(None, (group.seeds_note(line["metric"]), doubtful)))
        best = "best" if line["tied"] or (line["tied"] is None and line["rank"] == 1) else ""
        rank = NONE if line["rank"] is None else f"{line['rank']} {mark if line['tied'] else ''}".strip()
        interval = style.interval(line["ci_low"], line["ci_high"])
        result = Cell(style.measured(line["mean"]), interval, style=best)
        if line["mean"] is None:
            result = Cell("no result", href="#problems", style="failed-text")
        gap_interval = style.interval(line["difference_low"], line["difference_high"])
        cells = {
            "Rank": Cell(rank, style=best),
            heading: Cell(shown, marks, runs_link(group)),
            sentence(style.heading): result,
            "Gap to the best": Cell(style.measured(line["difference"]), gap_interval),
            "Time (s)": Cell(seconds(line["seconds"]), "◆" * bool(line["on_front"])),
            "Memory (MiB)": count(line["peak_rss_mb"]),
        }
        rows.append(Row.of(cells | extra, group.filter_name))
    numeric = {*rows[0].cells} - {heading, *_TEXTS}
    with_what = f" with {classifier_name(common.pop())}" if trained and len(common) == 1 else ""
    caption = f"{title}: {style.label}{with_what}, best first: mean over seeds with its 95 % interval."
    caption += " The interval of one seed is over test rows." * any(
        line["n_seeds"] == 1 and line["interval"] in (OVER_ROWS, ROWS_OF_ONE_RUN) for line in lines
    )
    caption += f" {TIED} marks ties with the best (5 % level)." * bool(mark)
    caption += " ◆ marks the Pareto front of result and time."
    return ShownTable(name, caption, rows, numeric, extra, header=1, title=f"{title}{with_what}")


_TEXTS = ("Parameters of all seeds", "Parameters by seed")


def _extra_cells(line: dict[Any, Any], group: RunGroup, trained: bool) -> dict[str, str]:
    """Return the texts of the columns that a reader can choose, by heading."""
    costs = group.costs
    cells = {"p": probability(line["p_value"])}
    if trained:
        score = line["scaled_score"]
        cells |= {
            "Balanced error (%)": metric_style("test_error").measured(line["balanced_error"]),
            "Log loss": metric_style("test_log_loss").measured(line["log_loss"]),
            "Score, 0 guessing to 1 best or Bayes rule": NONE if score is None else f"{score:.3f}",
        }
    cells["Features"] = count(costs["dimension"])
    times = {"Embedding (s)": "fit", "Training (s)": "train", "Prediction (s)": "predict"}
    for heading, part in (times if trained else {"Fitting (s)": "fit", "Applying (s)": "predict"}).items():
        cells[heading] = seconds(costs[f"{part}_seconds"])
    cells["Machine-normalised time (GFLOP)"] = count(line["gemm_equivalents"])
    if trained:
        cells["Model (kB)"] = count(line["model_bytes"] and line["model_bytes"] / 1000)
        cells["Predictions per s"] = count(line["predictions_per_second"])
    found = (text or NONE for text in parameters_of(group.records))
    return cells | dict(zip(_TEXTS, found, strict=True))


def published_table(
    name: str, numbers: Sequence[PublishedComparison], machines: MachineCounts | None = None
) -> ShownTable:
    """Describe published numbers beside measured ones, those of one source together."""
    caption = "Published beside measured: mean over seeds with its 95 % interval, and the verdict."
    if any("†" in row.marked_outcome for row in numbers):
        caption += f" {DAGGER}"
    rows: list[Row] = []
    heading, anchors = "", set()
    for row in numbers:
        group = f"{row.number.source} · {experiment_name(row.experiment, row.dataset)}"
        anchor = f"{row.suite}-{row.experiment}-published"
        method = row.group.filter_name if row.group else row.label
        cells = _published_cells(row) | {"Machines": machines_text(machines, row) if machines else NONE}
        rows.append(Row.of(cells, method, anchor * (anchor not in anchors), group * (group != heading)))
        heading = group
        anchors.add(anchor)
    return ShownTable(name, caption, rows, ("Published", "Measured", "Seeds"), ("Machines",))


def _published_cells(row: PublishedComparison) -> dict[str, Cell | str]:
    style, found = metric_style(row.number.metric), row.estimate
    title = row.group.title if row.group else ""
    stated = style.interval(*(row.number.interval or (None, None)))
    seeds = row.seeds_note.removesuffix(" seeds") or str(found.n_seeds) if found else NONE
    measured = Cell()
    if found:
        measured = Cell(style.measured(found.mean), style.interval(found.low, found.high) or "no interval")
    if row.outcome:
        note = " ".join(filter(None, (row.seeds_note and f"({row.seeds_note})", row.why_off)))
        verdict = Cell(row.marked_outcome, note)
    elif row.number.bound and found:
        verdict = Cell(row.verdict)
    else:
        verdict = Cell("judged elsewhere" if row.repeats else "not run", row.repeats or row.why)
    return {
        "Method": Cell(row.label, title * (title.casefold() != row.label.casefold())),
        "Metric": sentence(style.heading),
        "Published": Cell(style.exact(row.number.value), stated),
        "Measured": measured,
        "Seeds": seeds,
        "Verdict": replace(verdict, style=f"verdict {row.outcome or ''}".strip()),
    }


def ranks_table(found: SuiteRanks) -> ShownTable:
    """Describe mean ranks over datasets, and each competitor against the one of the best rank."""
    best, metric, rows = str(found.ranks.index[0]), metric_style(found.metric).label, []
    conclusions = {"first better": "the best is better", "second better": "this one is better"}
    for label, line in found.ranks.iterrows():
        shown = label_name(str(label))
        interval = f"[{line['rank_low']:.1f}, {line['rank_high']:.1f}]"
        cells: dict[str, Cell | str] = {
            "Method and classifier": shown + " ◆" * bool(line["on_front"]),
            "Mean rank": Cell(f"{line['mean_rank']:.2f}", interval),
            "Place": Cell(f"{line['place']:.0f}", f"[{line['place_low']:.0f}, {line['place_high']:.0f}]"),
        }
        if label == best:
            headings = ("p (Holm)" if found.shows_holm else "p", "Ratio of errors", "Conclusion")
            cells |= dict.fromkeys(("Wins / ties / losses of the best", *headings), NONE)
        else:
            pair = found.pairs.loc[(best, label)]
            counts = f"{pair['wins']:.0f} / {pair['ties']:.0f} / {pair['losses']:.0f}"
            cells |= {"Wins / ties / losses of the best": counts, **_tested_cells(pair, found.shows_holm)}
            cells["Conclusion"] = conclusions.get(pair["conclusion"], pair["conclusion"])
        cells["Time (s)"] = seconds(None if pd.isna(line["seconds"]) else line["seconds"])
        cells["Failed on"] = f"{line['n_failed']:.0f}" if line["n_failed"] else ""
        rows.append(Row.of(cells, shown))
    caption = (
        f"Mean rank by {metric} over {found.n_datasets} datasets, and place, with 95 % intervals; then the "
        f"best, {label_name(best)}, against each other: p of Wilcoxon's signed-rank test, geometric mean of "
        "the ratio of errors. Ratios within 10 % are equivalent. ◆ marks the Pareto front of rank and time."
    )
    return ShownTable(found.anchor, caption, rows, {*rows[0].cells} - {"Method and classifier", "Conclusion"})


def pairs_table(found: SuiteRanks) -> ShownTable:
    """Describe the tests of all pairs of competitors."""
    rows = []
    for (first, second), pair in found.pairs.iterrows():
        names = {"First": label_name(first), "Second": label_name(second)}
        counts = {kind.capitalize(): f"{pair[kind]:.0f}" for kind in ("wins", "ties", "losses")}
        tests = {"p": probability(pair["p_value"]), **_tested_cells(pair, found.shows_holm)}
        rows.append(Row.of(names | counts | tests))
    caption = (
        f"Pairs over {found.n_datasets} datasets by {metric_style(found.metric).label}: datasets on which "
        "the first wins, ties and loses; p of Wilcoxon's signed-rank test; geometric mean of the ratio of "
        "errors, first to second. Pairs within 10 % are equivalent."
    )
    name = found.anchor.replace("-ranks-", "-pairs-")
    return ShownTable(name, caption, rows, {*rows[0].cells} - {"First", "Second", "Conclusion"})


def _tested_cells(pair: pd.Series, shows_holm: bool) -> dict[str, Cell | str]:
    p = {"p (Holm)": probability(pair["p_holm"])} if shows_holm else {"p": probability(pair["p_value"])}
    interval = ratio(pair["low"], pair["high"]).replace(NONE, "")
    return {**p, "Ratio of errors": Cell(ratio(pair["ratio"]), interval), "Conclusion": pair["conclusion"]}


def measure_tables(spec: ExperimentSpec, groups: Sequence[RunGroup], name: str = "") -> list[ShownTable]:
    """Tabulate what a protocol measured: first the headline; a metric at several sizes has its own table."""
    measured = {metric for group in groups for record in group.finished for metric in record.metrics}
    by_stem: dict[str | None, list[str]] = {}
    for metric in [spec.headline, *sorted(measured - {spec.headline}, key=by_size)]:
        stem, size = split_size(metric)
        by_stem.setdefault(None if size is None else stem, []).append(metric)
    return [
        _measure_table(spec, groups, stem, metrics, f"{name}-measures-{place}")
        for place, (stem, metrics) in enumerate(by_stem.items())
    ]


def _measure_table(
    spec: ExperimentSpec, groups: Sequence[RunGroup], stem: str | None, metrics: list[str], name: str
) -> ShownTable:
    """Tabulate metrics of one stem by size, or, without a stem, metrics of which the headline is compared."""
    metrics = sorted(metrics, key=by_size) if stem else metrics
    headline = spec.headline in metrics
    lower = headline_direction(spec)
    better = f"{'lower' if lower else 'higher'} {metric_style(stem or spec.headline).label} is better"
    best_note = f"; {better}, {_BOLD}." if headline else "."
    over = f"means over seeds{_interval_note(groups, metrics)}"
    if stem:
        style, compared = metric_style(stem), metrics if headline else []
        title = f"{sentence(style.label)} by size"
        headings = [f"{by_size(metric)[1]:,}" for metric in metrics]
        caption = f"{sentence(style.heading)} by size, {over}{best_note}"
    else:
        title = "All metrics" if headline else "Other metrics"
        headings = [sentence(metric_style(metric).heading) for metric in metrics]
        compared = [spec.headline] if headline else []
        caption = f"{sentence(over)}{best_note}"
    best = {metric: tie_group_of(groups, metric, lower=lower) for metric in compared}
    rows = []
    for group in groups:
        cells = [_measured_cell(group, metric, group in best.get(metric, ())) for metric in metrics]
        named = dict(zip(headings, cells, strict=True))
        rows.append(Row.of({"Method": group.filter_name} | named, group.filter_name))
    return ShownTable(name, caption, rows, headings, title=title)


def _measured_cell(group: RunGroup, metric: str, best: bool) -> Cell:
    found, style = group.estimate(metric), metric_style(metric)
    if found is None:
        return Cell(group.state)
    note = f" ({partial})" if (partial := group.seeds_note(metric)) else ""
    interval = style.interval(found.low, found.high)
    return Cell(style.measured(found.mean) + note, interval, style="best" if best else "")


def _interval_note(groups: Iterable[RunGroup], metrics: Iterable[str]) -> str:
    """Name the kinds of the intervals of a table, where it has any."""
    estimates = [group.estimate(metric) for group in groups for metric in metrics]
    kinds = {found.interval for found in estimates if found}
    named = " or ".join(kind for kind in KINDS if kind in kinds)
    return f"; 95 % interval: {named}" if named else ""
