"""The verdict on one published number."""

from __future__ import annotations

from typing import Literal

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.reporting.intervals import Estimate

Verdict = Literal["reproduced", "better", "off"]

#: Decimal numbers such as 0.132 − 0.129 are off by a few units in the last place; this is not a difference.
_ROUNDING = 1e-9


def judge(number: PublishedNumber, measured: Estimate) -> Verdict:
    """Compare a measured mean with a published number.

    Let *gain* be how much better the mean over seeds is than the published number (positive is better),
    and *t* the tolerance stated in the suite file.

    - ``off``: the mean is worse by more than the tolerance (gain < −t), or is not a finite number.
      A wide interval is no excuse: imprecision never turns a miss into a reproduction.
    - ``better``: the mean is better by more than the tolerance (gain > t) **and** the whole 95 %
      interval lies on the good side of the published number. With no interval the claim cannot be
      made.
    - ``reproduced``: everything else. The mean is within the tolerance, bounds included; or it is
      better by more than that, but the interval does not rule out equality.

    For a number that is neither better when less nor when more (``two_sided``), a mean further away than the
    tolerance on either side is ``off``, and none is ``better``.

    So each verdict is the strongest claim that the numbers bear, and doubt counts against us. The
    published number is taken as exact, because papers seldom state its error.

    Parameters
    ----------
    number : PublishedNumber
        Value, tolerance and direction, in the unit of the estimate.
    measured : Estimate
        Mean and interval over seeds.

    Returns
    -------
    {"reproduced", "better", "off"}
        The verdict.

    Examples
    --------
    >>> from eigenbench.reporting.intervals import estimate
    >>> number = PublishedNumber(source="paper", method="gem", metric="test_errors", value=108, tolerance=7)
    >>> judge(number, estimate("test_errors", [111.0], deterministic=False, n_test=10_000))
    'reproduced'
    """
    sign = -1.0 if number.lower_is_better else 1.0
    slack = _ROUNDING * max(1.0, abs(number.value))
    gain = sign * (measured.mean - number.value)
    if not gain >= -number.tolerance - slack or gain == float("inf"):
        return "off"
    if number.two_sided:
        return "off" if gain > number.tolerance + slack else "reproduced"
    worst_end = measured.high if number.lower_is_better else measured.low
    if gain > number.tolerance + slack and worst_end is not None:
        return "better" if sign * (worst_end - number.value) > slack else "reproduced"
    return "reproduced"


def is_imprecise(number: PublishedNumber, measured: Estimate) -> bool:
    """Return whether the interval exceeds the tolerance on a worse side: more data could say ``off``."""
    above = measured.high is not None and measured.high > number.value + number.tolerance
    below = measured.low is not None and measured.low < number.value - number.tolerance
    if number.two_sided:
        return above or below
    return above if number.lower_is_better else below
