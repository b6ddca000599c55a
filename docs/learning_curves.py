"""Writes the tables and the advice of learning_curves.md from the reference results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from curve_comparisons import SAME_ROWS, crossing, ratio_of_errors, rows_needed, winners
from numpy.typing import NDArray
from page_parts import table, write_parts
from scipy import stats

from eigenbench.bench.jobs.plan import SuitePlan, load_plan
from eigenbench.bench.records.record import Record
from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.bench.suites.suite_file import catalogue_of
from eigenbench.datasets.project_files import project_folder
from eigenbench.own_data.more_rows import ADVANTAGE, Curve
from eigenbench.reporting.display_names import dataset_name, method_name
from eigenbench.reporting.formatting import metric_style, ratio, split_size
from eigenbench.reporting.reference_results import records_of_results
from eigenbench.reporting.replicates import RunGroup
from eigenbench.reporting.size_curves import mean_curves
from eigenbench.reproduction.reference import default_reference_folder

PAGE = Path(__file__).resolve().parent / "learning_curves.md"
PICTURE = PAGE.parent / "images" / "learning-curve.png"
SUITE = "learning_curves"
#: The method that the others are compared with, and its rivals on the page.
METHOD = "gem"
RIVALS = ("random", "pca_rotated", "fourier")
#: The methods and the dataset of the picture.
DRAWN = (METHOD, *RIVALS, "nystroem", "svc")
DRAWN_ON = "letter"
#: Seconds to fit features and classifier.
BUDGETS = (1.0, 10.0, 100.0)
#: Seeds that take a larger share of the training rows have nearly the same rows: there is no interval.
SHARED = 0.9
#: The number of features of the comparison at equal features; others are named.
FEATURES = 1200
#: Claims of papers that have a curve: what has fewer errors than what, by which paper.
CLAIMS = (
    ("gem", "random", "Karampatziakis and Mineiro (2014)"),
    ("gem", "pca_rotated", "Karampatziakis and Mineiro (2014)"),
    ("gem_and_fourier", "fourier", "Karampatziakis and Mineiro (2014)"),
    ("spherical", "random_maclaurin", "Pennington, Yu and Kumar (2015)"),
    ("spherical", "tensor_sketch", "Pennington, Yu and Kumar (2015)"),
)


@cache
def shipped_plan() -> SuitePlan:
    """Return the plan of the suite."""
    return load_plan(project_folder() / "config" / "suites" / f"{SUITE}.yaml")


def curves(name: str) -> dict[tuple[str, str], dict[str, Curve]]:
    """Return a measurement by (dataset, axis) and method: seeds x sizes.

    A method with another number of features than 1,200 has it in its name.
    """
    found: dict[tuple[str, str], dict[str, dict[int, dict[int, float]]]] = {}
    for record, spec in _records_of("learning_curve"):
        axis = _axis(spec.settings)
        width = f", {spec.n_features} features" if spec.n_features not in (None, FEATURES) else ""
        seeds = found.setdefault((record.dataset, axis), {}).setdefault(record.method + width, {})
        seeds[record.seed] = {
            int(key.removeprefix(f"{name}_at_")): value
            for key, value in record.metrics.items()
            if key.startswith(f"{name}_at_")
        }
    catalogue = catalogue_of(shipped_plan().suite)
    made: dict[tuple[str, str], dict[str, Curve]] = {}
    for (dataset, axis), methods in found.items():
        entry = catalogue.entry(dataset)
        n_rows = np.inf if axis == "classes" else entry.rows_of_a_run - (entry.n_test or 0)
        for method, seeds in methods.items():
            curve = pd.DataFrame.from_dict(seeds, orient="index").sort_index(axis=0).sort_index(axis=1)
            curve.attrs[SAME_ROWS] = [size for size in curve if size > SHARED * n_rows]
            made.setdefault((dataset, axis), {})[method] = curve
    return made


def _axis(settings: dict[str, Any]) -> str:
    """Name the axis of an experiment, and the size of its images where that is not their own."""
    if settings["classes"]:
        return "classes"
    if "block" not in settings:
        return "rows"
    height, width = (side // settings["block"] for side in settings["image"])
    return f"rows, {height} × {width} pixels"


def planned(dataset: str, axis: str, size: int) -> set[str]:
    """Return the methods that the suite measures at a size, of 1,200 features or a number of their own."""
    return {
        method
        for spec in shipped_plan().suite.experiments.values()
        if spec.protocol == "learning_curve" and spec.dataset == dataset and _axis(spec.settings) == axis
        if spec.n_features in (None, FEATURES)
        if size in (spec.settings["classes"] or spec.settings["train_rows"])
        for method in spec.methods
    }


def at_equal_features(methods: dict[str, Curve]) -> dict[str, Curve]:
    """Leave out methods with another number of features, and those without an embedding."""
    without = {"lightgbm", "random_forest", "svc", "raw"}
    return {name: curve for name, curve in methods.items() if "," not in name and name not in without}


def label(method: str) -> str:
    """Return the display name of a method, with its number of features where that is another one."""
    name, comma, width = method.partition(",")
    return f"{method_name(name)}{comma}{width}"


def percent(error: float) -> str:
    """Format an error."""
    return f"{100 * error:.2f}" if error < 0.1 else f"{100 * error:.1f}"


def winners_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List the best method of all and the best embedding at equal features, at each size."""
    rows = []
    for (dataset, axis), methods in errors.items():
        everyone, equal = winners(methods), winners(at_equal_features(methods))
        for size, line in everyone.iterrows():
            cells = [dataset_name(dataset), f"{size:,} {axis}", label(line.best), percent(line.error)]
            if size in equal.index:
                best = equal.loc[size]
                cells += [label(best.best), percent(best.error), label(best.second)]
                cells += [
                    f"{ratio(best.ratio)} {ratio(best.low, best.high)}",
                    "–" if np.isnan(best.low) else f"{best.p_advantage:.2f}",
                ]
                cells.append("–" if np.isnan(best.tied) else f"{best.tied:.0f}")
            else:
                cells += ["–"] * 6
            asked = planned(dataset, axis, size)
            missing = [
                name
                for name in asked
                if name not in methods or size not in methods[name].dropna(how="all", axis=1)
            ]
            rows.append([*cells, f"{len(missing)} of {len(asked)}"])
    headings = ["data", "training set", "best of all", "error, %", "best embedding", "error, %"]
    return table(
        [*headings, "second", "ratio, 95 % interval", f"P(ratio < {ADVANTAGE})", "tied", "missing"], rows
    )


