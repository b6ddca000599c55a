"""Published numbers beside measured ones: the verdicts, and ``comparison.csv``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from eigenbench.bench.suites.parts import PublishedNumber
from eigenbench.bench.suites.suite import ExperimentSpec, Suite
from eigenbench.reporting.csv_files import csv_text
from eigenbench.reporting.display_names import experiment_name, method_name
from eigenbench.reporting.estimates import Estimate
from eigenbench.reporting.formatting import metric_style
from eigenbench.reporting.replicates import Groups, RunGroup, published_direction
from eigenbench.reproduction.receipt import MachineCounts

_NUMBER = ("suite", "source", "dataset", "method", "metric", "published")
COLUMNS = (*_NUMBER, "measured", "ci_low", "ci_high", "n_seeds", "tolerance", "verdict")

#: Verdicts: † as `DAGGER` says.
Verdict = Literal["better", "reproduced", "reproduced †", "off"]
#: What is counted of published numbers.
VERDICTS = (*get_args(Verdict), "not run")
DAGGER = (
    "† The mean is outside the tolerance, but a single run could reach the published number, or the mean is "
    "better and there is no prediction interval."
)

#: Largest difference from a published number that counts as none, as a share of the number.
TOLERANCE = 0.05
#: Decimal numbers such as 0.132 − 0.129 are off by a few units in the last place; this is not a difference.
_ROUNDING = 1e-9


def judge(number: PublishedNumber, mean: float, prediction: tuple[float, float] | None) -> Verdict:
    """Compare a measured mean with a published number, which is the value of one run.

    The published number is the interval that its source states, or the value alone. ``prediction`` is the
    interval of one further run. The verdict is

    - ``reproduced`` where the mean is within 5 % of it, or (†) the prediction interval of one run reaches it;
    - ``better`` where the mean is more than 5 % better, and the whole prediction interval is better than it;
    - ``off`` otherwise, and where the mean is not finite.

    A ``two_sided`` number, which is neither better when less nor when more, is never bettered. Without a
    prediction interval nothing is claimed to be better: a mean on the better side is ``reproduced †``.
    """
    if not math.isfinite(mean):
        return "off"
    least, most = number.interval or (number.value, number.value)
    allowed = TOLERANCE * abs(number.value) + _ROUNDING * max(1.0, abs(number.value))
    if least - allowed <= mean <= most + allowed:
        return "reproduced"
    if prediction is not None and prediction[0] <= most and prediction[1] >= least:
        return "reproduced †"
    is_better = (mean < least) == published_direction(number) and not number.two_sided
    if not is_better:
        return "off"
    return "reproduced †" if prediction is None else "better"


@dataclass(frozen=True)
class PublishedComparison:
    """One published number, what was measured, and the verdict, which is empty without a measured number.

    A number that is only quoted has no ``group``. ``why`` says why nothing was measured. ``repeats`` names
    the comparison that judges the same number; it is empty where this one does.
    """

    suite: str
    experiment: str
    dataset: str
    number: PublishedNumber
    group: RunGroup | None
    estimate: Estimate | None
    why: str
    judged: Verdict | Literal[""]
    repeats: str = ""

    @property
    def method(self) -> str:
        """The method's name in the suite, or the label of a number that is only quoted."""
        return self.number.method or self.number.label or ""

    @property
    def label(self) -> str:
        """The display name of what was published: the source's label, else the method and classifier."""
        return self.number.label or (self.group.title if self.group else method_name(self.method))

    @property
    def marked_outcome(self) -> str:
        """The verdict, with † if it is uncertain, on a number that is judged here; else empty."""
        return "" if self.repeats or self.number.bound else self.judged

    @property
    def outcome(self) -> str:
        """The verdict without its mark."""
        return self.marked_outcome.removesuffix(" †")

    @property
    def why_off(self) -> str:
        """The suite's explanation of a number that is off; empty for other verdicts."""
        return self.number.why_off or "" if self.outcome == "off" else ""

    @property
    def seeds_note(self) -> str:
        """The seeds of the mean, such as ``3 of 5 seeds``; empty when it is over all of them."""
        return self.group.seeds_note(self.number.metric) if self.group else ""

    @property
    def verdict(self) -> str:
        """The verdict in words, with its mark and ``(3 of 5 seeds)`` if not all; or ``not run (why)``."""
        if self.estimate is None:
            return f"not run ({self.why})"
        if self.number.bound:
            mean, bound = self.estimate.mean, self.number.value
            within = mean <= bound if published_direction(self.number) else mean >= bound
            return "within bound" if within else "beyond bound"
        if self.repeats:
            return f"judged elsewhere: {self.repeats}"
        return f"{self.marked_outcome} ({self.seeds_note})" if self.seeds_note else self.marked_outcome

    @property
    def identity(self) -> tuple[object, ...]:
        """The key of the published number, whichever run on whichever data measures it."""
        number, metric = self.number, self.number.metric.removesuffix("_by_label")
        return number.source, metric, number.value, number.label or number.method


