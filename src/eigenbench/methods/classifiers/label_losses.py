"""Log losses of logits against sparse labels: multinomial, or independent for each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

from eigenbench.methods.classifiers.row_weights import mean_one


@dataclass(frozen=True)
class Targets:
    """The labels of rows, stored elements of (n, c), and the rows' weights, None where all are one."""

    labels: sparse.csr_array
    weights: np.ndarray | None = None

    def __getitem__(self, rows: Any) -> Targets:
        """Return the targets of some rows."""
        return Targets(self.labels[rows], None if self.weights is None else self.weights[rows])

    def normalised(self) -> Targets:
        """Return them with weights of mean one, so that sums over n rows divided by n are weighted means."""
        return Targets(self.labels, mean_one(self.weights))


def class_targets(codes: np.ndarray, n_classes: int) -> Targets:
    """Return class codes as targets."""
    ones = np.ones(len(codes), dtype=np.float32)
    return Targets(sparse.csr_array((ones, codes, np.arange(len(codes) + 1)), shape=(len(codes), n_classes)))


#: Returns the weighted sum of the losses of all rows and overwrites the logits (b, c) with its gradient.
LabelLoss = Callable[[np.ndarray, Targets], float]


def multinomial_loss(logits: np.ndarray, targets: Targets) -> float:
    r"""Return :math:`\sum_i w_i (\log \sum_j e^{f_{ij}} - f_{i y_i})`; overwrite f with its gradient."""
    labels, weights = targets.labels, targets.weights
    own = np.arange(len(logits)), labels.indices
    logits -= logits.max(axis=1, keepdims=True)
    own_logits = logits[own]
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1)
    logits /= totals[:, None]
    logits[own] -= 1
    if weights is None:
        return float(np.log(totals).sum(dtype=np.float64) - own_logits.sum(dtype=np.float64))
    _scale(logits, weights)
    return float(weights @ (np.log(totals) - own_logits))


def independent_loss(logits: np.ndarray, targets: Targets) -> float:
    r"""Return :math:`\sum_{ij} w_i (\log(1 + e^{f_{ij}}) - y_{ij} f_{ij})`; overwrite f with its gradient."""
    labels, weights = targets.labels, targets.weights
    own = np.repeat(np.arange(len(logits)), np.diff(labels.indptr)), labels.indices
    if weights is None:
        loss = np.logaddexp(0, logits).sum(dtype=np.float64) - logits[own].sum(dtype=np.float64)
    else:
        loss = weights @ np.logaddexp(0, logits).sum(axis=1, dtype=np.float64)
        loss -= weights[own[0]] @ logits[own]
    expit(logits, out=logits)
    logits[own] -= 1
    if weights is not None:
        _scale(logits, weights)
    return float(loss)


def _scale(gradient: np.ndarray, weights: np.ndarray) -> None:
    """Multiply rows by their weights, in place."""
    gradient *= weights.astype(gradient.dtype)[:, None]


LOSSES: dict[str, LabelLoss] = {"multinomial": multinomial_loss, "independent": independent_loss}

PROBABILITIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "multinomial": partial(softmax, axis=1),
    "independent": expit,
}
