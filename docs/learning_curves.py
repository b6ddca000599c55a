"""Writes the tables and the advice of learning_curves.md from the reference results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from eigenbench.bench.jobs.plan import SuitePlan
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.comparison.learning_curves import (
    ADVANTAGE,
    Curve,
    best_within,
    crossing,
    ratio_of_errors,
    rows_needed,
    winners,
)
from eigenbench.datasets.splits import RandomSplit
from eigenbench.reporting.display_names import dataset_name, method_name
from eigenbench.reporting.formatting import ratio
from eigenbench.reporting.reference_verdicts import reference_records, shipped_plans

PAGE = Path(__file__).resolve().parent / "learning_curves.md"
SUITE = "learning_curves"
#: The method that the others are compared with, and its rivals on the page.
METHOD = "gem"
RIVALS = ("random", "pca_rotated", "fourier")
#: Seconds to fit features and classifier.
BUDGETS = (1.0, 10.0, 100.0)
#: The number of features of the comparison at equal features; others are named.
FEATURES = 1200
_BLOCK = re.compile(r"(<!-- from (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def shipped_plan() -> SuitePlan:
    """Return the plan of the suite."""
    return next(plan for plan in shipped_plans() if plan.suite.name == SUITE)


def curves(name: str) -> dict[tuple[str, str], dict[str, Curve]]:
    """Return a measurement by (dataset, axis) and method: seeds x sizes.

    A method with another number of features than 1,200 has it in its name.
    """
    plan = shipped_plan()
    found: dict[tuple[str, str], dict[str, dict[int, dict[int, float]]]] = {}
    for record in reference_records(plan):
        if record.status != "ok":
            continue
        spec = plan.suite.experiments[record.experiment]
        axis = "classes" if spec.settings["classes"] else "rows"
        width = f", {spec.n_features} features" if spec.n_features not in (None, FEATURES) else ""
        seeds = found.setdefault((record.dataset, axis), {}).setdefault(record.method + width, {})
        seeds[record.seed] = {
            int(key.removeprefix(f"{name}_at_")): value
            for key, value in record.metrics.items()
            if key.startswith(f"{name}_at_")
        }
    return {
        place: {
            method: pd.DataFrame.from_dict(seeds, orient="index").sort_index(axis=0).sort_index(axis=1)
            for method, seeds in methods.items()
        }
        for place, methods in found.items()
    }


def overlap(dataset: str) -> float:
    """Return the share of their test rows that two seeds have in common; 0 on one test set."""
    split = catalogue_of(shipped_plan().suite).entry(dataset).split
    return split.test_fraction if isinstance(split, RandomSplit) else 0.0


def at_equal_features(methods: dict[str, Curve]) -> dict[str, Curve]:
    """Leave out methods with another number of features, and those without an embedding."""
    without = {"lightgbm", "random_forest", "svc", "raw"}
    return {name: curve for name, curve in methods.items() if "," not in name and name not in without}


def label(method: str) -> str:
    """Return the display name of a method, with its number of features where that is another one."""
    name, comma, width = method.partition(",")
    return f"{method_name(name)}{comma}{width}"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """Lay out a table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def percent(error: float) -> str:
    """Format an error."""
    return f"{100 * error:.2f}" if error < 0.1 else f"{100 * error:.1f}"