def _compare(
    suite: str, name: str, spec: ExperimentSpec, number: PublishedNumber, groups: Sequence[RunGroup]
) -> PublishedComparison:
    asked = (one for one in groups if one.method == number.method)
    group = next((one for one in asked if number.classifier in (None, one.classifier)), None)
    found = group.estimate(number.metric) if group else None
    why = ""
    if found is None:
        why = group.why_not(number.metric) if group else number.not_run or ""
    elif group is not None and group.synthetic:
        style = metric_style(number.metric)
        value = f"{style.measured(found.mean)} {style.unit}".rstrip()
        why, found = f"synthetic data in place of the paper's, here {value}", None
    judged = judge(number, found.mean, group.prediction(number.metric)) if found and group else ""
    return PublishedComparison(suite, name, spec.dataset, number, group, found, why, judged)


def compare_all_published(suites: Iterable[Suite], groups: Groups) -> list[PublishedComparison]:
    """Compare every published number of the suites, in the order of the files; each is judged once."""
    return judged_once(
        _compare(suite.name, name, spec, number, groups[suite.name, name])
        for suite in suites
        for name, spec in suite.experiments.items()
        for number in spec.published
    )


def judged_once(rows: Iterable[PublishedComparison]) -> list[PublishedComparison]:
    """Let the first measured entry of each published number judge it; the others refer to that."""
    found: list[PublishedComparison] = []
    first: dict[tuple[object, ...], str] = {}
    for row in rows:
        if row.judged and not row.number.bound:
            if place := first.get(row.identity):
                row = replace(row, repeats=place)
            else:
                place = f"{experiment_name(row.experiment, row.dataset)} ({row.suite})"
                title = row.group.title if row.group else row.label
                first[row.identity] = f"{place}: {title}, {metric_style(row.number.metric).label}"
        found.append(row)
    return found


def verdict_counts(rows: Iterable[PublishedComparison]) -> dict[str, int]:
    """Count distinct published numbers by verdict, without bounds and those judged elsewhere."""
    verdicts: dict[tuple[object, ...], str] = {}
    for row in rows:
        if not (row.number.bound or row.repeats):
            verdicts[row.identity] = verdicts.get(row.identity) or row.marked_outcome
    found = Counter(verdict or "not run" for verdict in verdicts.values())
    return {name: found[name] for name in VERDICTS}


def machines_text(machines: MachineCounts, row: PublishedComparison) -> str:
    """Return ``k machines`` that reproduced the runs behind a number, or a dash for none."""
    if row.group is None:
        return "–"
    count = machines.count(row.suite, row.experiment, row.group.method, row.group.classifier)
    return f"{count} machine{'s' * (count > 1)}" if count else "–"


def comparison_csv(rows: Iterable[PublishedComparison]) -> str:
    """Tabulate published numbers with means and 95 % intervals as CSV; what was not measured is empty."""
    lines = []
    for row in rows:
        number, found = row.number, row.estimate
        measured = (found.mean, found.low, found.high, found.n_seeds) if found else (None, None, None, 0)
        published = (row.suite, number.source, row.dataset, row.method, number.metric, number.value)
        lines.append((*published, *measured, TOLERANCE * abs(number.value), row.verdict))
    return csv_text(COLUMNS, lines)
