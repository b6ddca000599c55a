"""Metrics of multilabel models on labelled rows, in blocks: decisions by thresholds, and rankings."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from eigenbench.methods.metrics.ranking import RankingScores, TopK, hits, predict_top_k

#: Thresholds on probabilities among which one is chosen.
THRESHOLDS: NDArray[np.float64] = np.arange(1, 100) / 100

#: The metrics of decisions by one threshold for all labels, and whether larger values are better.
DECISION_METRICS = {"hamming_loss": False, "micro_f1": True, "macro_f1": True, "macro_f1_present": True}

#: Macro F1 where each label has a threshold of its own.
BY_LABEL = "macro_f1_by_label"

#: Thresholds by metric: one for all labels, or one for each.
Thresholds = dict[str, float | list[float]]


class DecisionScores:
    """Counts of true and predicted labels, by label and threshold (ascending), over blocks of rows.

    Needs memory for two counts and a sum for each label and threshold, however many rows there are. Labels
    that are not among those given for a row count as not predicted.
    """

    def __init__(self, n_labels: int):
        self.n_labels = n_labels
        shape = (len(THRESHOLDS), n_labels)
        self._reached = np.zeros(shape, dtype=np.int32)
        self._correct = np.zeros(shape, dtype=np.int32)
        self._mass = np.zeros(shape)
        self._mass_below = np.zeros(n_labels)
        self._support = np.zeros(n_labels, dtype=np.int64)
        self._n_rows = 0

    def update(self, truth: csr_array, best: TopK, hit: NDArray[np.bool_] | None = None) -> None:
        """Add a block: its indicator (n, c), its best labels, and `hits` of these if known."""
        hit = hits(truth, best.labels) if hit is None else hit
        # The last threshold that the score reaches; what reaches it reaches all before.
        level = np.searchsorted(THRESHOLDS, best.scores.astype(np.float64), side="right") - 1
        counted = (level >= 0) & (best.labels >= 0)
        place = level * self.n_labels + best.labels
        for counts, chosen in ((self._reached, counted), (self._correct, counted & hit)):
            np.add.at(counts.reshape(-1), place[chosen], 1)
        np.add.at(self._mass.reshape(-1), place[counted], best.scores[counted])
        below = (level < 0) & (best.labels >= 0)
        np.add.at(self._mass_below, best.labels[below], best.scores[below])
        self._support += np.bincount(truth.indices, minlength=self.n_labels)
        self._n_rows += truth.shape[0]

    def curves(self) -> dict[str, NDArray[np.float64]]:
        """Return each metric of `DECISION_METRICS` at every threshold.

        ``hamming_loss``: share of the n x c decisions that are wrong. ``micro_f1``: 2 TP / (2 TP + FP + FN),
        counted over all labels together; ``macro_f1``: the mean over labels of their own, where a label
        that is neither true nor predicted anywhere counts as 0; ``macro_f1_present``: that over the labels
        that are true in some row.
        """
        predicted, correct = _at_least(self._reached), _at_least(self._correct)
        both = predicted + self._support
        per_label = 2 * correct / np.maximum(both, 1)
        present = self._support > 0
        return {
            "hamming_loss": (both - 2 * correct).sum(axis=1) / (self._n_rows * self.n_labels),
            "micro_f1": 2 * correct.sum(axis=1) / np.maximum(both.sum(axis=1), 1),
            "macro_f1": per_label.mean(axis=1),
            "macro_f1_present": per_label[:, present].sum(axis=1) / max(present.sum(), 1),
        }

    def best_thresholds(self) -> Thresholds:
        """Return for each metric the threshold that is best for it, the lowest of several.

        Those of ``macro_f1_by_label`` have the largest expected F1 by the scores alone, taken as
        probabilities (Z. C. Lipton, C. Elkan and B. Naryanaswamy, "Optimal thresholding of classifiers to
        maximize F1 measure", ECML PKDD 2014): what single labels of few rows would call for is mostly noise.
        """
        return {
            **{
                name: float(THRESHOLDS[np.argmax(curve) if DECISION_METRICS[name] else np.argmin(curve)])
                for name, curve in self.curves().items()
            },
            BY_LABEL: THRESHOLDS[self._largest_expected_f1()].tolist(),
        }

    def _largest_expected_f1(self) -> NDArray[np.intp]:
        """Return the index of each label's threshold."""
        reached, mass = _at_least(self._reached), _at_least(self._mass)
        expected = 2 * mass / np.maximum(reached + mass[0] + self._mass_below, np.finfo(float).tiny)
        return np.argmax(expected, axis=0)

    def metrics(self, thresholds: Thresholds) -> dict[str, float]:
        """Return each metric at its threshold, and at 0.5 as ``<metric>_at_half``."""
        found = {}
        for name, curve in self.curves().items():
            found[name] = float(curve[self._index(thresholds[name])])
            found[f"{name}_at_half"] = float(curve[self._index(0.5)])
        found[BY_LABEL] = self._macro_f1_by_label(thresholds[BY_LABEL])
        return found

    def _macro_f1_by_label(self, thresholds: float | list[float]) -> float:
        places = [self._index(threshold) for threshold in np.broadcast_to(thresholds, self.n_labels)]
        own = places, np.arange(self.n_labels)
        correct, both = _at_least(self._correct)[own], _at_least(self._reached)[own] + self._support
        return float(np.mean(2 * correct / np.maximum(both, 1)))

    def _index(self, threshold: float | list[float]) -> int:
        return int(np.argmin(np.abs(THRESHOLDS - threshold)))


def _at_least(counts: NDArray[Any]) -> NDArray[Any]:
    """Return sums (thresholds, c) over what reaches each threshold, from those over what reaches no next."""
    return np.cumsum(counts[::-1], axis=0)[::-1]


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
    """Predict every row once and compare with its labels, an indicator (n, c).

    Metrics are those of `RankingScores` and `DecisionScores`, and ``examples_per_second`` predicted; exact
    unless more than 1,024 labels of a row reach the lowest threshold, 0.01. Without ``thresholds`` each is
    chosen on these very rows, so they must not be those that the result is reported on. Inverse propensities
    (c,) are from training rows; the scores of a model (see
    `eigenbench.methods.metrics.ranking.predict_top_k`) are probabilities.
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
