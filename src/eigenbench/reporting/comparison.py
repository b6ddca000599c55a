"""``comparison.csv``: every published number beside what was measured here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from eigenbench.experiments.record import Record
from eigenbench.experiments.suite import ExperimentSpec, PublishedNumber, Suite
from eigenbench.reporting.cells import Cell, find_cell, group_cells
from eigenbench.reporting.intervals import Estimate
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
    cell : Cell or None
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
    cell: Cell | None
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
    def verdict(self) -> str:
        """``reproduced``, ``better``, ``off`` or ``not run (why)``."""
        return self.outcome or f"not run ({self.why})"

    @property
    def imprecise(self) -> bool:
        """Whether more seeds or test rows could turn the verdict into ``off``."""
        found = self.estimate
        return found is not None and self.outcome != "off" and is_imprecise(self.number, found)


def compare(suite: Suite, experiment: str, cells: Sequence[Cell]) -> list[Comparison]:
    """Compare the published numbers of one experiment with its cells, in the suite's order."""
    spec = suite.experiments[experiment]
    return [_compare(suite.name, experiment, spec, number, cells) for number in spec.published]


def _compare(
    suite: str, name: str, spec: ExperimentSpec, number: PublishedNumber, cells: Sequence[Cell]
) -> Comparison:
    cell = find_cell(cells, number.method, number.classifier) if number.method else None
    found = cell.estimate(number.metric) if cell else None
    why = ""
    if found is None:
        why = cell.why_not(number.metric) if cell else number.not_run or ""
    return Comparison(suite, name, spec.dataset, number, cell, found, why)


def compare_all(suites: Sequence[Suite], records: Iterable[Record]) -> list[Comparison]:
    """Compare every published number of the suites, in the order of the files."""
    groups = group_cells(suites, records)
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


def comparison_table(suites: Sequence[Suite], records: Iterable[Record]) -> pd.DataFrame:
    """Tabulate published against measured.

    Parameters
    ----------
    suites : sequence of Suite
        Their published numbers give the rows.
    records : iterable of Record
        The runs; those of other suites are left out.

    Returns
    -------
    DataFrame
        Columns ``COLUMNS``, one row per published number, in the order of the suite files. ``measured``
        is the mean over seeds, ``ci_low`` and ``ci_high`` its 95 % interval (see
        `eigenbench.reporting.intervals.estimate`), ``verdict`` follows
        `eigenbench.reporting.verdict.judge`. Numbers that were not measured have empty cells.
    """
    rows = [
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
        for row in compare_all(suites, records)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    floats = ["published", "measured", "ci_low", "ci_high", "tolerance"]
    return table.astype({**dict.fromkeys(floats, "float64"), "n_seeds": "int64"})
