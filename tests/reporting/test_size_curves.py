"""Mean curves over seeds."""

import re

import pytest

from eigenbench.reporting.replicates import RunGroup
from eigenbench.reporting.size_curves import mean_curves


@pytest.fixture
def group(make_record):
    def group(method, curves, *, name="kernel_mse", colour=0, **changes):
        records = []
        for seed, curve in enumerate(curves):
            metrics = {f"kernel_mse_at_{step}": value for step, value in curve}
            fields = {"curves": {name: curve}, "metrics": metrics, **changes}
            records.append(make_record("mnist", "pca", "none", seed).model_copy(update=fields))
        return RunGroup(method, "none", tuple(records), len(records), colour=colour)

    return group


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def bands(svg):
    return svg.count("fill-opacity: 0.18")


def line(level):
    return [(size, level / size) for size in (512, 1024, 4096)]


def test_lines_have_names_bands_and_ticks_at_the_sizes(group):
    groups = [group(f"method_{i}", [line(1.0 + i), line(1.2 + i)], colour=i) for i in range(8)]
    svg = mean_curves(groups, "kernel_mse").svg("k")
    assert bands(svg) == 8
    assert {f"Method {i}" for i in range(8)} | {"512", "1,024", "4,096", "step", "Kernel MSE"} <= set(
        texts(svg)
    )
    colours = {f"#{colour}" for colour in re.findall(r"stroke: #([0-9a-f]{6})", svg)}
    assert len(colours) == 8


def test_more_methods_than_colours_have_lines_that_differ(group):
    groups = [group(f"method_{i}", [line(1.0 + i)]) for i in range(14)]
    svg = mean_curves(groups, "kernel_mse").svg("k")
    looks = re.findall(r'<use xlink:href="#([^"]*)"[^>]*style="fill: (#[0-9a-f]{6})', svg)
    assert len(set(looks)) >= 14


@pytest.mark.parametrize(
    ("curves", "changes"), [([line(1.0)], {}), ([line(1.0), line(2.0)], {"deterministic": True})]
)
def test_no_band_where_seeds_say_nothing(group, curves, changes):
    assert bands(mean_curves([group("a", curves, **changes)], "kernel_mse").svg("k")) == 0


def test_a_curve_says_what_its_steps_are(group):
    name = "test_error_by_examples_seen"
    svg = mean_curves([group("a", [[(0, 0.5), (10, 0.25)]], name=name)], name).svg("k")
    assert {"examples seen", "Test error (%)", "50"} <= set(texts(svg))
    svg = mean_curves([group("a", [[(0, 0.5), (10, 0.25)]], name="loss")], "loss").svg("k")
    assert "step" in texts(svg)


def test_learning_curves_have_the_ratio_to_the_best_rival_below(group):
    name = "test_error_by_training_rows"
    groups = [group(method, [line(level)], name=name) for method, level in (("a", 1.0), ("b", 2.0))]
    svg = mean_curves(groups, name).svg("k")
    assert "Ratio to the best rival" in texts(svg)
    assert "A, ratio to its best rival: 0.50 at 512, 0.50 at 1,024, 0.50 at 4,096" in svg
    assert "B, ratio to its best rival: 2.00 at 512" in svg
    groups[0] = group("a", [[(512, 0.0), (1024, 0.5)]], name=name)
    groups += [group("c", [[(512, 0.4), (1024, 0.5)]], name=name)]
    assert "A, ratio to its best rival: 0.50 at 512" in mean_curves(groups, name).svg("k"), "0 as half of 0.4"
    assert "Ratio to the best rival" not in texts(mean_curves(groups[:1], name).svg("k"))


def test_a_size_that_failed_is_a_gap_with_a_mark(group):
    name = "test_error_by_training_rows"
    whole = group("a", [line(1.0)], name=name)
    failing = group("b", [[(512, 0.1), (4096, 0.01)]], name=name, metrics={"failed_at_1024": 1.0})
    svg = mean_curves([whole, failing], name).svg("k")
    assert "failed at 1,024 (×)" in svg
    assert "failed" not in mean_curves([whole], name).svg("k")


@pytest.mark.parametrize(
    "curves", [[], [[(512, 1.0)]], [[(512, float("nan")), (1024, 1.0)]], [[(512, 1.0)], [(512, 2.0)]]]
)
def test_less_than_two_steps_are_no_curve(group, curves):
    assert mean_curves([group("a", curves)], "kernel_mse") is None


def test_seeds_with_other_steps_and_zeros_are_drawn(group):
    curves = [[(0, 0.0), (1, 0.0)], [(1, 0.0), (2, 0.0)], [(2, 1e9)]]
    assert mean_curves([group("a", curves)], "kernel_mse")


def test_the_bands_of_few_seeds_do_not_set_the_axis(group):
    svg = mean_curves([group("a", [line(0.001), line(4.0)])], "kernel_mse").svg("k")
    assert "0.001" in texts(svg)
    assert not {"0.01", "0.02", "0.05"} & set(texts(svg))
