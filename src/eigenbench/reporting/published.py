"""Published numbers beside measured ones: the verdicts, and ``comparison.csv``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.estimates import Estimate
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.replicates import Groups, RunGroup, find_group
from eigenbench.reproduction.receipt import MachineCounts

COLUMNS = (
    "suite",
    "source",
    "dataset",
    "method",
    "metric",
    "published",
    "measured",
    "ci_low",
    "ci_high",
    "n_seeds",
    "tolerance",
    "verdict",
)


@dataclass(frozen=True)
class PublishedComparison:
    """One published number, what was measured, and the verdict.

    Attributes
    ----------
    number : PublishedNumber
        As in the suite file.
    group : RunGroup or None
        The runs that answer it; None for a number that is only quoted.
    estimate : Estimate or None
        Mean and interval; None when nothing was measured.
    why : str
        Why nothing was measured; empty otherwise.
    """

    suite: str
    experiment: str
    dataset: str
    number: PublishedNumber
    group: RunGroup | None
    estimate: Estimate | None
    why: str

    @property
    def method(self) -> str:
        """The method's name in the suite, or the label of a number that is only quoted."""
        return self.number.method or self.number.label or ""

    @property
    def outcome(self) -> Verdict | None:
        """The verdict on a measured number."""
        return judge(self.number, self.estimate) if self.estimate else None

    @property
    def seeds_note(self) -> str:
        """How many seeds the mean is over, such as ``3 of 5 seeds``; empty when it is over all of them."""
        return self.group.seeds_note(self.number.metric) if self.group else ""

    @property
    def verdict(self) -> str:
        """``reproduced``, ``better`` or ``off``, with ``(3 of 5 seeds)`` if not all; or ``not run (why)``."""
        if self.outcome is None:
            return f"not run ({self.why})"
        return f"{self.outcome} ({self.seeds_note})" if self.seeds_note else self.outcome

    @property
    def cells(self) -> dict[str, str]:
        """The texts of a table: what was published, what was measured, and the verdict; – where none is."""
        style, found = metric_style(self.number.metric), self.estimate
        return {
            "Method": self.number.label or self.method,
            "Metric": style.heading,
            "Published": style.exact(self.number.value),
            "Tolerance": style.exact(self.number.tolerance) if found else "–",
            "Measured": style.measured(found.mean if found else None),
            "95 % interval": style.interval(found.low, found.high) or "–" if found else "–",
            "Seeds": self.seeds_note.removesuffix(" seeds") or str(found.n_seeds) if found else "–",
            "Verdict": self.verdict,
        }

    @property
    def imprecise(self) -> bool:
        """Whether more seeds or test rows could turn the verdict into ``off``."""
        found = self.estimate
        return found is not None and self.outcome != "off" and is_imprecise(self.number, found)


def compare_published(suite: Suite, experiment: str, groups: Sequence[RunGroup]) -> list[PublishedComparison]:
    """Compare the published numbers of one experiment with its groups, in the suite's order."""
    spec = suite.experiments[experiment]
    return [_compare(suite.name, experiment, spec, number, groups) for number in spec.published]


def _compare(
    suite: str, name: str, spec: ExperimentSpec, number: PublishedNumber, groups: Sequence[RunGroup]
) -> PublishedComparison:
    group = find_group(groups, number.method, number.classifier) if number.method else None
    found = group.estimate(number.metric) if group else None
    why = ""
    if found is None:
        why = group.why_not(number.metric) if group else number.not_run or ""
    return PublishedComparison(suite, name, spec.dataset, number, group, found, why)


def compare_all_published(suites: Iterable[Suite], groups: Groups) -> list[PublishedComparison]:
    """Compare every published number of the suites, in the order of the files."""
    return [
        row
        for suite in suites
        for name in suite.experiments
        for row in compare_published(suite, name, groups[suite.name, name])
    ]


def verdict_counts(rows: Iterable[PublishedComparison]) -> dict[str, int]:
    """Count published numbers by verdict; ``not run`` counts all reasons."""
    found = Counter(row.outcome or "not run" for row in rows)
    return {name: found[name] for name in ("better", "reproduced", "off", "not run")}


def machines_text(machines: MachineCounts, row: PublishedComparison) -> str:
    """Return ``k machines`` that reproduced the runs behind a number, or a dash for none."""
    if row.group is None:
        return "–"
    count = machines.count(row.suite, row.experiment, row.group.method, row.group.classifier)
    return f"{count} machine{'s' * (count > 1)}" if count else "–"


def comparison_csv(rows: Iterable[PublishedComparison]) -> str:
    """Tabulate published against measured as CSV.

    Parameters
    ----------
    rows : iterable of PublishedComparison
        The published numbers.

    Returns
    -------
    str
        Columns ``COLUMNS``, one row per published number. ``measured`` is the mean over ``n_seeds`` seeds,
        ``ci_low`` and ``ci_high`` its 95 % interval (see
        `eigenbench.reporting.replicates.RunGroup.estimate`), ``verdict`` is `PublishedComparison.verdict`.
        Numbers that were not measured have empty fields.
    """
    lines = [
        (
            row.suite,
            row.number.source,
            row.dataset,
            row.method,
            row.number.metric,
            row.number.value,
            row.estimate.mean if row.estimate else None,
            row.estimate.low if row.estimate else None,
            row.estimate.high if row.estimate else None,
            row.estimate.n_seeds if row.estimate else 0,
            row.number.tolerance,
            row.verdict,
        )
        for row in rows
    ]
    return csv_text(COLUMNS, lines)


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
    >>> from eigenbench.reporting.estimates import estimate
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
