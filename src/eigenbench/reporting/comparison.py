"""``comparison.csv``: every published number beside what was measured here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.intervals import Estimate
from eigenbench.reporting.run_groups import Groups, RunGroup, find_group
from eigenbench.reporting.verdict import Verdict, is_imprecise, judge

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
class Comparison:
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
    def imprecise(self) -> bool:
        """Whether more seeds or test rows could turn the verdict into ``off``."""
        found = self.estimate
        return found is not None and self.outcome != "off" and is_imprecise(self.number, found)


def compare(suite: Suite, experiment: str, groups: Sequence[RunGroup]) -> list[Comparison]:
    """Compare the published numbers of one experiment with its groups, in the suite's order."""
    spec = suite.experiments[experiment]
    return [_compare(suite.name, experiment, spec, number, groups) for number in spec.published]


def _compare(
    suite: str, name: str, spec: ExperimentSpec, number: PublishedNumber, groups: Sequence[RunGroup]
) -> Comparison:
    group = find_group(groups, number.method, number.classifier) if number.method else None
    found = group.estimate(number.metric) if group else None
    why = ""
    if found is None:
        why = group.why_not(number.metric) if group else number.not_run or ""
    return Comparison(suite, name, spec.dataset, number, group, found, why)


def compare_all(suites: Iterable[Suite], groups: Groups) -> list[Comparison]:
    """Compare every published number of the suites, in the order of the files."""
    return [
        row
        for suite in suites
        for name in suite.experiments
        for row in compare(suite, name, groups[suite.name, name])
    ]


def verdict_counts(rows: Iterable[Comparison]) -> dict[str, int]:
    """Count published numbers by verdict; ``not run`` counts all reasons."""
    found = Counter(row.outcome or "not run" for row in rows)
    return {name: found[name] for name in ("better", "reproduced", "off", "not run")}


def comparison_csv(rows: Iterable[Comparison]) -> str:
    """Tabulate published against measured as CSV.

    Parameters
    ----------
    rows : iterable of Comparison
        The published numbers.

    Returns
    -------
    str
        Columns ``COLUMNS``, one row per published number. ``measured`` is the mean over ``n_seeds`` seeds,
        ``ci_low`` and ``ci_high`` its 95 % interval (see
        `eigenbench.reporting.run_groups.RunGroup.estimate`), ``verdict`` is `Comparison.verdict`. Numbers
        that were not measured have empty fields.
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