def efficiency_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List how many rows each rival needs for the error of GEM."""
    rows = []
    for (dataset, axis), methods in errors.items():
        if axis == "classes" or METHOD not in methods:
            continue
        for size in methods[METHOD].columns[:-1]:
            cells = [
                f"{dataset_name(dataset)}{axis.removeprefix('rows')}",
                f"{size:,}",
                percent(methods[METHOD][size].mean()),
            ]
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
        cells = []
        means = {name: (curve.mean(), seconds[place][name].mean()) for name, curve in methods.items()}
        for budget in BUDGETS:
            within = {name: error[time <= budget].min() for name, (error, time) in means.items()}
            reached = pd.Series(within).dropna()
            cells.append(f"{label(reached.idxmin())} {percent(reached.min())}" if len(reached) else "–")
        rows.append([f"{dataset_name(place[0])}, {place[1]}", *cells])
    return table(["data", *(f"within {budget:g} s" for budget in BUDGETS)], rows)


def over_datasets(errors: dict[tuple[str, str], dict[str, Curve]]) -> pd.DataFrame:
    """Fit, on each dataset, log ratio of errors ~ log rows at equal features, and take means over datasets.

    The lines are methods. ``ratio`` is of their error to that of random directions at 1,000 rows, ``factor``
    that of this ratio for ten times the rows; ``_low`` and ``_high`` end their 95 % intervals, by Student's t
    over datasets.
    """
    found: dict[str, list[NDArray[np.float64]]] = {}
    for (_, axis), methods in errors.items():
        if axis != "rows" or "random" not in methods:
            continue
        for name in set(at_equal_features(methods)) - {"random"}:
            logarithms = np.log(methods[name] / methods["random"]).mean().replace(-np.inf, np.nan).dropna()
            if len(logarithms) > 1:
                tens = np.log10(logarithms.index.to_numpy(dtype=float) / 1000)
                found.setdefault(name, []).append(np.polyfit(tens, logarithms, 1)[::-1])
    lines = {}
    for name, fits in found.items():
        mean, error, n = np.mean(fits, axis=0), stats.sem(fits), len(fits)
        half = stats.t.ppf(0.975, n - 1) * error if n > 1 else np.full(2, np.nan)
        for end, values in (("", mean), ("_low", mean - half), ("_high", mean + half)):
            lines.setdefault(name, {})[f"ratio{end}"], lines[name][f"factor{end}"] = np.exp(values)
        lines[name]["datasets"] = n
    return pd.DataFrame.from_dict(lines, orient="index").sort_values("ratio")


def model_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """Lay out the means over datasets; of one dataset there is none."""
    if len({dataset for dataset, axis in errors if axis == "rows"}) < 2:
        return "The means need two datasets.\n"
    rows = [
        [
            label(str(name)),
            f"{ratio(line.ratio)} {ratio(line.ratio_low, line.ratio_high)}",
            f"{ratio(line.factor)} {ratio(line.factor_low, line.factor_high)}",
            f"{line.datasets:.0f}",
        ]
        for name, line in over_datasets(errors).iterrows()
    ]
    return table(
        ["embedding", "ratio of errors at 1,000 rows", "its factor for ten times the rows", "datasets"], rows
    )


def claims_table(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """List from how many rows, and with how many seconds of fitting, each claim holds on each dataset."""
    seconds = curves("seconds")
    rows = []
    for first, second, paper in CLAIMS:
        for place, methods in errors.items():
            if first not in methods or second not in methods:
                continue
            ratios = ratio_of_errors(methods[first], methods[second]).dropna(subset="high")
            lacking = ratios.index[ratios["high"] >= 1]
            holding = [size for size in ratios.index if not len(lacking) or size > lacking[-1]]
            largest = ratios.iloc[-1]
            rows.append(
                [
                    f"{label(first)} before {label(second)}",
                    paper,
                    f"{dataset_name(place[0])}, {place[1]}",
                    f"{holding[0]:,}" if holding else "not shown",
                    f"{seconds[place][first][holding[0]].mean():.1f}" if holding else "–",
                    f"{ratio(largest.ratio)} {ratio(largest.low, largest.high)}",
                ]
            )
    headings = ["fewer errors", "paper", "data", "holds from", "seconds there", "ratio at the largest size"]
    return table(headings, rows)


def transfer_table() -> str:
    """List the error on new classes by the number of source classes and of examples of each."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for record, spec in _records_of("transfer"):
        target = spec.settings["target"]
        data = f"{dataset_name(spec.dataset)} to {dataset_name(target) if target else 'new classes'}"
        size = f"{spec.settings['source_classes']} × {spec.settings['source_per_class']}"
        errors = found.setdefault((data, size), {})
        errors.setdefault(record.method, []).append(record.metrics["nn_error"])
    methods = list(dict.fromkeys(name for errors in found.values() for name in errors))
    rows = [[*place, *(_mean(errors.get(name, [])) for name in methods)] for place, errors in found.items()]
    return table(["data", "source classes × examples", *map(label, methods)], rows)


