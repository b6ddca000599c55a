"""Rows sorted by class, and rows that wait until there are enough of their class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

#: Rows of a class that are enough for one product: adding it to the sum then costs little beside it.
ENOUGH_ROWS = 256

#: Bytes of rows that wait for others of their class, unless a share of what they are added to is more.
WAITING_BYTES = 512 * 2**20
WAITING_SHARE = 0.25


def class_runs(codes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield every class that occurs, ascending, and the positions of its rows in order.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench.methods.linalg.rows_by_class import class_runs
    >>> [(code, rows.tolist()) for code, rows in class_runs(np.array([7, 2, 7]))]
    [(2, [1]), (7, [0, 2])]
    """
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    yield from zip(present.tolist(), np.split(order, starts)[1:], strict=True)


class WaitingRows:
    """Rows of classes that had few in their block, until they are taken class by class.

    There is room for as many as are enough for every class, within ``WAITING_BYTES`` or ``WAITING_SHARE``.

    Parameters
    ----------
    like : ndarray or sparse matrix of shape (n, d)
        A block with the type and the width of the rows.
    weighted : bool
        Whether rows come with weights.
    n_classes : int
        Number of classes so far.
    sum_bytes : int
        Size of the sums of these classes, to which the rows will be added.
    """

    def __init__(self, like: Any, *, weighted: bool, n_classes: int, sum_bytes: int) -> None:
        room = max(WAITING_BYTES, int(WAITING_SHARE * sum_bytes))
        fitting = room // max(1, like.shape[1] * like.dtype.itemsize)
        capacity = max(1, min(fitting, ENOUGH_ROWS * n_classes))
        self._rows = np.empty((capacity, like.shape[1]), dtype=like.dtype)
        self._codes = np.empty(capacity, dtype=np.int64)
        self._weights = np.empty(capacity) if weighted else None
        self._n_classes = n_classes
        self._count = 0

    @property
    def room(self) -> int:
        """Number of rows that can be added."""
        return len(self._codes) - self._count

    def takes(self, block: Any, *, weighted: bool, n_classes: int) -> bool:
        """Return whether rows of a block can wait among these, and there is no reason for more room."""
        same_kind = block.dtype == self._rows.dtype and weighted == (self._weights is not None)
        return same_kind and n_classes <= 2 * self._n_classes

    def put(self, block: Any, members: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows of a block, no more than there is room for, with their classes and weights."""
        here = slice(self._count, self._count + len(members))
        if sparse.issparse(block):
            self._rows[here] = block[members].toarray()
        else:
            np.take(block, members, axis=0, out=self._rows[here], mode="clip")
        self._codes[here] = codes[members]
        if self._weights is not None and weights is not None:
            self._weights[here] = weights[members]
        self._count += len(members)

    def rename(self, new_codes: np.ndarray) -> None:
        """Give class i the number ``new_codes[i]``."""
        self._codes[: self._count] = new_codes[self._codes[: self._count]]

    def take(self) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
        """Yield the number of a class, its rows and their weights; then none wait any more."""
        count, self._count = self._count, 0
        for code, members in class_runs(self._codes[:count]):
            yield code, self._rows[members], None if self._weights is None else self._weights[members]
