"""Log losses of logits against sparse labels: multinomial, or independent for each label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.special import expit, softmax

#: Returns the sum of the losses of all rows and overwrites the logits (b, c) with its gradient.
LabelLoss = Callable[[np.ndarray, sparse.csr_array], float]


def multinomial_loss(logits: np.ndarray, labels: sparse.csr_array) -> float:
    r"""Return :math:`\sum_i (\log \sum_j e^{f_{ij}} - f_{i y_i})` in nats and overwrite f with its gradient.

    Parameters
    ----------
    logits : ndarray of shape (b, c)
        The f; overwritten.
    labels : csr_array of shape (b, c)
        One stored element in every row.
    """
    own = np.arange(len(logits)), labels.indices
    logits -= logits.max(axis=1, keepdims=True)
    loss = -logits[own].sum(dtype=np.float64)
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1)
    logits /= totals[:, None]
    logits[own] -= 1
    return float(loss + np.log(totals).sum(dtype=np.float64))


def independent_loss(logits: np.ndarray, labels: sparse.csr_array) -> float:
    r"""Return :math:`\sum_{ij} \log(1 + e^{f_{ij}}) - y_{ij} f_{ij}` (nats); overwrite f with its gradient.

    Parameters
    ----------
    logits : ndarray of shape (b, c)
        The f; overwritten.
    labels : csr_array of shape (b, c)
        Stored elements are the labels.
    """
    own = np.repeat(np.arange(len(logits)), np.diff(labels.indptr)), labels.indices
    loss = np.logaddexp(0, logits).sum(dtype=np.float64) - logits[own].sum(dtype=np.float64)
    expit(logits, out=logits)
    logits[own] -= 1
    return float(loss)


def multinomial_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return probabilities whose rows sum to one."""
    return softmax(logits, axis=1)


def independent_probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each label."""
    return expit(logits)


LOSSES: dict[str, LabelLoss] = {"multinomial": multinomial_loss, "independent": independent_loss}

PROBABILITIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "multinomial": multinomial_probabilities,
    "independent": independent_probabilities,
}
