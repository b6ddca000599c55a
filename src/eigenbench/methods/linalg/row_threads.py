"""Shares of the rows in threads of our own, in place of threads inside BLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from sklearn import get_config, set_config
from threadpoolctl import ThreadpoolController


@dataclass(frozen=True)
class RowThreads:
    """Threads that each work on a share of the rows.

    Attributes
    ----------
    n_threads : int
        How many there are.
    map : callable
        ``map(function, *iterables)`` calls the function in the threads and yields the results in order.
    """

    n_threads: int
    map: Callable[..., Iterable[Any]]

    def shares(self, rows: np.ndarray, smallest: int) -> list[np.ndarray]:
        """Cut rows into a share for each thread, or fewer of ``smallest`` rows; no rows have no share."""
        if not len(rows):
            return []
        return np.array_split(rows, max(1, min(self.n_threads, len(rows) // smallest)))


@contextmanager
def row_threads() -> Iterator[RowThreads]:
    """Use as many threads as BLAS may have, and let BLAS have one in each of them.

    Elementwise work, for which numpy has one thread, is then shared as matrix products are, and products
    with few columns, which wait for memory, are not slowed by threads of BLAS that wait for work.
    """
    blas = _blas()
    n_threads = max((library["num_threads"] for library in blas.info()), default=1)
    if n_threads == 1:
        yield RowThreads(1, map)
        return
    same_settings = partial(set_config, **get_config())
    with blas.limit(limits=1), ThreadPoolExecutor(n_threads, initializer=same_settings) as pool:
        yield RowThreads(n_threads, pool.map)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")
