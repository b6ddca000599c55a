"""The tables of reports and exports, each described once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.display_names import (
    classifier_name,
    experiment_name,
    label_name,
    method_name,
)
from eigenbench.reporting.formatting import (
    MetricStyle,
    by_size,
    count,
    lower_is_better,
    metric_style,
    probability,
    ratio,
    seconds,
    sentence,
    split_size,
)
from eigenbench.reporting.leaderboard import TIED, line_titles, tie_group_of
from eigenbench.reporting.parameters import parameters_of
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import KINDS, RunGroup, headline_direction
from eigenbench.reporting.shown_table import NONE, Cell, Column, Row, ShownTable, columns_of
from eigenbench.reporting.suite_ranks import SuiteRanks

_BOLD = "the best, and ties with it, are bold"


def leaderboard_table(
    name: str,
    title: str,
    board: pd.DataFrame,
    groups: Sequence[RunGroup],
    runs_link: Callable[[RunGroup], str] = lambda group: "",
) -> ShownTable:
    """Describe a leaderboard: rank, method, result, gap, time and memory; further columns can be chosen.

    ``groups`` are those of the board; ``runs_link`` returns where the runs of a group are, or nothing.
    """
    lines = board.astype(object).where(board.notna(), None).to_dict("records")
    style = metric_style(str(board["metric"].iloc[0]))
    common = {line["classifier"] for line in lines}
    trained = any(common)
    titles, mark = line_titles(board), TIED if board["tied"].fillna(False).sum() > 1 else ""
    by_name = {(group.method, classifier_key(group)): group for group in groups}
    rows, extra = [], {}
    for shown, line in zip(titles, lines, strict=True):
        group = by_name[line["method"], line["classifier"]]
        extra = _extra_cells(line, group, trained)
        cells = _board_cells(line, shown, style, group, mark, runs_link(group))
        rows.append(Row((*cells, *map(Cell, extra.values())), group.filter_name))
    texts = ("Parameters of all seeds", "Parameters by seed")
    columns = [
        Column("Rank", True),
        Column("Method and classifier" if any(" + " in title for title in titles) else "Method"),
        Column(sentence(style.heading), True),
        Column("Gap to the best", True),
        Column("Time (s)", True),
        Column("Memory (MiB)", True),
        *(Column(heading, heading not in texts, extra=True) for heading in extra),
    ]
    with_what = f" with {classifier_name(common.pop())}" if trained and len(common) == 1 else ""
    caption = f"{title}: {style.label}{with_what}, mean over seeds with its 95 % interval, best first."
    caption += f" {TIED} marks ties with the best (5 % level)." * bool(mark)
    caption += " ◆ marks the Pareto front of result and time."
    return ShownTable(name, caption, columns, rows, header=1, title=f"{title}{with_what}")


def _board_cells(
    line: dict[Any, Any], title: str, style: MetricStyle, group: RunGroup, mark: str, link: str
) -> list[Cell]:
    """Return the cells of the columns that a leaderboard shows at first."""
    best = "best" if line["tied"] or (line["tied"] is None and line["rank"] == 1) else ""
    rank = NONE if line["rank"] is None else f"{line['rank']}{f' {mark}' if mark and line['tied'] else ''}"
    partial = (
        f"{line['n_seeds']} of {line['n_planned']} seeds" if 0 < line["n_seeds"] < line["n_planned"] else ""
    )
    result, gap = Cell("no result", style="failed-text"), Cell()
    if line["mean"] is not None:
        interval = style.interval(line["ci_low"], line["ci_high"])
        result = Cell(style.measured(line["mean"]), interval, style=best)
        interval = style.interval(line["difference_low"], line["difference_high"])
        gap = Cell(style.measured(line["difference"]), interval)
    return [
        Cell(rank, style=best),
        Cell(title, "; ".join(filter(None, (partial, group.doubt))), link),
        result,
        gap,
        Cell(seconds(line["seconds"]), "◆" * bool(line["on_front"])),
        Cell(count(line["peak_rss_mb"])),
    ]


def _extra_cells(line: dict[Any, Any], group: RunGroup, trained: bool) -> dict[str, str]:
    """Return the texts of the columns that a reader can choose, by heading."""
    costs, found = group.costs, parameters_of(group.records)
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
        cells["Model (kB)"] = count(costs["model_kb"])
        cells["Predictions per s"] = count(line["predictions_per_second"])
    shared, differing = found.shared or NONE, found.differing or NONE
    return cells | {"Parameters of all seeds": shared, "Parameters by seed": differing}


def classifier_key(group: RunGroup) -> str:
    """Return the key of the classifier in leaderboards; empty without a classifier."""
    return group.classifier if classifier_name(group.classifier) else ""


def published_table(
    name: str, rows: Sequence[PublishedComparison], machines: Callable[[Any], str]
) -> ShownTable:
    """Describe published numbers beside measured ones, those of one source together."""
    columns = [
        Column("Method"),
        Column("Metric"),
        Column("Published", True),
        Column("Measured", True),
        Column("Seeds", True),
        Column("Verdict"),
        Column("Machines", extra=True),
    ]
    caption = "Published beside measured: mean over seeds with its 95 % interval, and the verdict."
    if any(row.uncertain for row in rows):
        caption += " † The mean is outside the tolerance, but a single run could reach the published number."
    anchors: dict[str, str] = {}
    shown, heading = [], ""
    for row in rows:
        own = f"{row.number.source} · {experiment_name(row.experiment, row.dataset)}"
        anchor = f"{row.suite}-{row.experiment}-published"
        first = anchors.setdefault(row.experiment, own) == own and own != heading
        shown.append(
            Row(
                _published_cells(row, machines),
                row.group.filter_name if row.group else method_name(row.method),
                anchor if first else "",
                own if own != heading else "",
            )
        )
        heading = own
    return ShownTable(name, caption, columns, shown)


def _published_cells(row: PublishedComparison, machines: Callable[[Any], str]) -> tuple[Cell, ...]:
    texts, style = row.cells, metric_style(row.number.metric)
    title = row.group.title if row.group else ""
    label = row.number.label or title or method_name(row.method)
    verdict = Cell(row.outcome or "not run", "" if row.outcome else row.why, style="verdict")
    if row.outcome:
        note = " ".join(filter(None, (row.seeds_note and f"({row.seeds_note})", row.why_off)))
        verdict = Cell(row.outcome + " †" * row.uncertain, note, style=f"verdict {row.outcome}")
    elif row.estimate:
        verdict = Cell(row.verdict)
    own = style.interval(*row.number.interval) if row.number.interval else ""
    interval = texts["95 % interval"] if row.estimate else ""
    return (
        Cell(label, title if title != label else ""),
        Cell(sentence(style.heading)),
        Cell(style.exact(row.number.value), own),
        Cell(texts["Measured"], interval.replace(NONE, "no interval")),
        Cell(texts["Seeds"]),
        verdict,
        Cell(machines(row)),
    )


def ranks_table(name: str, found: SuiteRanks, metric: MetricStyle) -> ShownTable:
    """Describe mean ranks over datasets, and each competitor against the one of the best rank."""
    best = str(found.ranks.index[0])
    p_heading = "p (Holm)" if found.shows_holm else "p"
    tested = ("Mean rank", "Wins / ties / losses of the best", p_heading, "Ratio of errors")
    costs = ("Time (s)", "Failed on")
    headings = ("Method and classifier", *tested, "Conclusion", *costs)
    rows = []
    for label, line in found.ranks.iterrows():
        pair = None if label == best else found.pairs.loc[(best, label)]
        interval = f"[{line['rank_low']:.1f}, {line['rank_high']:.1f}]"
        cells = [
            Cell(label_name(str(label)) + " ◆" * bool(line["on_front"])),
            Cell(f"{line['mean_rank']:.2f}", interval),
        ]
        if pair is None:
            cells += [Cell()] * 4
        else:
            p = pair["p_holm"] if found.shows_holm else pair["p_value"]
            conclusion = {"first better": "the best is better", "second better": "this one is better"}
            cells += [
                Cell(f"{pair['wins']:.0f} / {pair['ties']:.0f} / {pair['losses']:.0f}"),
                Cell(probability(p)),
                Cell(ratio(pair["ratio"]), ratio(pair["low"], pair["high"]).replace(NONE, "")),
                Cell(conclusion.get(pair["conclusion"], pair["conclusion"])),
            ]
        time = None if pd.isna(line["seconds"]) else line["seconds"]
        cells += [Cell(seconds(time)), Cell(f"{line['n_failed']:.0f}" if line["n_failed"] else "")]
        rows.append(Row(tuple(cells), label_name(str(label))))
    caption = (
        f"Mean rank by {metric.label} over {found.n_datasets} datasets, with its 95 % interval; then the "
        f"best, {label_name(best)}, against each other: p of Wilcoxon's signed-rank test, geometric mean of "
        "the ratio of errors. Ratios within 10 % are equivalent. ◆ marks the Pareto front of rank and time."
    )
    return ShownTable(name, caption, columns_of(*headings, numeric=(*tested, *costs)), rows)


def pairs_table(name: str, found: SuiteRanks, metric: MetricStyle) -> ShownTable:
    """Describe the tests of all pairs of competitors."""
    headings = ("Wins", "Ties", "Losses", "p", *(["p (Holm)"] if found.shows_holm else []), "Ratio of errors")
    columns = columns_of("First", "Second", *headings, "Conclusion", numeric=headings)
    rows = [
        Row(
            (
                Cell(label_name(first)),
                Cell(label_name(second)),
                *(Cell(f"{pair[kind]:.0f}") for kind in ("wins", "ties", "losses")),
                Cell(probability(pair["p_value"])),
                *([Cell(probability(pair["p_holm"]))] if found.shows_holm else []),
                Cell(ratio(pair["ratio"]), ratio(pair["low"], pair["high"]).replace(NONE, "")),
                Cell(pair["conclusion"]),
            ),
            f"{label_name(first)},{label_name(second)}",
        )
        for (first, second), pair in found.pairs.iterrows()
    ]
    caption = (
        f"Pairs over {found.n_datasets} datasets by {metric.label}: datasets on which the first wins, ties "
        "and loses; p of Wilcoxon's signed-rank test; geometric mean of the ratio of errors, first to "
        "second. Pairs within 10 % are equivalent."
    )
    return ShownTable(name, caption, columns, rows)


def measure_tables(spec: ExperimentSpec, groups: Sequence[RunGroup], name: str = "") -> list[ShownTable]:
    """Tabulate everything that a protocol measured; the table with the headline metric comes first.

    Metrics named ``<metric>_at_<size>`` make a table each, with one column per size; all others share one.
    ``name`` begins the names of the tables.
    """
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
    lower = headline_direction(spec) if headline else lower_is_better(metrics[0])
    better = "lower" if lower else "higher"
    interval = _interval_note(groups, metrics)
    if stem:
        style, compared = metric_style(stem), metrics
        title = f"{sentence(style.label)} by size"
        headings = [f"{by_size(metric)[1]:,}" for metric in metrics]
        caption = (
            f"{sentence(style.heading)} by size, means over seeds{interval}; {better} is better, {_BOLD}."
        )
    else:
        title = "All metrics" if headline else "Other metrics"
        headings = [sentence(metric_style(metric).heading) for metric in metrics]
        compared = [spec.headline] if headline else []
        label = metric_style(spec.headline).label
        caption = f"Means over seeds{interval}" + f"; {better} {label} is better, {_BOLD}" * headline + "."
    best = {metric: tie_group_of(groups, metric, lower=lower) for metric in compared}
    rows = [
        Row(
            (
                Cell(group.filter_name),
                *(_measured_cell(group, metric, group in best.get(metric, ())) for metric in metrics),
            ),
            group.filter_name,
        )
        for group in groups
    ]
    columns = columns_of("Method", *headings, numeric=headings)
    return ShownTable(name, caption, columns, rows, title=title)


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
