"""Risk of telling equal from different labels by a threshold on the distance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

#: Intervals in which the search for the best threshold is bracketed, and points tried in one step.
_INTERVALS, _POINTS = 4096, 65536


class PairDistances:
    r"""Squared distances of positive and negative pairs, ready for the risk at any threshold.

    A pair is positive when its labels are equal and negative when they differ. With threshold c a pair at
    distance D is called positive if D < c; the empirical margin risk (Maurer 2005, section 4) is the weighted
    mean over pairs of :math:`f_\gamma(r (c^2 - D^2))`, where r = ±1 and :math:`f_\gamma(t)` is 1 for t ≤ 0,
    0 for t ≥ γ and linear between. Margin 0 stands for the plain error rate; D = c is an error there.

    Balanced, both kinds have total weight 1/2; otherwise every pair weighs the same. Raises `ValueError` if
    one kind has no pair, or a distance is not finite. Sorting n pairs costs O(n log n) once, a risk then
    O(log n); 32 bytes a pair.
    """

    def __init__(self, positive: Any, negative: Any, *, balanced: bool = True) -> None:
        self.positive, self.negative = (
            np.sort(np.asarray(d, dtype=np.float64)) for d in (positive, negative)
        )
        for kind, distances in (("positive", self.positive), ("negative", self.negative)):
            if distances.size == 0:
                raise ValueError(
                    f"there is no {kind} pair: the risk needs pairs with equal and with different labels."
                )
            if not np.isfinite(distances[-1]):
                raise ValueError(f"the largest squared distance of a {kind} pair is {distances[-1]}.")
        share = self.positive.size / (self.positive.size + self.negative.size)
        self.weights = (0.5, 0.5) if balanced else (share, 1 - share)
        self._sums = [np.concatenate([[0.0], np.cumsum(d)]) for d in (self.positive, self.negative)]

    @classmethod
    def from_labels(cls, X: Any, y: Any, *, balanced: bool = True) -> PairDistances:
        """Take all pairs of rows of X (n, d), n²d flops, 16·n² bytes; `ValueError` if a kind has no pair."""
        X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        _, codes = np.unique(y, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        X = X[order] - X.mean(axis=0)
        ends = np.cumsum(np.bincount(codes))
        norms = np.einsum("nd,nd->n", X, X)
        positive: list[np.ndarray] = []
        negative: list[np.ndarray] = []
        for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
            distances = X[start:end] @ X[start:].T
            distances *= -2
            distances += norms[start:end, None]
            distances += norms[start:]
            own = distances[:, : end - start][np.triu_indices(end - start, 1)]
            positive.append(np.maximum(own, 0))
            negative.append(np.maximum(distances[:, end - start :], 0).ravel())
        return cls(np.concatenate(positive), np.concatenate(negative), balanced=balanced)

    def risk(self, threshold: Any, margin: float = 0.0) -> np.ndarray:
        """Return the empirical margin risk in [0, 1] at thresholds c ≥ 0 on the distance."""
        return self._risk_at(np.square(np.asarray(threshold, dtype=np.float64)), margin)

    def best_threshold(self, margin: float = 0.0) -> tuple[float, float]:
        """Return the threshold c of the smallest risk, and that risk: the exact minimum over all c > 0.

        With margin 0 the error rate is constant between neighbouring distances, and c² is in the middle of
        the best such interval. The risk is the sum of a falling part (positive pairs) and a rising part
        (negative pairs), so its values at the ends of an interval bound it inside. Only intervals that can
        hold the minimum are searched point by point: close to O(log n) once the distances are sorted.
        """
        # Between kinks the risk is linear, and its slope can turn from negative to positive only here.
        kinks = [self.positive] if margin == 0 else [self.positive + margin, self.negative - margin]
        top = max(self.positive[-1], self.negative[-1]) + margin
        edges = np.linspace(0, top + max(1e-9 * top, 1e-300), _INTERVALS + 1)
        falling, rising = self._parts(edges, margin)
        found = int(np.argmin(falling + rising))
        square, best = edges[found], (falling + rising)[found]
        # Without margin the risk is a step function: an edge may lie anywhere on the best step.
        attained = margin > 0 or found == 0
        floor = falling[1:] + rising[:-1]
        for index in np.argsort(floor, kind="stable"):
            if floor[index] > best or (attained and floor[index] == best):
                break
            for points in kinks:
                low, high = np.searchsorted(points, edges[index : index + 2])
                for start in range(low, high, _POINTS):
                    inside = points[start : min(start + _POINTS, high)]
                    risks = self._risk_at(np.nextafter(inside, np.inf) if margin == 0 else inside, margin)
                    position = risks.argmin()
                    if risks[position] < best or (not attained and risks[position] == best):
                        square, best, attained = inside[position], risks[position], True
        if margin == 0:
            square = self._middle(square)
        return math.sqrt(square), float(best)

    def _middle(self, square: float) -> float:
        """Return the middle between a squared distance and the next larger one of either kind."""
        above = [d[np.searchsorted(d, square, side="right") :][:1] for d in (self.positive, self.negative)]
        following = np.concatenate(above)
        return float(square + following.min()) / 2 if following.size else square * (1 + 1e-6) + 1e-12

    def _risk_at(self, square: np.ndarray, margin: float) -> np.ndarray:
        falling, rising = self._parts(square, margin)
        return falling + rising

    def _parts(self, square: np.ndarray, margin: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of the positive and of the negative pairs in the risk at thresholds c²."""
        w_positive, w_negative = (
            w / d.size for w, d in zip(self.weights, (self.positive, self.negative), strict=True)
        )
        wrong = self.positive.size - np.searchsorted(self.positive, square)
        called = np.searchsorted(self.negative, square, side="right")
        if margin == 0:
            return w_positive * wrong, w_negative * called
        low, high = np.searchsorted(self.positive, square - margin), np.searchsorted(self.positive, square)
        sums = self._sums[0][high] - self._sums[0][low]
        partly = (high - low) * (1 - square / margin) + sums / margin
        falling = w_positive * (wrong + np.maximum(partly, 0))
        low, high = called, np.searchsorted(self.negative, square + margin, side="right")
        sums = self._sums[1][high] - self._sums[1][low]
        partly = (high - low) * (1 + square / margin) - sums / margin
        return falling, w_negative * (called + np.maximum(partly, 0))


def eta_from_threshold(threshold: float, margin: float) -> float:
    r"""Return η₋₁, relative to η₁ = −1, for which T̂ bounds the margin risk at a threshold in [0, 1].

    With :math:`\eta_{-1} = \min\{1/(1-c^2), 1/\gamma\}` and :math:`\eta_1 = -\min\{1/c^2, 1/\gamma\}`,
    :math:`1 + \eta_r (c^2 - D^2)` is the smallest function that is affine in the squared distance D² and
    nowhere below the margin function (Maurer 2005, section 6).
    """
    square = threshold**2
    return max(square, margin) / max(1 - square, margin)
