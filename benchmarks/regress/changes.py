"""Changes between two measurements of the same quantities beyond noise, and whether they are worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from measures import kind_of
from scipy import stats

from eigenbench.comparison.ranks import holm

#: Family-wise: the share of comparisons of equal code, all quantities together, in which anything is named.
LEVEL = 0.01

#: Values of a quantity, one for each round; those of the same round belong to the same data.
Rounds = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Change:
    """A quantity before and after, as means over the rounds that both have.

    Attributes
    ----------
    ratio : float
        After by before.
    p_value : float
        Of no change, corrected by Holm for the number of quantities.
    verdict : {"worse", "better", "same", "missing"}
        Missing is a quantity that was there before and is not after, which counts as worse.
    """

    quantity: str
    before: float
    after: float
    ratio: float
    p_value: float
    verdict: Literal["worse", "better", "same", "missing"]


def changes(before: Rounds, after: Rounds) -> list[Change]:
    """Compare two measurements round by round.

    Work is compared on a logarithmic scale. A change is named if a paired t-test finds it at the level of
    1 %, all quantities together, and if it is larger than the margin of its kind.
    """
    shared = [name for name in before if name in after]
    p_values = holm([_p_value(*_paired(name, before, after)) for name in shared])
    found = []
    for name, p in zip(shared, p_values, strict=True):
        earlier, later = (float(np.mean(values)) for values in _rounds(name, before, after))
        ratio = later / earlier if earlier else 1.0 if later == earlier else np.inf
        found.append(Change(name, earlier, later, ratio, float(p), _verdict(name, ratio, p)))
    gone = [name for name in before if name not in after]
    return found + [
        Change(name, float(np.mean(before[name])), np.nan, np.nan, 0.0, "missing") for name in gone
    ]


def _verdict(quantity: str, ratio: float, p_value: float) -> Literal["worse", "better", "same"]:
    kind = kind_of(quantity)
    if not p_value < LEVEL or 1 / (1 + kind.margin) <= ratio <= 1 + kind.margin:
        return "same"
    return "better" if (ratio > 1) == kind.higher_is_better else "worse"


def _rounds(name: str, before: Rounds, after: Rounds) -> tuple[np.ndarray, np.ndarray]:
    n = min(len(before[name]), len(after[name]))
    return np.asarray(before[name][:n], dtype=float), np.asarray(after[name][:n], dtype=float)


def _paired(name: str, before: Rounds, after: Rounds) -> tuple[np.ndarray, np.ndarray]:
    pair = _rounds(name, before, after)
    return (np.log(pair[0]), np.log(pair[1])) if name.endswith(".work") else pair


def _p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Return that of the paired t-test; where all differences are the same, 1 if that is zero, else 0."""
    differences = second - first
    if np.ptp(differences) <= 1e-12 * np.abs(first).max(initial=0.0):
        return float(np.allclose(second, first, rtol=1e-9, atol=0))
    return float(stats.ttest_1samp(differences, 0).pvalue)
