"""Experiments with a protocol: on the page, in the terminal, and in the tables of both."""

import hashlib
import random
import re
from pathlib import Path

import pytest
from html_page import Page
from record_files import plan_of

from eigenbench.bench.exhibits import Histogram, Images, Scatter
from eigenbench.bench.records.record import Failure
from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.reporting.inputs import ReportInputs
from eigenbench.reporting.page_tables import measure_tables
from eigenbench.reporting.replicates import group_runs
from eigenbench.reporting.site import render
from eigenbench.reporting.terminal_tables import print_measurements, print_summary

PATH = Path(__file__).with_name("measured.yaml")
SIZES = (512, 1024, 4096)
LEVELS = {"maclaurin": 5.0, "sketch": 3.2, "spherical": 0.6}


@pytest.fixture(scope="module")
def measured():
    return load_suite(PATH)


@pytest.fixture(scope="module")
def runs(make_record, broken):
    """One method always fails, one has a seed less, and the last one has a number and pictures of its own."""

    def record(experiment, method, seed, **changes):
        dataset = "mnist" if experiment == "kernel" else "digits"
        empty = dict.fromkeys(("confusion", "search", "dimension", "train_seconds", "model"))
        base = make_record(dataset, "pca", "LinearSVC", seed)
        own = {"suite": "measured", "experiment": experiment, "method": method, "classifier": "none"}
        key = hashlib.sha256(repr((experiment, method, seed)).encode()).hexdigest()[:16]
        return base.model_copy(update={**empty, **own, "curves": {}, "run_key": key, **changes})

    draw = random.Random(0)
    found = []
    for seed in range(3):
        for method, level in LEVELS.items():
            curve = [(size, level / size * draw.uniform(0.9, 1.1)) for size in SIZES]
            metrics = {f"kernel_mse_at_{size}": value for size, value in curve}
            metrics |= {f"effective_rank_at_{size}": size / level for size in SIZES}
            measured = {"metrics": metrics, "curves": {"kernel_mse": curve}, "fit_seconds": 2.5}
            if (method, seed) != ("sketch", 2):
                found.append(record("kernel", method, seed, **measured))
        failure = Failure(stage="measure", type="ValueError", message="odd", log="logs/measure/1.log")
        found.append(record("kernel", "broken", seed, **broken("failed", failure)))
        found.append(record("transfer", "raw", seed, metrics={"nn_error": 0.55}))
        metrics = {"nn_error": 0.31 + seed / 1000, "bound": 1.25}
        found.append(record("transfer", "projected", seed, metrics=metrics, exhibits=exhibits(seed)))
    return found


def exhibits(seed):
    return [
        Scatter(title="<Target> & co", x=[0.0, seed + 1.0], y=[1.0, 2.0], labels=["a", "<b>"]),
        Histogram(title="Distances", edges=[0.0, 1.0, 2.0], densities={"same": [1.0, 0.0]}, x_label="d"),
        Images(title="Directions", height=1, width=2, rows={"first": [[0.0, 1.0]]}),
    ]