def labels_table() -> str:
    """List what each label embedding reaches by its dimension, and the seconds to train."""
    found: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record, spec in _records_of(None):
        name, _, dimension = record.classifier.rpartition("_")
        name, dimension = (name, dimension) if dimension.isdigit() else (record.classifier, "–")
        heading = metric_style(spec.headline).heading
        place = (f"{dataset_name(record.dataset)}, {heading}", label(name))
        found.setdefault(place, {}).setdefault(dimension, []).append(record)
    rows = []
    for (data, name), by_dimension in found.items():
        for dimension, records in by_dimension.items():
            spec = shipped_plan().suite.experiments[records[0].experiment]
            values = _mean([record.metrics[spec.headline] for record in records])
            seconds = np.mean([record.train_seconds for record in records if record.train_seconds])
            rows.append([data, name, dimension, values, f"{seconds:.1f}"])
    return table(["data and metric", "label embedding", "dimensions", "value", "seconds"], rows)


@cache
def _records() -> list[Record]:
    return records_of_results(shipped_plan(), default_reference_folder() / SUITE)


def _records_of(protocol: str | None) -> Iterator[tuple[Record, ExperimentSpec]]:
    """Yield the finished records of a protocol, or of experiments with classifiers, and their experiments."""
    plan = shipped_plan()
    for record in _records():
        spec = plan.suite.experiments[record.experiment]
        if record.status == "ok" and spec.protocol == protocol:
            yield record, spec


