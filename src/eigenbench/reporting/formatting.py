"""How metrics and numbers are written for people: labels, units, digits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MetricStyle:
    """How one metric is shown.

    Attributes
    ----------
    label : str
        The name in words, such as ``test error``.
    unit : str
        ``%``, ``nats`` or empty.
    scale : float
        Factor from the stored number to the shown one: 100 for shares.
    decimals : int or None
        Digits after the point, none for a whole count; None for four significant digits.
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
            return f"{shown:.4g}"
        whole = not self.unit and shown.is_integer()
        return f"{shown:.{0 if whole else self.decimals}f}"

    def interval(self, low: float | None, high: float | None) -> str:
        """Write an interval as ``[low, high]``; empty when there is none."""
        return "" if low is None or high is None else f"[{self.measured(low)}, {self.measured(high)}]"

    def exact(self, value: float) -> str:
        """Write a number from a paper or a suite file with just the digits it was given with."""
        return f"{self.scale * value:.10g}"


_STYLES = {
    "error": ("%", 100.0, 2),
    "balanced_error": ("%", 100.0, 2),
    "accuracy": ("%", 100.0, 2),
    "errors": ("", 1.0, 1),
    "log_loss": ("nats", 1.0, 4),
}


def metric_style(metric: str) -> MetricStyle:
    """Return how a metric is shown; ``test_`` and ``validation_`` metrics of one name look the same."""
    label = metric.replace("_", " ")
    part, _, name = metric.partition("_")
    if part in ("test", "validation") and name in _STYLES:
        return MetricStyle(label, *_STYLES[name])
    return MetricStyle(label)


def lower_is_better(metric: str) -> bool:
    """Tell whether a smaller value of a metric is the better one."""
    return not metric.endswith(("accuracy", "precision")) and "precision_at" not in metric


def seconds(value: float | None) -> str:
    """Write a duration in seconds with three significant digits, never in scientific form."""
    if value is None:
        return "–"
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{decimals}f}"


def count(value: float | None) -> str:
    """Write a whole number with thousands separated."""
    return "–" if value is None else f"{value:,.0f}"
