"""Probabilities from scores that estimate them but may leave [0, 1], by a monotone map of two numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax

#: Bounds of the softness and of the power. The lower bound of the softness keeps probabilities above zero.
SOFTNESS, POWER = (0.01, 1.0), (0.1, 1000.0)

#: Bounds of the temperature of logits.
TEMPERATURES = (0.05, 20.0)

#: The smallest probability.
SMALLEST = float(np.finfo(np.float64).tiny)

#: Where the search for them starts.
_START = (0.1, 2.0)

#: When the search ends: differences of logarithms of the parameters, and of the loss.
TOLERANCE = {"xatol": 0.03, "fatol": 1e-4}

#: Below this log(1 + eˣ) is eˣ in double precision, and its logarithm x.
_TAIL = -37.0


class ScoreCalibration(NamedTuple):
    r"""Probabilities :math:`p_c \propto \log(1 + e^{s_c / \tau})^\beta` of scores s.

    The map of each score rises strictly, so the class of the largest score has the largest probability. For a
    small ``softness`` τ, in units of the scores, it is a power of the positive part, with an exponential tail
    below zero; for a large one, and a ``power`` β as large, a softmax of scores times a number.
    """

    softness: float
    power: float

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Return log p but for a constant of each row, in the shape of the scores, float64."""
        scaled = np.asarray(scores, dtype=np.float64) / self.softness
        raised = np.log(np.logaddexp(0, np.maximum(scaled, _TAIL)))
        return self.power * np.where(scaled < _TAIL, scaled, raised)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return p, (n, c) → (n, c), float64; none is zero."""
        return np.maximum(softmax(self.logits(scores), axis=1), SMALLEST)


def _smoothed_loss(logits: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the mean log loss of targets 1 - 1/(n + 2) for the own class, the rest for all others alike.

    ``logits`` (c, n): a class a row, as sums over few classes are faster so.
    """
    own, most = logits[codes, np.arange(len(codes))], logits.max(axis=0)
    miss = 1 / ((len(codes) if weights is None else weights.sum()) + 2)
    others = (logits.sum(axis=0) - own) / (len(logits) - 1)
    log_total = most + np.log(np.exp(logits - most).sum(axis=0))
    return float(np.average(log_total - (1 - miss) * own - miss * others, weights=weights))


def fit_calibration(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> ScoreCalibration:
    """Return the calibration of least log loss on rows (n, c) that the scores were not fitted on.

    Found by the Nelder-Mead method, some hundred evaluations of n·c logarithms. As in Platt's method targets
    are smoothed, or the loss of rows that are all classified rightly would fall for ever: of n rows each has
    the target 1 - 1/(n + 2) for its class. Counts by class in place of n smooth too much where each of many
    classes has few rows.
    """
    columns = np.ascontiguousarray(scores.T)

    def loss(logs: np.ndarray) -> float:
        return _smoothed_loss(ScoreCalibration(*np.exp(logs)).logits(columns), codes, weights)

    bounds = np.log([SOFTNESS, POWER])
    found = minimize(loss, np.log(_START), method="Nelder-Mead", bounds=bounds, options=TOLERANCE)
    softness, power = np.exp(found.x)
    return ScoreCalibration(float(softness), float(power))


def fit_temperature(logits: np.ndarray, codes: np.ndarray) -> float:
    """Return the temperature of least log loss, smoothed, for logits (n, c) of rows not used in their fit."""

    def loss(log: float) -> float:
        return _smoothed_loss(logits.T / np.exp(log), codes, None)

    return float(np.exp(minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded").x))
