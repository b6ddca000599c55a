"""The edges of the verdict rules, in both directions."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_files import plan_of

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.reporting.csv_files import results_csv
from eigenbench.reporting.estimates import estimate, prediction_interval
from eigenbench.reporting.published import (
    compare_all_published,
    comparison_csv,
    judge,
    machines_text,
    verdict_counts,
)
from eigenbench.reporting.replicates import group_runs
from eigenbench.reproduction.receipt import RECEIPTS, MachineCounts, write_receipt
from eigenbench.reproduction.reference import load_reference
from eigenbench.reproduction.verification import compare_with_reference


def published(value: float, lower_is_better: bool = True, **fields) -> PublishedNumber:
    names = {"source": "paper", "method": "gem", "metric": "m"}
    return PublishedNumber(**names, value=value, lower_is_better=lower_is_better, **fields)


@pytest.mark.parametrize(
    ("mean", "prediction", "verdict"),
    [
        (100, (95, 105), "reproduced"),
        (105, (104, 106), "reproduced"),  # on the bound of the tolerance
        (95, (94, 96), "reproduced"),
        (105.1, (104, 106), "off"),
        (110, (99, 121), "reproduced †"),  # one run can give the published number
        (110, (100, 120), "reproduced †"),  # just
        (89, (85, 93), "better"),
        (89, (77, 101), "reproduced †"),
        (89, None, "reproduced †"),  # no interval, no claim
        (111, None, "off"),
        (math.nan, None, "off"),
        (math.inf, (0, 200), "off"),
    ],
)
def test_lower_is_better(mean, prediction, verdict):
    assert judge(published(100), mean, prediction) == verdict


@given(value=st.floats(-50, 50), mean=st.floats(-100, 100), half_width=st.one_of(st.none(), st.floats(0, 20)))
def test_mirrored_numbers_have_the_same_verdict(value, mean, half_width):
    prediction = None if half_width is None else (mean - half_width, mean + half_width)
    mirrored = None if half_width is None else (-mean - half_width, -mean + half_width)
    assert judge(published(value), mean, prediction) == judge(published(-value, False), -mean, mirrored)


@pytest.mark.parametrize(("metric", "verdict"), [("test_micro_f1", "better"), ("test_error", "off")])
def test_a_number_without_a_direction_has_that_of_its_metric(metric, verdict):
    number = PublishedNumber(source="paper", method="gem", metric=metric, value=0.5)
    assert judge(number, 0.6, (0.55, 0.65)) == verdict


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(("mean", "verdict"), [(0.26, "reproduced"), (0.32, "off"), (0.20, "off")])
def test_a_two_sided_number_is_off_on_either_side_and_never_better(mean, verdict, lower):
    number = published(0.26, lower, two_sided=True)
    assert judge(number, mean, (mean - 0.01, mean + 0.01)) == verdict


def test_the_interval_of_the_source_counts():
    plain, stated = published(0.0365), published(0.0365, interval=[0.0348, 0.0381])
    assert judge(plain, 0.0340, (0.0335, 0.0345)) == "better"
    assert judge(stated, 0.0340, (0.0335, 0.0345)) == "reproduced"
    with pytest.raises(ValueError, match="does not hold the value"):
        published(0.5, interval=[0.1, 0.2])


@given(st.lists(st.floats(0.2, 0.4), min_size=2, max_size=9, unique=True))
def test_the_prediction_is_wider_than_the_interval_of_the_mean_by_the_root_of_one_more(values):
    found = estimate("loss", values, deterministic=False, n_test=100)
    low, high = prediction_interval("loss", values, deterministic=False, n_test=100)
    assert high - low == pytest.approx(math.sqrt(1 + len(values)) * (found.high - found.low))


def test_one_run_is_predicted_from_its_test_rows():
    low, _ = prediction_interval("test_errors", [102.0], deterministic=True, n_test=10_000)
    assert 102 - low == pytest.approx(math.sqrt(2) * (102 - 84.1015), rel=1e-3)
    assert prediction_interval("balanced_risk", [0.1], deterministic=False, n_test=100) is None


def row(suite, records, **changes):
    """Compare the second published number of mnist, with some of its fields changed."""
    spec = suite.experiments["mnist"]
    number = spec.published[1].model_copy(update=changes)
    changed = suite.model_copy(
        update={"experiments": {"mnist": spec.model_copy(update={"published": [number] * 3})}}
    )
    return compare_all_published([changed], group_runs([plan_of(changed)], records))


def test_a_number_is_judged_once_and_counted_once(suite, few):
    first, second, third = row(suite, few)
    assert third.verdict == second.verdict
    assert first.outcome == "reproduced"
    assert second.outcome == ""
    assert second.verdict == "judged elsewhere: MNIST (quick): GEM + calibrated least squares, test errors"
    assert sum(verdict_counts([first, second]).values()) == 1


def test_a_bound_of_this_project_is_no_published_number(suite, few):
    first, *_ = row(suite, few, bound=True, value=120.0)
    assert (first.outcome, first.verdict) == ("", "within bound")
    assert row(suite, few, bound=True, value=100.0)[0].verdict == "beyond bound"
    assert sum(verdict_counts([first]).values()) == 0
    assert "within bound" in comparison_csv([first])


def test_synthetic_data_reproduce_nothing(suite, few):
    groups = group_runs([plan_of(suite)], few)
    groups["quick", "mnist"] = [replace(group, synthetic=True) for group in groups["quick", "mnist"]]
    found = compare_all_published([suite], groups)
    assert found[1].verdict == "not run (synthetic data in place of the paper's, here 111)"
    assert verdict_counts(found)["reproduced"] == 0


def test_receipts_beside_the_reference_are_counted_until_it_is_replaced(tmp_path, suite, few, results_dir):
    folder = tmp_path / "reference"
    folder.mkdir()
    results = folder / "results.csv"
    rows = compare_all_published([suite], group_runs([plan_of(suite)], few))

    def n_reproduced() -> int:
        return sum(machines_text(MachineCounts(folder), row) == "1 machine" for row in rows)

    results.write_text(results_csv(few))
    assert n_reproduced() == 0
    receipt = compare_with_reference(plan_of(suite), results_dir, load_reference("quick", folder))
    write_receipt(receipt, folder / RECEIPTS)
    assert n_reproduced() == 3
    results.write_text(results_csv(few[:-1]))
    assert n_reproduced() == 0


def test_unlabelled_numbers_of_two_methods_are_two(suite, few):
    first = row(suite, few, label=None)[0]
    other = replace(first, number=first.number.model_copy(update={"method": "another"}))
    assert sum(verdict_counts([first, other]).values()) == 2
