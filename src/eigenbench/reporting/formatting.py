"""Formats of metrics and numbers for people: labels, units, digits."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricStyle:
    """Format of one metric: its name in words, unit, factor from the stored to the shown number, and digits.

    Without ``decimals`` a number has four significant digits; a whole count has none after the point.
    """

    label: str
    unit: str = ""
    scale: float = 1.0
    decimals: int | None = None

    @property
    def heading(self) -> str:
        """The label with its unit in parentheses."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def measured(self, value: float | None) -> str:
        """Write a measured number; an en dash when there is none."""
        if value is None or value != value:
            return "–"
        shown = self.scale * value
        if self.decimals is None:
            return _four_digits(shown)
        decimals = 0 if not self.unit and shown.is_integer() else self.decimals
        return f"{shown:z.{decimals}f}"

    def interval(self, low: float | None, high: float | None) -> str:
        """Write an interval as ``[low, high]``; empty when there is none."""
        return "" if low is None or high is None else f"[{self.measured(low)}, {self.measured(high)}]"

    def exact(self, value: float) -> str:
        """Write a number from a paper or a suite file with just the digits it was given with."""
        return f"{self.scale * value:.10g}"


def _four_digits(value: float) -> str:
    if value.is_integer() or 1e4 <= abs(value) + 0.5 < 1e9:
        return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"
    return f"{value:#.4g}".removesuffix(".")


#: Unit, factor and decimals of metrics.
_STYLES: dict[str, tuple[str, float, int | None]] = {
    **dict.fromkeys(("error", "balanced_error", "accuracy", "calibration_error"), ("%", 100.0, 2)),
    "errors": ("", 1.0, 1),
    "log_loss": ("nats", 1.0, 4),
    "brier": ("", 1.0, 4),
}
_WORDS = {
    **{word: word.upper() for word in ("f1", "mse", "rmse", "mae", "auc")},
    "brier": "Brier score",
    "r2": "R²",
    "nn": "1-NN",
    "ndcg": "nDCG",
}
_HIGHER_IS_BETTER = (
    *("accuracy", "precision", "recall", "ndcg", "auc", "r2", "f1", "f1_present", "f1_by_label"),
    *("captured_energy", "sibling_fraction", "effective_rank", "response_ratio", "per_second"),
)


def metric_style(metric: str) -> MetricStyle:
    """Return how a metric is shown; the parts, as ``test_``, and the sizes of one metric look the same."""
    stem, size = split_size(metric)
    label = " ".join(_WORDS.get(word, word) for word in stem.split("_") if word)
    style: tuple[str, float, int | None] = ("", 1.0, None)
    part, _, name = stem.partition("_")
    if part in ("test", "validation") and name in _STYLES:
        style = _STYLES[name]
    elif stem.endswith("accuracy"):
        style = _STYLES["accuracy"]
    elif stem.endswith("nn_error"):
        style = ("", 1.0, 4)  # published as fractions
    elif f"_{stem}".endswith("_seconds"):
        label, style = label.removesuffix("seconds") + "time", ("s", 1.0, None)
    return MetricStyle(label if size is None else f"{label} at {size:,}", *style)


def split_size(metric: str) -> tuple[str, int | None]:
    """Split ``<metric>_at_<size>`` into its parts; the size is None for a metric without one."""
    found = re.fullmatch(r"(.+)_at_(\d+)", metric)
    return (found[1], int(found[2])) if found else (metric, None)


def by_size(metric: str) -> tuple[str, int]:
    """Return a key that sorts metrics by name, and those of one name by size."""
    stem, size = split_size(metric)
    return stem, size or 0


def lower_is_better(metric: str) -> bool:
    """Return whether a smaller value of a metric, at any size, is the better one."""
    stem = split_size(metric.replace("@", "_at_"))[0].removesuffix("_at_half")
    return not stem.endswith(_HIGHER_IS_BETTER)


def sentence(text: str) -> str:
    """Begin with a capital letter and leave the rest as it is."""
    return text[:1].upper() + text[1:]


def seconds(value: float | None) -> str:
    """Write a duration in seconds with three significant digits, never in scientific form."""
    if value is None:
        return "–"
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{decimals}f}"


def probability(value: float | None) -> str:
    """Write a p-value with three decimals, or that it is smaller; an en dash when there is none.

    Examples
    --------
    >>> [probability(value) for value in (0.04, 1e-9, None)]
    ['0.040', '< .001', '–']
    """
    if value is None or value != value:
        return "–"
    return "< .001" if value < 0.001 else f"{value:.3f}"


def ratio(*values: float) -> str:
    """Write a ratio with two decimals, or the two ends of its interval; an en dash when there is none.

    Examples
    --------
    >>> ratio(0.853), ratio(0.75, 0.968), ratio(float("nan"))
    ('0.85', '[0.75, 0.97]', '–')
    """
    if any(value != value for value in values):
        return "–"
    texts = ", ".join(f"{value:.2f}" for value in values)
    return f"[{texts}]" if len(values) > 1 else texts


def count(value: float | None) -> str:
    """Write a whole number with thousands separated."""
    return "–" if value is None else f"{value:,.0f}"
