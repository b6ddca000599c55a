"""The tables of reports and exports, each described once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from eigenbench.reporting.display_names import (
    classifier_name,
    experiment_name,
    label_name,
    method_name,
)
from eigenbench.reporting.formatting import (
    MetricStyle,
    count,
    metric_style,
    probability,
    ratio,
    seconds,
    sentence,
)
from eigenbench.reporting.leaderboard import TIED, line_titles
from eigenbench.reporting.parameters import parameters_of
from eigenbench.reporting.published import PublishedComparison
from eigenbench.reporting.replicates import RunGroup
from eigenbench.reporting.shown_table import NONE, Cell, Column, Row, ShownTable
from eigenbench.reporting.suite_ranks import SuiteRanks


def leaderboard_table(
    name: str,
    title: str,
    board: pd.DataFrame,
    groups: Sequence[RunGroup],
    runs_link: Callable[[RunGroup], str],
) -> ShownTable:
    """Describe a leaderboard: rank, method, result, gap, time and memory; further columns can be chosen.

    Parameters
    ----------
    name, title : str
        Name of the table, and title of the experiment.
    board : DataFrame
        From `eigenbench.reporting.leaderboard.leaderboard`.
    groups : sequence of RunGroup
        Those of the board.
    runs_link : callable
        Takes a group and returns where its runs are, or nothing.
    """
    lines = board.astype(object).where(board.notna(), None).to_dict("records")
    style = metric_style(str(board["metric"].iloc[0]))
    trained = any(line["classifier"] for line in lines)
    titles, mark = line_titles(board), TIED if board["tied"].fillna(False).sum() > 1 else ""
    by_name = {(group.method, classifier_key(group)): group for group in groups}
    columns = [
        Column("Rank", True),
        Column("Method and classifier" if any(" + " in title for title in titles) else "Method"),
        Column(sentence(style.heading), True),
        Column("Gap to the best", True),
        Column("Time (s)", True),
        Column("Memory (MiB)", True),
        *(Column(heading, True, extra=True) for heading in _extra_columns(trained)),
        Column("Parameters of all seeds", extra=True),
        Column("Parameters by seed", extra=True),
    ]
    rows = [
        _board_row(line, title, style, by_name[line["method"], line["classifier"]], mark, trained, runs_link)
        for title, line in zip(titles, lines, strict=True)
    ]
    common = {line["classifier"] for line in lines}
    with_what = f" with {classifier_name(common.pop())}" if trained and len(common) == 1 else ""
    caption = f"{title}: {style.label}{with_what}, mean over seeds with its 95 % interval, best first."
    caption += f" {TIED} marks ties with the best (5 % level)." * bool(mark)
    caption += " ◆ marks the Pareto front of result and time."
    return ShownTable(name, caption, columns, rows, header=1)


def _extra_columns(trained: bool) -> tuple[str, ...]:
    fitting = (
        ("Embedding (s)", "Training (s)", "Prediction (s)") if trained else ("Fitting (s)", "Applying (s)")
    )
    own = ("Balanced error (%)", "Log loss", "Score, 0 guessing to 1 best") if trained else ()
    sizes = ("Model (kB)", "Predictions per s") if trained else ()
    return ("p", *own, "Features", *fitting, "Machine-normalised time (GFLOP)", *sizes)


def _board_row(
    line: dict[Any, Any],
    title: str,
    style: MetricStyle,
    group: RunGroup,
    mark: str,
    trained: bool,
    runs_link: Callable[[RunGroup], str],
) -> Row:
    best = "best" if line["tied"] or (line["tied"] is None and line["rank"] == 1) else ""
    rank = NONE if line["rank"] is None else f"{line['rank']}{f' {mark}' if mark and line['tied'] else ''}"
    partial = (
        f"{line['n_seeds']} of {line['n_planned']} seeds" if 0 < line["n_seeds"] < line["n_planned"] else ""
    )
    doubts = "; ".join(filter(None, (partial, group.doubt)))
    if line["mean"] is None:
        result, gap = Cell("no result", style="failed-text"), Cell()
    else:
        result = Cell(
            style.measured(line["mean"]), style.interval(line["ci_low"], line["ci_high"]), style=best
        )
        gap = Cell(
            style.measured(line["difference"]),
            style.interval(line["difference_low"], line["difference_high"]),
        )
    costs, found = group.costs, parameters_of(group.records)
    error = metric_style("test_error")
    own = [error.measured(line["balanced_error"]), metric_style("test_log_loss").measured(line["log_loss"])]
    own.append(NONE if line["scaled_score"] is None else f"{line['scaled_score']:.3f}")
    fitting = [
        costs[f"{part}_seconds"] for part in (("fit", "train", "predict") if trained else ("fit", "predict"))
    ]
    sizes = [count(costs["model_kb"]), count(line["predictions_per_second"])]
    extra = [
        probability(line["p_value"]),
        *(own if trained else []),
        count(costs["dimension"]),
        *map(seconds, fitting),
        count(line["gemm_equivalents"]),
        *(sizes if trained else []),
        found.shared or NONE,
        found.differing or NONE,
    ]
    cells = [
        Cell(rank, style=best),
        Cell(title, doubts, runs_link(group)),
        result,
        gap,
        Cell(seconds(line["seconds"]) + " ◆" * bool(line["on_front"])),
        Cell(count(line["peak_rss_mb"])),
        *map(Cell, extra),
    ]
    return Row(tuple(cells), group.filter_name)


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
        caption += " † Within tolerance, but uncertain."
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
        note = f"({row.seeds_note})" if row.seeds_note else ""
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
    columns = [
        Column("Method and classifier"),
        Column("Mean rank", True),
        Column("Wins / ties / losses of the best", True),
        Column("p (Holm)" if found.shows_holm else "p", True),
        Column("Ratio of errors", True),
        Column("Conclusion"),
        Column("Time (s)", True),
        Column("Failed on", True),
    ]
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
    return ShownTable(name, caption, columns, rows)


def pairs_table(name: str, found: SuiteRanks, metric: MetricStyle) -> ShownTable:
    """Describe the tests of all pairs of competitors."""
    headings = ("Wins", "Ties", "Losses", "p", *(["p (Holm)"] if found.shows_holm else []), "Ratio of errors")
    columns = [
        Column("First"),
        Column("Second"),
        *(Column(text, True) for text in headings),
        Column("Conclusion"),
    ]
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
