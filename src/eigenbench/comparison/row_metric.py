"""A metric of one run as a function of means over test rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

#: Takes means over rows, shape (..., q), and returns the metric, shape (...).
Combine = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Entries of one block of means without a row: 16 MB.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class RowMetric:
    """Contributions of one run's test rows to a metric.

    ``values`` (n, q), dense or sparse, are numbers of each row, such as its true positives; booleans for
    whether it is wrong. ``combine`` makes the metric of their means over rows; by default it is the mean of
    the only column. ``scale`` is a factor of the metric: n where it is a count of rows.

    Examples
    --------
    >>> f1 = RowMetric(np.array([[1.0, 3.0], [2.0, 4.0]]), lambda means: 2 * means[..., 0] / means[..., 1])
    >>> round(f1.value, 3)
    0.857
    """

    values: Any
    combine: Combine | None = None
    scale: float = 1.0

    @property
    def n_rows(self) -> int:
        """Number of test rows n."""
        return int(self.values.shape[0])

    @cached_property
    def value(self) -> float:
        """The metric on the rows as they are."""
        means = np.asarray(self.values.mean(axis=0), dtype=np.float64)
        return float(self.scale * (means[0] if self.combine is None else self.combine(means)))

    @property
    def is_share(self) -> bool:
        """True if the metric is the share of wrong rows, or their number."""
        return self.values.dtype == bool and self.combine is None

    @cached_property
    def influence(self) -> NDArray[np.float64]:
        """Contribution of each row to the metric, shape (n,), which sum to zero for a mean over rows.

        The metric moves by this much, to first order, when a row counts once more: by the jackknife, which
        computes it again without each row (B. Efron, "The jackknife, the bootstrap and other resampling
        plans", SIAM 1982, chapter 3).
        """
        n = self.n_rows
        if self.combine is None:
            return (self.values[:, 0] * self.scale - self.value) / n
        sums = np.asarray(self.values.sum(axis=0), dtype=np.float64)
        step = max(1, _BLOCK // len(sums))
        blocks = (self.values[start : start + step] for start in range(0, n, step))
        without = [
            self.combine((sums - (block.toarray() if issparse(block) else block)) / max(1, n - 1))
            for block in blocks
        ]
        return (self.value - self.scale * np.concatenate(without)) * (n - 1) / n
