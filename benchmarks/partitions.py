"""Moments and a classifier over a folder of Parquet files on two Dask workers, one of which is killed.

    python benchmarks/partitions.py [--rows 20000000] [--features 50] [--files 200] [--folder DIR]

Writes random rows of ten classes (once, if the folder is given), then prints the time of class moments and of
a least-squares classifier in this process and on the cluster, the time with one worker killed in the middle,
and how much the results differ. 20 million rows of 50 columns take 4 GB on disk.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster
from joblib import parallel_config

from eigenbench import CalibratedLeastSquares, ClassMoments

N_CLASSES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        write(folder, options.rows, options.features, options.files)
        print(f"{options.rows} rows x {options.features} in {options.files} files")
        moments, alone = clock(lambda: ClassMoments.of_partitions(folder, target="y"))
        print(f"moments, this process: {alone:.1f} s", flush=True)
        model, seconds = clock(lambda: CalibratedLeastSquares(n_rounds=2).fit_partitions(folder, target="y"))
        print(f"least squares, this process: {seconds:.1f} s", flush=True)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
            parallel_config("dask"),
        ):
            on_cluster(client, folder, moments, model)


def on_cluster(client: Client, folder: Path, moments: ClassMoments, model: CalibratedLeastSquares) -> None:
    found, seconds = clock(lambda: ClassMoments.of_partitions(folder, target="y"))
    print(f"moments, two workers: {seconds:.1f} s, {difference(found, moments):.1e} relative", flush=True)
    other, taken = clock(lambda: CalibratedLeastSquares(n_rounds=2).fit_partitions(folder, target="y"))
    apart = np.abs(other.coef_ - model.coef_).max() / np.abs(model.coef_).max()
    print(f"least squares, two workers: {taken:.1f} s, coefficients {apart:.1e} relative", flush=True)
    _, warm = clock(lambda: ClassMoments.of_partitions(folder, target="y"))
    victim = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(warm / 2, os.kill, (victim, signal.SIGKILL))
    killer.start()
    found, seconds = clock(lambda: ClassMoments.of_partitions(folder, target="y"))
    if not killer.finished.is_set():
        killer.cancel()
        raise SystemExit("the sum ended before the worker was killed: take more rows.")
    print(f"moments, one worker killed: {seconds:.1f} s, {difference(found, moments):.1e} relative")


def write(folder: Path, n: int, d: int, n_files: int) -> None:
    if any(folder.glob("*.parquet")):
        return
    for number, rows in enumerate(np.array_split(np.arange(n), n_files)):
        rng = np.random.default_rng(number)
        y = rng.integers(0, N_CLASSES, len(rows))
        X = rng.standard_normal((len(rows), d), dtype=np.float32) + y[:, None] / 10
        columns = {f"x{place}": X[:, place] for place in range(d)}
        pq.write_table(
            pa.table({**columns, "y": y}), folder / f"part-{number:04d}.parquet", compression="none"
        )


def clock(work: Callable[[], object]) -> tuple:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def difference(found: ClassMoments, expected: ClassMoments) -> float:
    exact = expected.second_moments
    return float(np.abs(found.second_moments - exact).max() / np.abs(exact).max())


if __name__ == "__main__":
    main()
