"""Euclidean projection on the probability simplex."""

from __future__ import annotations

import numpy as np


def project_rows_to_simplex(scores: np.ndarray) -> np.ndarray:
    r"""Replace every row (n, c) by the nearest point of the probability simplex, in place, O(n c log c) time.

    The nearest point to s is :math:`\max(0, s - \tau)`, where τ makes the result sum to one. It is found
    exactly from the sorted row: τ is the largest of :math:`(\sum_{i \le k} s_{(i)} - 1) / k` over k (J.
    Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, "Efficient projections onto the l1-ball for learning
    in high dimensions", ICML 2008).

    Examples
    --------
    >>> import numpy as np
    >>> project_rows_to_simplex(np.array([[0.5, 0.5, -3.0], [2.0, 0.0, 0.0]]))
    array([[0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    sums = np.cumsum(np.sort(scores, axis=1)[:, ::-1], axis=1)
    sums -= 1
    sums /= np.arange(1, scores.shape[1] + 1, dtype=scores.dtype)
    scores -= sums.max(axis=1, keepdims=True)
    return np.maximum(scores, 0, out=scores)