@pytest.fixture(scope="module")
def text(measured, runs, tmp_path_factory):
    inputs = ReportInputs([plan_of(measured)], {"measured": PATH}, runs)
    return render(inputs, tmp_path_factory.mktemp("reports")).read_text("utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def tables(suite, records, experiment):
    spec = suite.experiments[experiment]
    return measure_tables(spec, group_runs([plan_of(suite)], records)["measured", experiment])


def bold(table) -> list[list[str]]:
    """Return the methods that are bold, column by column."""
    first, *others = (column.heading for column in table.columns)
    return [
        [row.cells[first].text for row in table.rows if "best" in row.cells[name].style] for name in others
    ]


def test_sizes_are_columns_in_their_order_and_the_headline_comes_first(measured, runs):
    errors, ranks = tables(measured, runs, "kernel")
    for table in (errors, ranks):
        assert [column.heading for column in table.columns] == ["Method", "512", "1,024", "4,096"]
    assert (errors.title, ranks.title) == ("Kernel MSE by size", "Effective rank by size")


def test_only_the_headline_at_its_sizes_is_compared(measured, runs):
    errors, ranks = tables(measured, runs, "kernel")
    assert bold(errors) == [["Spherical random features"]] * 3
    assert bold(ranks) == [[]] * 3
    assert "lower kernel MSE is better" in errors.caption
    assert "is better" not in ranks.caption


def test_metrics_without_sizes_share_a_table_and_only_the_headline_is_compared(measured, runs):
    (table,) = tables(measured, runs, "transfer")
    assert [column.heading for column in table.columns] == ["Method", "1-NN error", "Bound"]
    assert bold(table) == [["Projected"], []]


def test_no_classifier_is_named_where_none_was_trained(page, text):
    groups = re.findall(r"<t[dh][^>]*>([^<]*)", text)
    assert "none" not in groups
    assert "Classifier" not in groups
    assert "Training (s)" not in groups
    assert "+ none" not in text
    assert "sketch sketch" not in page.text


def test_the_page_shows_means_intervals_and_what_failed(page, runs):
    values = [run.metrics["kernel_mse_at_4096"] for run in runs if run.method == "spherical"]
    assert f"{sum(values) / 3:#.4g}" in page.text
    assert "2 of 3 seeds" in page.text
    assert page.text.count("failed in measure: ValueError: odd logs/measure/1.log") == 3
    assert "95 % interval: Student t over seeds" in page.text


def test_exhibits_of_one_seed_are_drawn_and_described(page, text):
    descriptions = [
        attributes["aria-label"] for _, attributes in page.tags if attributes.get("role") == "img"
    ]
    assert len(descriptions) == text.count("<svg") == text.count("<figcaption")
    shown = [line for line in descriptions if line.startswith("Projected: ")]
    assert shown == [
        "Projected: Scatter plot of 2 points with 2 labels: <Target> & co.",
        "Projected: Histograms of d for same: Distances.",
        "Projected: Images of 1 × 2 pixels, 1 of first: Directions.",
    ]
    assert page.text.count("Projected seed 0") == 3


def test_the_terminal_names_the_best_method_alone(measured, runs, pipe):
    groups = group_runs([plan_of(measured)], runs)
    print_summary([measured], groups, report=Path("reports/index.html"), console=pipe)
    lines = pipe.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    place = lines.index("Kernel on MNIST")
    best = next(line.split() for line in lines[place:] if "Spherical" in line)
    assert best[0] == "1"
    assert best[-1] == "2.50"


def test_the_terminal_tells_no_run_from_no_number(measured, runs, pipe):
    other = [run.model_copy(update={"metrics": {"bound": 1.0}}) for run in runs if run.method == "raw"]
    print_summary([measured], group_runs([plan_of(measured)], other), report=Path("r"), console=pipe)
    text = pipe.file.getvalue()
    assert "No run has a record yet." in text
    assert re.search(r"– +No embedding +no result", text)


def test_the_terminal_shows_the_headline_metric_at_every_size(measured, runs, pipe):
    print_measurements([measured], group_runs([plan_of(measured)], runs), pipe)
    lines = [line.split() for line in pipe.file.getvalue().splitlines()]
    assert ["Method", "512", "1,024", "4,096"] in lines
    assert ["Broken", "failed", "failed", "failed"] in lines
    assert ["No", "embedding", "0.5500", "–"] in lines
    assert ["Projected", "0.3110", "1.250"] in lines
    sketch = next(i for i, line in enumerate(lines) if line[:1] == ["Sketch"])
    assert lines[sketch + 1] == ["2", "of", "3", "seeds"] * 3


def test_a_headline_that_no_record_has_is_shown_as_missing(measured, runs):
    spec = measured.experiments["transfer"].model_copy(update={"headline": "nn_error_at_3"})
    groups = group_runs([plan_of(measured)], runs)["measured", "transfer"]
    assert bold(measure_tables(spec, groups)[0]) == [[]]


def test_the_best_has_all_its_seeds(measured, runs):
    """Without one of its runs, the method with the smallest errors is passed over."""
    fewer = [run for run in runs if (run.method, run.seed) != ("spherical", 0)]
    errors, _ = tables(measured, fewer, "kernel")
    assert bold(errors) == [["Maclaurin"]] * 3
