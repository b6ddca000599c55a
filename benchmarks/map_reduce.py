"""Moments and streamed logistic regression over 1, 2 and 4 workers: time, speed-up and bytes moved.

    python benchmarks/map_reduce.py [--rows 200000] [--features 784] [--backend loky|dask]

Rows lie in a memory-mapped file, as prepared datasets do, so that workers open them instead of being sent
them. Every worker has one BLAS thread. Bytes are those of the pickled tasks and of the sums sent back.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from joblib import parallel_config
from sklearn.frozen import FrozenEstimator

from eigenbench import ClassMoments, RandomDirections, SecondOrderLogistic
from eigenbench.methods.linalg import map_reduce

WORKERS = (1, 2, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=784)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--backend", choices=["loky", "dask"], default="loky")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        X, y = write_rows(Path(folder), options.rows, options.features, options.classes)
        feature_map = FrozenEstimator(RandomDirections(2 * options.features, random_state=0).fit(X[:2]))
        logistic = SecondOrderLogistic(
            feature_map=feature_map, max_iter=5, early_stopping=False, cache_size=8000
        )
        tasks = {"moments": lambda: ClassMoments.of(X, y), "logistic, 5 steps": lambda: logistic.fit(X, y)}
        print(f"{options.rows} rows x {options.features}, {options.classes} classes, {options.backend}")
        print(f"{'task':<20}{'workers':>8}{'seconds':>10}{'rows/s':>12}{'speed-up':>10}{'MB moved':>10}")
        for name, task in tasks.items():
            measure(name, task, options.backend, options.rows)


def write_rows(folder: Path, n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Write a Gaussian mixture to a file, block by block, and open it."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, c, n)
    centres = rng.normal(size=(c, d)).astype(np.float32)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, d))
    for start in range(0, n, 10_000):
        rows = slice(start, min(start + 10_000, n))
        X[rows] = 0.1 * centres[y[rows]] + rng.standard_normal((rows.stop - start, d), dtype=np.float32)
    X.flush()
    return np.load(folder / "X.npy", mmap_mode="r"), y


def measure(name: str, task: Callable[[], object], backend: str, rows: int) -> None:
    alone = None
    for workers in WORKERS:
        with workers_of(backend, workers) as moved:
            ClassMoments.of(np.eye(8), np.arange(8) % 2)
            moved.clear()
            started = time.perf_counter()
            task()
            seconds = time.perf_counter() - started
        alone = alone or seconds
        print(
            f"{name:<20}{workers:>8}{seconds:>10.2f}{rows / seconds:>12.0f}{alone / seconds:>10.2f}"
            f"{sum(moved) / 1e6:>10.2f}"
        )


@contextmanager
def workers_of(backend: str, workers: int) -> Iterator[list[int]]:
    """Configure joblib and count the bytes of tasks and sums."""
    moved: list[int] = []
    original = map_reduce.Parallel

    class Counting(original):  # type: ignore[misc, valid-type]
        def __call__(self, jobs):
            jobs = list(jobs)
            moved.extend(len(pickle.dumps(arguments)) for _, arguments, _ in jobs)
            for part in super().__call__(jobs):
                moved.append(len(pickle.dumps(part)))
                yield part

    map_reduce.Parallel = Counting
    try:
        if backend == "loky":
            with parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
                yield moved
        else:
            from distributed import Client, LocalCluster

            with (
                LocalCluster(
                    n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
                ) as cluster,
                Client(cluster),
                parallel_config("dask"),
            ):
                yield moved
    finally:
        map_reduce.Parallel = original


if __name__ == "__main__":
    main()
