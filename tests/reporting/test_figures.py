"""Charts of many methods, where the best are named and all can be found by pointer; forest plots."""

import re
from itertools import product
from string import ascii_lowercase
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from record_files import plan_of
from reference_verdicts import shipped_plans

from eigenbench.reporting.captioned_figures import experiment_figures
from eigenbench.reporting.display_names import method_name
from eigenbench.reporting.drawing import COLOURS
from eigenbench.reporting.figures import error_against, forest_plot, published_by_group
from eigenbench.reporting.leaderboard import leaderboard
from eigenbench.reporting.published import compare_all_published
from eigenbench.reporting.replicates import N_COLOURS, RunGroup, group_runs
from eigenbench.reporting.size_curves import mean_curves

# Names that end in a letter: those that differ in a number are one family.
NAMES = ["".join(pair) for pair in product(ascii_lowercase[:6], ascii_lowercase[:10])]


def groups_of(names, records, seconds) -> list[RunGroup]:
    record = next(record for record in records if record.metrics and record.fit_seconds)
    found = []
    for place, (name, time) in enumerate(zip(names, seconds, strict=True)):
        changes = {"method": name, "fit_seconds": time, "metrics": {"test_error": 1 / (1 + time)}}
        found.append(RunGroup(name, "any", (record.model_copy(update=changes),), 1, colour=place % 10))
    return found


def test_of_sixty_methods_the_front_is_named_and_every_point_says_its_name(records):
    seconds = [1.0, 2.0] + [3.0] * (len(NAMES) - 2)
    groups = groups_of(NAMES, records, seconds)
    worse = groups[2].records[0].model_copy(update={"metrics": {"test_error": 0.9}})
    groups[2:] = [RunGroup(one.method, "any", (worse,), 1) for one in groups[2:]]
    drawing = error_against(groups, "test_error", lambda record: record.fit_seconds, "time (s)", front=True)
    root = ElementTree.fromstring(drawing.svg("key"))
    assert {one.attrib["data-method"] for one in root.iter() if one.find("{*}title") is not None} == {
        name.capitalize() for name in NAMES
    }
    texts = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"Aa + any", "Ab + any"}
    assert not texts & {"Ac + any", "Ad + any"}


def test_one_place_makes_no_chart(records):
    groups = groups_of(NAMES[:3], records, [1.0] * 3)
    assert error_against(groups, "test_error", lambda record: record.fit_seconds, "time (s)") is None


def test_a_metric_at_few_labels_is_drawn_against_its_costs(suite, records):
    groups = groups_of(NAMES[:3], records, [1.0, 2.0, 3.0])
    for group in groups:
        group.records[0].metrics["test_precision_at_1"] = group.records[0].metrics["test_error"]
    spec = suite.experiments["mnist"].model_copy(update={"headline": "test_precision_at_1"})
    assert "x-time" in {figure.key for figure in experiment_figures(spec, groups, "x")}


def of_mnist(suite, few) -> list[RunGroup]:
    return group_runs([plan_of(suite)], few)["quick", "mnist"]


def judged(suite, few) -> dict[tuple[str, str], float]:
    rows = compare_all_published([suite], group_runs([plan_of(suite)], few))
    return published_by_group(rows, "test_errors")


def colours_of(root) -> dict[str, set[str]]:
    """Return the colours of the marks of each method, without those of intervals and published numbers."""
    found: dict[str, set[str]] = {}
    for mark in root.iter():
        if mark.find("{*}title") is not None:
            styles = " ".join(one.get("style", "") for one in mark.iter())
            found.setdefault(mark.attrib["data-method"], set()).update(re.findall("#[0-9a-f]{6}", styles))
    return found


