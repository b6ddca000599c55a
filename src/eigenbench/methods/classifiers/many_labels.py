"""Prediction from logits of very many labels in blocks of rows, and its threshold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from eigenbench.methods.classifiers.logistic_decoder import Targets
from eigenbench.methods.classifiers.score_calibration import fit_temperature
from eigenbench.methods.classifiers.score_classifier import ScoreClassifier
from eigenbench.methods.metrics.ranking import top_k

#: Logits by which the temperature is found, at most.
LOGITS = 2_000_000

#: Thresholds tried are the multiples of one over this number.
RESOLUTION = 1000


def choose_threshold(blocks: Iterable[tuple[np.ndarray, Targets]], metric: str) -> float:
    """Return the threshold on probabilities that is best for "micro_f1" or "hamming_loss" over all labels.

    Of equally good ones the one nearest ½. Weights of the held-out rows count them.
    """
    pairs, positives = np.zeros(RESOLUTION + 1), np.zeros(RESOLUTION + 1)
    for probabilities, targets in blocks:
        labels, weights = targets.labels, targets.weights
        # Rounding keeps 0.3 · 1000 = 299.99… from counting as below 0.3.
        bins = np.floor(probabilities * RESOLUTION + 1e-4).astype(np.int64)
        own = np.repeat(np.arange(len(bins)), np.diff(labels.indptr)), labels.indices
        of_pairs = None if weights is None else np.repeat(weights, bins.shape[1])
        pairs += np.bincount(bins.ravel(), of_pairs, minlength=RESOLUTION + 1)
        of_labels = None if weights is None else weights[own[0]]
        positives += np.bincount(bins[own], of_labels, minlength=RESOLUTION + 1)
    predicted, hits = (np.cumsum(counts[::-1])[::-1] for counts in (pairs, positives))
    n_positive = hits[0]
    if metric == "micro_f1":
        value = 2 * hits / np.maximum(predicted + n_positive, np.finfo(np.float64).tiny)
    else:
        value = -(predicted + n_positive - 2 * hits)
    candidates = np.arange(1, RESOLUTION + 1)
    best = candidates[value[1:] == value[1:].max()]
    return float(best[np.abs(best - RESOLUTION / 2).argmin()] / RESOLUTION)


class ManyLabelClassifier(ScoreClassifier):
    """Base of classifiers whose scores of all rows need not fit in memory.

    ``fit`` sets the attributes below and calls `_remember_targets`.
    """

    classes_: np.ndarray
    loss: str
    loss_: str
    sampled_labels: int | None
    class_weight: Any
    loss_curve_: np.ndarray
    validation_curve_: np.ndarray
    threshold: str | float
    threshold_: float | None
    _multilabel: bool = False

    def _remember_targets(self, Y: Any, *, multilabel: bool) -> None:
        """Keep the form of the targets, which predictions will have."""
        self._multilabel = multilabel
        self._sparse_output, self._label_dtype = sparse.issparse(Y), Y.dtype.str

    def _initial_threshold(self) -> float | None:
        """Return the threshold that is used unless one is chosen on held-out rows."""
        if not self._multilabel:
            return None
        return 0.5 if isinstance(self.threshold, str) else float(self.threshold)

    def _checked_loss(self, labels: sparse.csr_array) -> str:
        """Return the loss for these labels; raise `ValueError` where parameters do not suit them."""
        if not self._multilabel and labels.shape[1] < 2:
            raise ValueError(f"Y holds one class only ({self.classes_[0]}): a classifier needs at least two.")
        if self.sampled_labels is not None and (self._multilabel or self.loss == "independent"):
            raise ValueError("sampled_labels is for the softmax of one label a row: leave it at None.")
        if self.class_weight is not None and self._multilabel:
            raise ValueError("class_weight is for one label a row: leave it at None, or weigh the rows.")
        if self.loss == "auto":
            return "independent" if self._multilabel else "multinomial"
        odd = np.flatnonzero(np.diff(labels.indptr) != 1)
        if self.loss == "multinomial" and odd.size:
            raise ValueError(
                f'loss="multinomial" is for one label per row, but row {odd[0]} has '
                f'{np.diff(labels.indptr)[odd[0]]}: use "independent".'
            )
        return self.loss

    def _temperature(self, X: Any, targets: Targets) -> np.float32:
        """Return the temperature of least log loss on some of the rows; one with labels of their own."""
        if self.loss_ != "multinomial":
            return np.float32(1)
        few = np.arange(0, X.shape[0], 1 + X.shape[0] * len(self.classes_) // LOGITS)
        logits = np.concatenate([logits for _, logits in self._score_blocks(X[few])])
        return np.float32(fit_temperature(logits, targets.labels.indices[few]))

    def _chosen_threshold(self, X: Any, targets: Targets) -> float:
        """Return the threshold that is best on rows by the metric that is named."""
        blocks = ((self._probabilities(logits), targets[here]) for here, logits in self._score_blocks(X))
        return choose_threshold(blocks, str(self.threshold))

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return expit(scores) if self.loss_ == "independent" else super()._probabilities(scores)

    def _gives_one_column(self) -> bool:
        return len(self.classes_) == 2 and not self._multilabel

    def predict(self, X: Any) -> Any:
        """Return the class of the largest logit, or the labels above the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.

        Returns
        -------
        ndarray of shape (n_samples,), or {ndarray, csr_array} of shape (n_samples, c)
            Class labels, or indicators that are sparse if those given to ``fit`` were.
        """
        if not self._multilabel:
            return super().predict(X)
        X = self._fitted_rows(X)
        parts = []
        for _, logits in self._score_blocks(X):
            chosen = self._probabilities(logits) >= self.threshold_
            parts.append(sparse.csr_array(chosen) if self._sparse_output else chosen)
        stack = sparse.vstack(parts, format="csr") if self._sparse_output else np.concatenate(parts)
        return stack.astype(self._label_dtype)

    def predict_top_k(self, X: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k most probable labels of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The data.
        k : int
            Number of labels, at most c.

        Returns
        -------
        labels : ndarray of shape (n_samples, k)
            From ``classes_``, the most probable first.
        probabilities : ndarray of shape (n_samples, k), float32

        Raises
        ------
        ValueError
            If k is not between 1 and the number of labels.
        """
        X = self._fitted_rows(X)
        if not 1 <= k <= len(self.classes_):
            raise ValueError(f"k={k} is not between 1 and the number of labels, {len(self.classes_)}.")
        order = np.empty((X.shape[0], k), dtype=np.int64)
        scores = np.empty((X.shape[0], k), dtype=np.float32)
        for here, logits in self._score_blocks(X):
            best = top_k(self._probabilities(logits), k)
            order[here], scores[here] = best.labels, best.scores
        return self.classes_[order], scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
