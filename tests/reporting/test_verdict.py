"""The edges of the verdict rules, in both directions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.reporting.estimates import Estimate
from eigenbench.reporting.published import is_imprecise, judge


def published(value: float, tolerance: float, lower_is_better: bool = True) -> PublishedNumber:
    return PublishedNumber(
        source="paper",
        method="gem",
        metric="m",
        value=value,
        tolerance=tolerance,
        lower_is_better=lower_is_better,
    )


def measured(mean: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(mean, low, high, 1, "")


@pytest.mark.parametrize(
    ("mean", "low", "high", "verdict"),
    [
        (100, 95, 105, "reproduced"),
        (110, 109, 111, "reproduced"),  # on the bound
        (110.001, 60, 160, "off"),  # a wide interval is no excuse
        (90, 89, 91, "reproduced"),  # on the bound
        (89, 85, 93, "better"),
        (89, 77, 101, "reproduced"),  # the interval does not rule out equality
        (89, 78, 100, "reproduced"),  # nor does this one, just
        (89, None, None, "reproduced"),  # no interval, no claim
        (10, None, None, "reproduced"),
        (111, None, None, "off"),
        (math.nan, None, None, "off"),
        (math.inf, None, None, "off"),
        (-math.inf, None, None, "off"),
    ],
)
def test_lower_is_better(mean, low, high, verdict):
    assert judge(published(100, 10), measured(mean, low, high)) == verdict


@given(
    value=st.floats(-50, 50),
    tolerance=st.floats(0, 10),
    mean=st.floats(-100, 100),
    half_width=st.one_of(st.none(), st.floats(0, 20)),
)
def test_mirrored_numbers_have_the_same_verdict(value, tolerance, mean, half_width):
    ends = (None, None) if half_width is None else (mean - half_width, mean + half_width)
    mirrored = (None, None) if half_width is None else (-ends[1], -ends[0])
    low = published(value, tolerance), measured(mean, *ends)
    high = published(-value, tolerance, lower_is_better=False), measured(-mean, *mirrored)
    assert judge(*low) == judge(*high)
    assert is_imprecise(*low) == is_imprecise(*high)


@pytest.mark.parametrize(("value", "mean"), [(0.129, 0.132), (0.132, 0.129), (0.3, 0.303)])
def test_decimal_rounding_is_no_difference(value, mean):
    assert judge(published(value, 0.003), measured(mean, mean, mean)) == "reproduced"


def test_no_tolerance():
    assert judge(published(5, 0), measured(5, 5, 5)) == "reproduced"
    assert judge(published(5, 0), measured(5.0001, 5, 6)) == "off"
    assert judge(published(5, 0), measured(4.9999, 4.9998, 4.99995)) == "better"


def test_an_interval_beyond_the_tolerance_is_imprecise():
    assert is_imprecise(published(100, 10), measured(105, 95, 115))
    assert not is_imprecise(published(100, 10), measured(105, 80, 110))
    assert not is_imprecise(published(100, 10), measured(105))


@pytest.mark.parametrize(
    ("mean", "low", "high", "verdict", "imprecise"),
    [
        (0.26, 0.22, 0.30, "reproduced", False),
        (0.30, 0.22, 0.32, "reproduced", True),
        (0.22, 0.20, 0.24, "reproduced", True),
        (0.32, 0.31, 0.33, "off", True),
        (0.20, 0.19, 0.21, "off", True),
    ],
)
@pytest.mark.parametrize("lower", [True, False])
def test_a_two_sided_number_is_off_on_either_side_and_never_better(
    mean, low, high, verdict, imprecise, lower
):
    number = published(0.26, 0.05, lower).model_copy(update={"two_sided": True})
    assert judge(number, measured(mean, low, high)) == verdict
    assert is_imprecise(number, measured(mean, low, high)) == imprecise
