"""Hamming loss, micro and macro F1 of "every label whose score reaches a threshold", for many thresholds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from eigenbench.metrics.ranking import hits
from eigenbench.metrics.top_k import TopK

#: Thresholds on probabilities among which one is chosen.
THRESHOLDS: NDArray[np.float64] = np.arange(1, 100) / 100

#: The metrics of decisions, and whether larger values are better.
DECISION_METRICS = {"hamming_loss": False, "micro_f1": True, "macro_f1": True, "macro_f1_present": True}


class DecisionScores:
    """Counts of true and predicted labels, by label and threshold, over blocks of rows.

    Needs memory for two counts for each label and threshold, however many rows there are. Labels that are
    not among those given for a row count as not predicted.

    Parameters
    ----------
    n_labels : int
        Number of labels c.
    thresholds : array of float, optional
        Ascending.
    """

    def __init__(self, n_labels: int, thresholds: NDArray[np.float64] = THRESHOLDS):
        self.n_labels = n_labels
        self.thresholds = np.asarray(thresholds, dtype=np.float64)
        shape = (len(self.thresholds), n_labels)
        self._reached = np.zeros(shape, dtype=np.int32)
        self._correct = np.zeros(shape, dtype=np.int32)
        self._support = np.zeros(n_labels, dtype=np.int64)
        self._n_rows = 0

    def update(self, truth: csr_array, best: TopK, hit: NDArray[np.bool_] | None = None) -> None:
        """Add a block: its indicator (n, c), its best labels, and `hits` of these if known."""
        hit = hits(truth, best.labels) if hit is None else hit
        # The last threshold that the score reaches; what reaches it reaches all before.
        level = np.searchsorted(self.thresholds, best.scores.astype(np.float64), side="right") - 1
        counted = (level >= 0) & (best.labels >= 0)
        place = level * self.n_labels + best.labels
        for counts, chosen in ((self._reached, counted), (self._correct, counted & hit)):
            np.add.at(counts.reshape(-1), place[chosen], 1)
        self._support += np.bincount(truth.indices, minlength=self.n_labels)
        self._n_rows += truth.shape[0]

    def curves(self) -> dict[str, NDArray[np.float64]]:
        """Return each metric of `DECISION_METRICS` at every threshold.

        ``hamming_loss``: share of the n x c decisions that are wrong. ``micro_f1``: 2 TP / (2 TP + FP + FN),
        counted over all labels together; ``macro_f1``: the mean over labels of their own, where a label
        that is neither true nor predicted anywhere counts as 0; ``macro_f1_present``: that over the labels
        that are true in some row.
        """
        predicted, correct = np.zeros((2, self.n_labels), dtype=np.int64)
        present = self._support > 0
        found = {name: np.empty(len(self.thresholds)) for name in DECISION_METRICS}
        for index in reversed(range(len(self.thresholds))):
            predicted += self._reached[index]
            correct += self._correct[index]
            both = predicted + self._support
            found["hamming_loss"][index] = (both - 2 * correct).sum() / (self._n_rows * self.n_labels)
            found["micro_f1"][index] = 2 * correct.sum() / max(both.sum(), 1)
            per_label = 2 * correct / np.maximum(both, 1)
            found["macro_f1"][index] = per_label.mean()
            found["macro_f1_present"][index] = per_label[present].sum() / max(present.sum(), 1)
        return found

    def best_thresholds(self) -> dict[str, float]:
        """Return for each metric the threshold that is best for it, the lowest of several."""
        return {
            name: float(self.thresholds[np.argmax(curve) if DECISION_METRICS[name] else np.argmin(curve)])
            for name, curve in self.curves().items()
        }

    def metrics(self, thresholds: dict[str, float]) -> dict[str, float]:
        """Return each metric at its threshold, and at 0.5 as ``<metric>_at_half``."""
        found = {}
        for name, curve in self.curves().items():
            found[name] = float(curve[self._index(thresholds[name])])
            found[f"{name}_at_half"] = float(curve[self._index(0.5)])
        return found

    def _index(self, threshold: float) -> int:
        return int(np.argmin(np.abs(self.thresholds - threshold)))
