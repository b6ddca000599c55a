"""Probabilities from scores that estimate them but may leave [0, 1], by a monotone map of two numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

#: Bounds of the softness and of the power. The lower bound of the softness keeps probabilities above zero.
SOFTNESS, POWER = (0.01, 10.0), (0.1, 1000.0)

#: Where the search for them starts.
_START = (0.1, 2.0)

#: Below this log(1 + eˣ) is eˣ in double precision, and its logarithm x.
_TAIL = -37.0


class ScoreCalibration(NamedTuple):
    r"""Probabilities :math:`p_c \propto \log(1 + e^{s_c / \tau})^\beta` of scores s.

    The map of each score rises strictly, so the class of the largest score has the largest probability. For
    a small τ it is a power of the positive part, with an exponential tail below zero; for a large one, and a
    power as large, a softmax of scores times a number.

    Attributes
    ----------
    softness : float
        τ, in units of the scores.
    power : float
        β.
    """

    softness: float
    power: float

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return log p, (n, c) → (n, c), float64."""
        scaled = np.asarray(scores, dtype=np.float64) / self.softness
        raised = np.log(np.logaddexp(0, np.maximum(scaled, _TAIL)))
        return log_softmax(self.power * np.where(scaled < _TAIL, scaled, raised), axis=1)


def fit_calibration(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> ScoreCalibration:
    """Return the calibration of least log loss on rows that the scores were not fitted on.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        Their scores.
    codes : ndarray of shape (n,)
        Class position of each row.
    weights : ndarray of shape (n,) or None
        Weights of the rows in the loss.

    Returns
    -------
    ScoreCalibration
        Found by the Nelder-Mead method, some hundred evaluations of n·c logarithms.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.4, 0.6]])
    >>> fitted = fit_calibration(scores, np.array([0, 0, 1, 1]), None)
    >>> fitted.log_probabilities(scores).argmax(axis=1).tolist()
    [0, 0, 0, 1]
    """
    own = np.arange(len(codes)), codes

    def loss(logs: np.ndarray) -> float:
        found = ScoreCalibration(*np.exp(logs)).log_probabilities(scores)
        return -float(np.average(found[own], weights=weights))

    bounds = np.log([SOFTNESS, POWER])
    found = minimize(loss, np.log(_START), method="Nelder-Mead", bounds=bounds)
    softness, power = np.exp(found.x)
    return ScoreCalibration(float(softness), float(power))
