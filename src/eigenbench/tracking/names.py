"""Short names that read well in the dashboard, which cuts them after about 18 characters."""

from __future__ import annotations

import re

from eigenbench.bench.records.runs import NO_CLASSIFIER
from eigenbench.reporting.formatting import metric_style

_SHORT = 8
_UNITS = {"%": "in percent", "s": "in seconds", "nats": "in nats"}
_LEARNING_CURVES = {
    "loss_curve": "training loss by iteration",
    "validation_curve": "held-out loss by iteration",
}


def short_classifier(name: str) -> str:
    """Return the initials of a classifier's name, or a name that is short as it is.

    Examples
    --------
    >>> short_classifier("CalibratedLeastSquares"), short_classifier("least_squares"), short_classifier("svm")
    ('CLS', 'ls', 'svm')
    """
    if len(name) <= _SHORT:
        return name
    initials = "".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]|(?:^|(?<=_))[a-z0-9]", name))
    return initials or name


def summary_name(experiment: str, method: str, classifier: str) -> str:
    """Return the name of a method and classifier in an experiment; what tells them apart comes first."""
    return f"{_label(method, classifier)} · {experiment}"


def run_name(experiment: str, method: str, classifier: str, seed: int) -> str:
    """Return the name of one run: pages that compare runs show nothing but the names."""
    return f"{_label(method, classifier)} s{seed} · {experiment}"


def _label(method: str, classifier: str) -> str:
    return method if classifier == NO_CLASSIFIER else f"{method} {short_classifier(classifier)}"


def curve_name(name: str) -> tuple[str, float]:
    """Return what a curve of a record is called, with unit and axis, and the factor to that unit.

    Examples
    --------
    >>> curve_name("loss_curve")
    ('curves/training loss by iteration', 1.0)
    >>> curve_name("test_error")
    ('curves/test error in percent by step', 100.0)
    >>> curve_name("kernel_mse_by_features")
    ('curves/kernel MSE by features', 1.0)
    """
    if name in _LEARNING_CURVES:
        return f"curves/{_LEARNING_CURVES[name]}", 1.0
    metric, _, axis = name.partition("_by_")
    style = metric_style(metric)
    words = [style.label, _UNITS.get(style.unit, ""), "by", axis.replace("_", " ") or "step"]
    return f"curves/{' '.join(filter(None, words))}", style.scale
