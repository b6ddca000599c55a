"""What follows from the count, the sum and the second moment of a class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np


class SecondMoments:
    """Base of what knows the second moment of every class at hand by its position among ``classes``."""

    classes: np.ndarray

    @property
    @abstractmethod
    def counts(self) -> np.ndarray:
        """Rows of each class, or the sum of their weights, (c,)."""

    @property
    @abstractmethod
    def sums(self) -> np.ndarray:
        """Sum of the rows of each class, (c, d)."""

    @abstractmethod
    def second_moment(self, i: int) -> np.ndarray:
        """Return Σ x xᵀ over the rows of the i-th class, (d, d)."""

    def conditional(self, i: int) -> np.ndarray:
        """Return C_i = E[x xᵀ | class i], the uncentred second moment of the i-th class, (d, d)."""
        return self.second_moment(i) / self.counts[i]

    def covariance(self, i: int) -> np.ndarray:
        """Return Cov[x | class i] with divisor n_i, (d, d); zero for a class of one row."""
        mean = self.sums[i] / self.counts[i]
        return self.conditional(i) - np.outer(mean, mean)

    def parts(self, needs: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield which problems can be solved, and moments that hold their classes: here all at once.

        Parameters
        ----------
        needs : ndarray of shape (p, r)
            Positions of the classes whose second moments each problem needs.

        Yields
        ------
        problems : ndarray
            Rows of ``needs``; every one comes once.
        moments : SecondMoments
            Classes have the positions that they have here.
        """
        yield np.arange(len(needs)), self
