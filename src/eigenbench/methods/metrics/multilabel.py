"""Score a fitted multilabel model on labelled rows, in blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from eigenbench.methods.metrics.decisions import THRESHOLDS, DecisionScores, Thresholds
from eigenbench.methods.metrics.ranking import RankingScores, hits
from eigenbench.methods.metrics.top_k import TopK, predict_top_k

#: Labels of each row that are looked at: all of them for most datasets.
DEPTH = 1024


@dataclass(frozen=True)
class MultilabelScores:
    """Metrics by name, the thresholds that were used, the time to predict, and the scores of the best labels.

    ``predictions`` (n, c) holds, in float32, each row's five best labels and what scores above 0.01.
    """

    metrics: dict[str, float]
    thresholds: Thresholds
    predict_seconds: float
    predictions: csr_array


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
        See `eigenbench.methods.metrics.top_k.predict_top_k`; scores are probabilities.
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
    kept = []
    started = time.perf_counter()
    for rows, best in predict_top_k(model, X, min(n_labels, DEPTH), n_labels):
        seconds += time.perf_counter() - started
        truth = Y[rows]
        hit = hits(truth, best.labels)
        ranking.update(truth, best, hit)
        decisions.update(truth, best, hit)
        kept.append(_best_scores(best, n_labels))
        started = time.perf_counter()
    thresholds = decisions.best_thresholds() if thresholds is None else thresholds
    metrics = ranking.metrics() | decisions.metrics(thresholds)
    metrics["examples_per_second"] = X.shape[0] / seconds
    return MultilabelScores(metrics, thresholds, seconds, vstack(kept, format="csr"))


def _best_scores(best: TopK, n_labels: int) -> csr_array:
    """Return the scores of some rows' five best labels, and of all that reach the lowest threshold."""
    keep = (best.labels >= 0) & ((np.arange(best.labels.shape[1]) < 5) | (best.scores >= THRESHOLDS[0]))
    starts = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    content = (best.scores[keep].astype(np.float32), best.labels[keep].astype(np.int32), starts)
    return csr_array(content, shape=(len(keep), n_labels))
