"""One sign for vectors that are determined up to their sign."""

from __future__ import annotations

import numpy as np


def make_peaks_positive(vectors: np.ndarray) -> np.ndarray:
    """Make the entry of largest absolute value of every column (d, m) positive, in place; return the array.

    Examples
    --------
    >>> import numpy as np
    >>> make_peaks_positive(np.array([[1.0, 2.0], [-3.0, 1.0]])).tolist()
    [[-1.0, 2.0], [3.0, 1.0]]
    """
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    vectors *= np.where(peaks < 0, -1, 1).astype(vectors.dtype)
    return vectors
