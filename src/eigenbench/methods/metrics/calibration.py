"""Distance of confidence from accuracy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15) -> float:
    """Return the mean distance of confidence from accuracy over bins of rows, weighted by their rows.

    ``confidence`` (n,) is the probability of a row's predicted class, ``correct`` (n,) whether it is right;
    bins are of equal width. From 0 to 1; on few rows above zero even for exact probabilities (C. Guo,
    G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural networks", ICML 2017).

    >>> expected_calibration_error([0.75, 0.75, 0.75, 0.75], [True, True, False, False])
    0.25
    """
    confidence = np.asarray(confidence, dtype=np.float64)
    gaps = confidence - np.asarray(correct, dtype=np.float64)
    bins = np.clip(np.ceil(confidence * n_bins) - 1, 0, n_bins - 1).astype(np.int64)
    return float(np.abs(np.bincount(bins, weights=gaps, minlength=n_bins)).sum() / len(gaps))