def _mean(values: list[float]) -> str:
    """Write the mean of shares in percent, with half of its 95 % interval over seeds that differ."""
    if not values:
        return "–"
    if len(values) < 2 or len(set(values)) == 1:
        return percent(float(np.mean(values)))
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{percent(float(np.mean(values)))} ± {100 * half:.1f}"


def advice(errors: dict[tuple[str, str], dict[str, Curve]]) -> str:
    """Name for each dataset the best embedding at each size, and how many are tied with it."""
    lines = []
    for (dataset, axis), methods in errors.items():
        found = [
            f"{size:,}: {label(line.best)} {percent(line.error)} %{_ties(line.tied)}"
            for size, line in winners(at_equal_features(methods)).iterrows()
        ]
        lines.append(f"- **{dataset_name(dataset)}, {axis}**. {'; '.join(found)}.")
    return "\n".join(lines) + "\n"


def _ties(tied: float) -> str:
    if np.isnan(tied):
        return " (no test)"
    return " (leads)" if tied == 1 else f" (tied with {tied - 1:.0f})"


def blocks() -> dict[str, str]:
    """Return the generated parts of the page, by their names."""
    errors = curves("test_error")
    return {
        "the leads": advice(errors),
        "the winners": winners_table(errors),
        "the ratios": ratios_table(errors),
        "the model": model_table(errors),
        "the claims": claims_table(errors),
        "the rows needed": efficiency_table(errors),
        "the seconds": seconds_table(errors),
        "the transfer": transfer_table(),
        "the labels": labels_table(),
    }


def picture() -> bytes:
    """Draw the errors of some methods against the number of training rows, as a report does."""
    name, found = "test_error_by_training_rows", {method: [] for method in DRAWN}
    for record, spec in _records_of("learning_curve"):
        is_drawn = record.method in DRAWN and record.dataset == DRAWN_ON and _axis(spec.settings) == "rows"
        if is_drawn and spec.n_features in (None, FEATURES):
            sizes = {key: split_size(key) for key in record.metrics}
            curve = [
                (size, record.metrics[key]) for key, (stem, size) in sizes.items() if stem == "test_error"
            ]
            found[record.method].append(record.model_copy(update={"curves": {name: sorted(curve)}}))
    groups = [
        RunGroup(method, NO_CLASSIFIER, tuple(of), len(of), colour=place)
        for place, (method, of) in enumerate(found.items())
    ]
    drawing = mean_curves(groups, name)
    assert drawing is not None
    return drawing.png()


def main() -> None:
    """Write the tables into the page, and the picture beside it."""
    write_parts(PAGE, blocks())
    PICTURE.write_bytes(picture())


if __name__ == "__main__":
    main()
