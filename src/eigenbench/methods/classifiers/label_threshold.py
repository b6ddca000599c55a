"""One probability threshold for all labels, chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from eigenbench.methods.classifiers.label_losses import Targets

#: Thresholds tried are the multiples of one over this number.
RESOLUTION = 1000


def choose_threshold(blocks: Iterable[tuple[np.ndarray, Targets]], metric: str) -> float:
    """Return the threshold on probabilities that is best for a metric over all labels.

    Parameters
    ----------
    blocks : iterable of (probabilities (b, c), Targets)
        Held-out rows, in blocks; their weights count them.
    metric : {"micro_f1", "hamming_loss"}
        F1 over all pairs of a row and a label, or the share of wrong pairs.

    Returns
    -------
    float
        Labels of at least this probability are predicted. Of equally good ones the one nearest ½.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from eigenbench.methods.classifiers.label_losses import Targets
    >>> probabilities, labels = np.array([[0.1, 0.3, 0.2]]), sparse.csr_array([[0, 1, 1]])
    >>> choose_threshold([(probabilities, Targets(labels))], "micro_f1")
    0.2
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
