"""The map-reduce of all sums over rows: blocks or partitions, the workers of a joblib backend, a merge."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from eigenbench.methods.linalg.row_blocks import FeatureBlocks

logger = logging.getLogger(__name__)

#: Least time between progress lines.
SECONDS_BETWEEN_REPORTS = 5.0

#: MB of features that a loky worker keeps at most: it is replaced when it has grown by 300 MB.
_LOKY_CACHE = 200.0


class Accumulator(Protocol):
    """A sum over rows: ``add`` takes a block, ``merge`` the sum over the rows that follow."""

    def add(self, *args: Any, **kwargs: Any) -> Any:
        """Add a feature block and, for its rows, parts of other arrays."""

    def merge(self, other: Any) -> Any:
        """Add what another accumulator has summed."""


Sum = TypeVar("Sum", bound=Accumulator)


def accumulate(blocks: FeatureBlocks, start: Callable[[], Sum], *rows: Any, label: str = "") -> Sum:
    """Return ``start()`` after it has been given every block once, with its parts of ``rows``.

    Inside ``joblib.parallel_config(...)`` with more than one worker (loky, threads, or a Dask cluster with
    ``backend="dask"``) the rows are cut into one shard for each worker, which makes features and sends back
    its sum alone. Shards are merged in the order of their rows, so that equal numbers of workers give equal
    results. Rows of a memory-mapped file travel as their place in it, except to Dask. A worker keeps features
    for later sums over the same ``blocks``, within their cache budget. Sums without a ``label`` log nothing.
    """
    workers = min(effective_n_jobs(None), blocks.n_rows)
    if workers == 1:
        return _sum_over(blocks, start(), rows, label)
    shards = np.array_split(np.arange(blocks.n_rows), workers)
    cache_size = blocks.cache_size / workers
    if type(get_active_backend()[0]).__name__ == "LokyBackend":
        cache_size = min(cache_size, _LOKY_CACHE)
    jobs = (
        delayed(_sum_over_shard)(
            (blocks.token, first),
            (blocks.X[first:stop], blocks.feature_map, cache_size),
            start,
            [array[first:stop] for array in rows],
        )
        for first, stop in ((int(shard[0]), int(shard[-1]) + 1) for shard in shards)
    )
    return merged(jobs, label, [f"row {shard[-1] + 1}/{blocks.n_rows}" for shard in shards])


def merged(jobs: Iterable[Any], label: str, names: Sequence[str]) -> Any:
    """Run jobs of ``joblib.delayed`` on joblib's workers and merge their sums in the order of the jobs."""
    total: Any = None
    sums = Parallel(return_as="generator", batch_size=1, pre_dispatch="n_jobs")(jobs)
    for name, part in zip(names, sums, strict=True):
        if total is None:
            total = part
        else:
            total.merge(part)
        if label:
            logger.info("%s: %s", label, name)
    return total


def _sum_over(blocks: FeatureBlocks, total: Sum, rows: Any, label: str) -> Sum:
    reported = time.monotonic()
    for here, block in blocks:
        total.add(block, *(array[here] for array in rows))
        if label and (time.monotonic() - reported > SECONDS_BETWEEN_REPORTS or here.stop == blocks.n_rows):
            reported = time.monotonic()
            logger.info("%s: row %d/%d", label, here.stop, blocks.n_rows)
    return total


#: The features of the latest ``FeatureBlocks`` that this process, as a worker, has had a shard of.
_KEPT: dict[tuple[str, int], FeatureBlocks] = {}


def _sum_over_shard(
    key: tuple[str, int], shard: tuple[Any, Any, float], start: Callable[[], Sum], rows: list[np.ndarray]
) -> Sum:
    """Sum over rows, by their features that this process kept from an earlier sum if there are any."""
    for other in [other for other in _KEPT if other[0] != key[0]]:
        del _KEPT[other]
    if key not in _KEPT:
        X, feature_map, cache_size = shard
        _KEPT[key] = FeatureBlocks(X, feature_map, cache_size=cache_size)
    return _sum_over(_KEPT[key], start(), [np.array(array) for array in rows], "")