def test_a_method_has_one_colour_in_all_figures_of_a_report(suite, records):
    by_experiment = group_runs([plan_of(suite)], records)
    found = []
    for name, metric in (("mnist", "test_errors"), ("digits", "test_error")):
        groups = by_experiment["quick", name]
        board = leaderboard(plan_of(suite), name, records)
        seconds = error_against(groups, metric, lambda record: record.fit_seconds, "time (s)")
        drawings = [forest_plot(board, {}, groups), seconds, mean_curves(groups, "loss_curve")]
        found += [colours_of(ElementTree.fromstring(one.svg("k"))) for one in drawings]
    of_all = {method: colour for one in found for method, colour in one.items()}
    assert len(of_all) == len(set(map(frozenset, of_all.values()))) == 5
    assert all(len(colour) == 1 for colour in of_all.values())
    for one in found:
        assert one.items() <= of_all.items()


def test_methods_of_one_experiment_differ_in_colour():
    """A method has one colour in all experiments of a suite; more methods than colours are grey."""
    assert len(COLOURS) == N_COLOURS
    of_suites: dict[str, dict[str, int]] = {}
    for (suite, _), groups in group_runs(shipped_plans(), []).items():
        colours = of_suites.setdefault(suite, {})
        own = {group.method: group.colour for group in groups}
        assert len(own) > N_COLOURS or len(set(own.values())) == len(own)
        assert all(colours.setdefault(method, colour) == colour for method, colour in own.items())


def test_every_ranked_method_has_a_line_with_its_numbers(suite, few):
    board, groups = leaderboard(plan_of(suite), "mnist", few), of_mnist(suite, few)
    numbers = judged(suite, few)
    root = ElementTree.fromstring(forest_plot(board, numbers, groups).svg("k"))
    titles = [title.text for title in root.iterfind(".//{*}title")]
    assert [title.partition(":")[0] for title in titles] == [
        method_name(line.method) for line in board.itertuples()
    ]
    (gem,) = [title for title in titles if title.startswith("GEM: ")]
    assert gem.endswith("111 [92.3, 133.5], published 108")


def test_a_forest_holds_intervals_and_published_numbers(suite, few):
    board, groups = leaderboard(plan_of(suite), "mnist", few), of_mnist(suite, few)
    published = judged(suite, few)
    board.loc[0, "ci_high"] = 10 * board["mean"].max()
    figure = Figure()
    forest_plot(board, published, groups).draw(figure.subplots())
    (axes,) = figure.axes
    left, right = axes.get_xlim()
    drawn = np.concatenate([line.get_xdata() for line in axes.lines])
    assert set(published.values()) <= set(drawn)
    assert left <= drawn.min()
    assert drawn.max() <= right < 3 * board["mean"].max()


@pytest.mark.filterwarnings("error:constrained_layout not applied")
def test_an_interval_down_to_zero_ends_within_a_logarithmic_axis(suite, few, records):
    board, groups = leaderboard(plan_of(suite), "mnist", few), of_mnist(suite, few)
    board.loc[0, ["mean", "ci_low"]] = board["mean"].max() / 100, 0.0
    errors = {"a": [0.8, 0.9, 0.85], "b": [0.0, 0.02, 0.001]}
    (of_a, *_), (of_b, *_) = (one.records for one in groups_of(errors, records, [1.0, 2.0]))
    seeds = [
        RunGroup(name, "any", tuple(one.model_copy(update={"metrics": {"test_error": e}}) for e in values), 3)
        for (name, values), one in zip(errors.items(), [of_a, of_b], strict=True)
    ]
    cost = error_against(seeds, "test_error", lambda record: record.fit_seconds, "time (s)")
    for drawing in (forest_plot(board, {}, groups), cost):
        figure = Figure(layout="constrained")
        drawing.draw(axes := figure.subplots())
        figure.draw_without_rendering()
        assert "log" in (axes.get_xscale(), axes.get_yscale())


def test_one_method_is_no_forest(suite, few):
    board = leaderboard(plan_of(suite), "mnist", few)
    assert forest_plot(board.head(1), {}, of_mnist(suite, few)) is None
