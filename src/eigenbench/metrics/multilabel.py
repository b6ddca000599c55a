"""Score a fitted multilabel model on labelled rows, in blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenbench.metrics.decisions import DecisionScores, Thresholds
from eigenbench.metrics.ranking import RankingScores, hits
from eigenbench.metrics.top_k import predict_top_k

#: Labels of each row that are looked at: all of them for most datasets.
DEPTH = 1024


@dataclass(frozen=True)
class MultilabelScores:
    """Metrics by name, the thresholds that were used, and the time to predict."""

    metrics: dict[str, float]
    thresholds: Thresholds
    predict_seconds: float


def score_multilabel(
    model: Any,
    X: Any,
    Y: csr_array,
    *,
    inverse_propensities: NDArray[np.float64],
    thresholds: Thresholds | None = None,
    ks: tuple[int, ...] = (1, 3, 5),
) -> MultilabelScores:
    """Predict every row once and compare with its labels.

    Parameters
    ----------
    model : classifier
        See `eigenbench.metrics.top_k.predict_top_k`; scores are probabilities.
    X : array or sparse array of shape (n, d)
        The rows.
    Y : csr_array of shape (n, c)
        Their labels, an indicator.
    inverse_propensities : array of shape (c,)
        From training rows.
    thresholds : dict of str to float or list of float, optional
        The threshold for each of the metrics of `DecisionScores`, or those of all labels. Without it each is
        chosen on these very rows, so they must not be those that the result is reported on.
    ks : tuple of int
        For the ranking metrics.

    Returns
    -------
    MultilabelScores
        Metrics as `RankingScores` and `DecisionScores` give them, and ``examples_per_second`` predicted.
        Exact unless more than 1,024 labels of a row reach the lowest threshold, 0.01.
    """
    n_labels = Y.shape[1]
    ranking, decisions = RankingScores(ks, inverse_propensities), DecisionScores(n_labels)
    seconds = 0.0
    started = time.perf_counter()
    for rows, best in predict_top_k(model, X, min(n_labels, DEPTH), n_labels):
        seconds += time.perf_counter() - started
        truth = Y[rows]
        hit = hits(truth, best.labels)
        ranking.update(truth, best, hit)
        decisions.update(truth, best, hit)
        started = time.perf_counter()
    thresholds = decisions.best_thresholds() if thresholds is None else thresholds
    metrics = ranking.metrics() | decisions.metrics(thresholds)
    metrics["examples_per_second"] = X.shape[0] / seconds
    return MultilabelScores(metrics, thresholds, seconds)