def winners_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List the best method of all and the best embedding at equal features, at each size."""
    rows = []
    for (dataset, axis), methods in errors.items():
        shared = overlap(dataset)
        everyone, equal = (winners(kind, overlap=shared) for kind in (methods, at_equal_features(methods)))
        for size, line in everyone.iterrows():
            cells = [dataset_name(dataset), f"{size:,} {axis}", label(line.best), percent(line.error)]
            if size in equal.index:
                best = equal.loc[size]
                cells += [label(best.best), percent(best.error), label(best.second)]
                cells += [f"{ratio(best.ratio)} {ratio(best.low, best.high)}", f"{best.p_advantage:.2f}"]
                cells.append("–" if np.isnan(best.tied) else f"{best.tied:.0f}")
            else:
                cells += ["–"] * 6
            rows.append(cells)
    headings = ["data", "training set", "best of all", "error, %", "best embedding", "error, %"]
    return table([*headings, "second", "ratio, 95 % interval", f"P(ratio < {ADVANTAGE})", "tied"], rows)


def efficiency_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List how many rows each rival needs for the error of GEM."""
    rows = []
    for (dataset, axis), methods in errors.items():
        if axis != "rows" or METHOD not in methods:
            continue
        for size in methods[METHOD].columns[:-1]:
            cells = [dataset_name(dataset), f"{size:,}", percent(methods[METHOD][size].mean())]
            for rival in RIVALS:
                cells.append(_needed(methods, rival, size) if rival in methods else "–")
            rows.append(cells)
    names = [f"rows for {label(rival)}" for rival in RIVALS]
    return table(["data", f"rows for {label(METHOD)}", "error, %", *names], rows)


def _needed(methods: dict[str, Curve], rival: str, size: int) -> str:
    found = rows_needed(methods[METHOD], methods[rival], size)
    largest = int(max(methods[rival].columns))
    point, low, high = (f"> {largest:,}" if np.isinf(rows) else f"{rows:,.0f}" for rows in found)
    return f"{point} [{low}, {high}]"


def ratios_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List the ratio of the errors of GEM and of each rival at each size, and where the lead changes."""
    rows = []
    for (dataset, axis), methods in errors.items():
        for rival in RIVALS:
            if METHOD not in methods or rival not in methods:
                continue
            ratios = ratio_of_errors(methods[METHOD], methods[rival])
            change = crossing(methods[METHOD], methods[rival])
            cells = "; ".join(
                f"{size:,}: {ratio(line.ratio)} {ratio(line.low, line.high)}"
                for size, line in ratios.iterrows()
            )
            crossed = f"between {change[0]:,} and {change[1]:,}" if change else "not shown"
            rows.append([dataset_name(dataset), axis, label(rival), cells, crossed])
    return table(["data", "axis", "rival", f"ratio of {label(METHOD)} to it, by size", "lead changes"], rows)


def seconds_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List the lowest error within some seconds of fitting, and the method that reaches it."""
    seconds = curves("seconds")
    rows = []
    for place, methods in errors.items():
        reached = best_within(methods, seconds[place], BUDGETS)
        cells = []
        for budget in BUDGETS:
            column = reached[budget].dropna()
            cells.append(f"{label(column.idxmin())} {percent(column.min())}" if len(column) else "–")
        rows.append([f"{dataset_name(place[0])}, {place[1]}", *cells])
    return table(["data", *(f"within {budget:g} s" for budget in BUDGETS)], rows)


def advice(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """Name for each dataset the best embedding at each size, and how many are tied with it."""
    lines = []
    for (dataset, axis), methods in errors.items():
        found = [
            f"{size:,}: {label(line.best)} {percent(line.error)} %{_ties(line.tied)}"
            for size, line in winners(at_equal_features(methods), overlap=overlap(dataset)).iterrows()
        ]
        lines.append(f"- **{dataset_name(dataset)}, {axis}**. {'; '.join(found)}.")
    return "\n".join(lines) + "\n"


def _ties(tied: float) -> str:
    if np.isnan(tied):
        return " (too few seeds for a test)"
    return " (leads)" if tied == 1 else f" (tied with {tied - 1:.0f})"


def blocks() -> dict[str, str]:
    """Return the generated parts of the page, by their names."""
    errors = curves("test_error")
    return {
        "the leads": advice(errors),
        "the winners": winners_table(errors),
        "the ratios": ratios_table(errors),
        "the rows needed": efficiency_table(errors),
        "the seconds": seconds_table(errors),
    }


def main() -> None:
    """Write the parts into the page."""
    found = blocks()
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda at: f"{at[1]}{found[at[2]]}{at[3]}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
