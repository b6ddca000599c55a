"""Automatic checks of results: signs that a number is not what it seems, each with a code.

An experiment silences a check in its suite file: ``silence: {identical: both are the identity here}``.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eigenbench.bench.records.record import Record
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.parts import CheckCode
from eigenbench.bench.suites.suite import ExperimentSpec
from eigenbench.reporting.replicates import RunGroup, total_seconds
from eigenbench.reporting.row_metrics import open_predictions

_BAYES_RULE = "BayesRule"

#: An error is better than guessing where it is so many standard errors lower: 5 %, one-sided.
_BETTER = 1.645
#: A leak, and twice that a seed far from the others, are so many standard errors away.
_FAR = 4.0
#: Few equal predictions may be equal by chance.
_LEAST_PREDICTIONS = 100
#: A slow search takes so many times what its candidates take at the chosen one's pace, and so many seconds.
_PACE, _LEAST_SECONDS = 5.0, 60.0


class Check(NamedTuple):
    """One finding: the code of the check, the method and classifier, and a sentence."""

    code: CheckCode
    label: str
    text: str


def check_results(spec: ExperimentSpec, groups: Sequence[RunGroup]) -> list[Check]:
    """Check the runs of an experiment with classes; codes in its ``silence`` are left out.

    ``guessing``: no better than the most frequent class. ``leak``: better than that with permuted training
    labels. ``one_class``: one class predicted for all test rows. ``identical``: the predictions of another
    method. ``outlying_seed``: a seed far from the others. ``slow_search``: most of the time for discarded
    candidates. Permuted labels are checked for leaks and identical predictions only.
    """
    if spec.protocol is not None or spec.validation.multilabel:
        return []
    tested = [group for group in groups if group.finished and not is_control(spec, group)]
    control = control_error(spec, groups)
    found = [check for group in tested for check in _of_group(spec, group, control)]
    found += _identical(tested)
    return [check for check in found if check.code not in spec.silence]


def is_control(spec: ExperimentSpec, group: RunGroup) -> bool:
    """Say whether a group is a control: the most frequent class, or the Bayes rule."""
    known = COMPONENTS.get(_component(spec, group))
    return known is not None and known.kind == "control"


def _component(spec: ExperimentSpec, group: RunGroup) -> str:
    classifier = spec.classifiers.get(group.classifier)
    return classifier.component if classifier else ""


def control_error(spec: ExperimentSpec, groups: Sequence[RunGroup]) -> float | None:
    """Return the error of guessing: of the control that ran, else of the best constant prediction."""
    controls = (one for one in groups if is_control(spec, one) and _component(spec, one) != _BAYES_RULE)
    if errors := [found.mean for group in controls if (found := group.estimate("test_error"))]:
        return min(errors)
    counts = [_class_counts(group, record) for group in groups for record in group.finished]
    constant = [1 - rows.max() / rows.sum() for rows in counts if rows.sum()]
    return float(np.mean(constant)) if constant else None


def _class_counts(group: RunGroup, record: Record) -> np.ndarray:
    """Count the test rows of each class; many classes have no confusion matrix."""
    if record.confusion is not None:
        return np.sum(record.confusion.matrix, axis=1)
    if group.results_dir is None:
        return np.zeros(1)
    with open_predictions(group.results_dir, record) as arrays:
        return np.bincount(arrays["truth"]) if "truth" in arrays else np.zeros(1)


def scaled_scores(spec: ExperimentSpec, groups: Sequence[RunGroup]) -> dict[str, float]:
    """Scale errors between guessing (0) and the Bayes rule or, without it, the best method (1), by label."""
    control = control_error(spec, groups)
    whole = [group for group in groups if not group.seeds_note("test_error")]
    errors = {group.label: group.mean(lambda record: record.metrics.get("test_error")) for group in whole}
    found = {label: error for label, error in errors.items() if error is not None}
    rule = {group.label for group in groups if _component(spec, group) == _BAYES_RULE} & set(found)
    best = min((found[label] for label in rule or found), default=None)
    if spec.validation.multilabel or control is None or best is None or best >= control:
        return {}
    return {label: (control - error) / (control - best) for label, error in found.items()}


def _of_group(spec: ExperimentSpec, group: RunGroup, control: float | None) -> Iterator[Check]:
    records = group.finished
    info, error = records[0].dataset_info, group.mean(lambda record: record.metrics.get("test_error"))
    n_test = info.n_test if info else 0
    if control is not None and error is not None and info and n_test:
        if spec.permute_labels:
            # The most frequent class of training may be a rare one of the test: any class is a better guess.
            control = min(control, 1 - 1 / info.n_classes)
        one = math.sqrt(max(control * (1 - control), 1 / n_test) / n_test)
        if spec.permute_labels and error < control - _FAR * math.hypot(one, _spread_of_names(records)):
            text = f"error {error:.3f} with permuted training labels, where guessing has {control:.3f}: test "
            yield Check("leak", group.label, f"{text}labels may leak into training")
        if not spec.permute_labels and error > control - _BETTER * one:
            text = f"error {error:.3f}, no better than guessing ({control:.3f})"
            yield Check("guessing", group.label, text)
    if not spec.permute_labels:
        if single := [record.seed for record in records if _predicts_one_class(record)]:
            seeds = ", ".join(map(str, single))
            yield Check("one_class", group.label, f"one class for all test rows (seed {seeds})")
        yield from _outlying_seeds(group, n_test)
        yield from _slow_searches(group)


def _spread_of_names(records: Sequence[Record]) -> float:
    """Return the standard deviation of the mean error if each run's predicted classes had random names.

    Rows of a cluster are predicted alike, so that errors on permuted labels are no independent guesses. The
    variance over all permutations of the names is Hoeffding's (1951), of the matrix without its means.
    """
    variances = []
    for record in records:
        if record.confusion is not None:
            share = np.array(record.confusion.matrix) / np.sum(record.confusion.matrix)
            share = share - share.mean(axis=0) - share.mean(axis=1, keepdims=True) + share.mean()
            variances.append((share**2).sum() / (len(share) - 1))
    return math.sqrt(np.mean(variances) / len(variances)) if variances else 0.0


def _predicts_one_class(record: Record) -> bool:
    if record.confusion is None:
        return any("every test row was predicted" in warning for warning in record.warnings)
    matrix = np.array(record.confusion.matrix)
    return np.count_nonzero(matrix.sum(axis=0)) == 1 < np.count_nonzero(matrix.sum(axis=1))


def _outlying_seeds(group: RunGroup, n_test: int) -> Iterator[Check]:
    """Find seeds that are further from the median than both the spread of the others and test rows allow."""
    records = [record for record in group.finished if "test_error" in record.metrics]
    errors = {record.seed: record.metrics["test_error"] for record in records}
    if len(errors) < 4 or not n_test:
        return
    for seed, error in errors.items():
        others = np.array([value for other, value in errors.items() if other != seed])
        by_rows = math.sqrt(max(others.mean() * (1 - others.mean()), 1 / n_test) / n_test)
        allowed = 2 * _FAR * max(others.std(ddof=1), by_rows)
        if abs(error - np.median(others)) > allowed:
            text = f"seed {seed} has error {error:.3f}, the others {others.min():.3f} to {others.max():.3f}"
            yield Check("outlying_seed", group.label, text)


def _slow_searches(group: RunGroup) -> Iterator[Check]:
    slow = [
        record.seed
        for record in group.finished
        if record.search and record.search_seconds is not None
        if record.search_seconds
        > max(_LEAST_SECONDS, _PACE * len(record.search.candidates) * (total_seconds(record) or math.inf))
    ]
    if slow:
        seeds = ", ".join(map(str, slow))
        yield Check("slow_search", group.label, f"the search took most of the time (seed {seeds})")


def _identical(groups: Sequence[RunGroup]) -> Iterator[Check]:
    """Find groups with the same predictions, not all right, on all seeds."""
    seen: dict[str, RunGroup] = {}
    for group in groups:
        if (digest := _digest(group)) and (first := seen.setdefault(digest, group)) is not group:
            yield Check("identical", group.label, f"the same predictions as {first.label} on all test rows")


def _digest(group: RunGroup) -> str | None:
    """Hash the predicted classes of all seeds; None where some are absent, few, or none is wrong."""
    if group.results_dir is None:
        return None
    found, n_predictions, n_wrong = hashlib.sha256(), 0, 0
    for record in group.finished:
        with open_predictions(group.results_dir, record) as arrays:
            if "predicted" not in arrays:
                return None
            predicted = arrays["predicted"]
            n_predictions += len(predicted)
            n_wrong += int(np.sum(predicted != arrays["truth"]))
        found.update(f"{record.seed}:".encode() + predicted.astype(np.int64).tobytes())
    return found.hexdigest() if n_wrong and n_predictions >= _LEAST_PREDICTIONS else None
