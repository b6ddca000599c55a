"""Class moments and what is made of them with many classes: rates, time and memory.

    python benchmarks/many_classes.py rate [--rows 100000] [--features 1000]
    python benchmarks/many_classes.py methods [--classes 10000] [--features 1000] [--rows-per-class 100]

``rate``: n·d² operations a second at several numbers of classes with rows in any order, each beside
that at the first in the same run, by processor time with one thread and into memory that is there already;
numbers of classes whose second moments take more than 8 GB are left out. ``methods``: every method on more
classes than memory holds the second moments of, in a process of its own, with its time and largest memory;
rows lie in a memory-mapped file. Both on random numbers. 10,000 classes of 1,000 features, 100 rows each, are
for a machine with 5 GB free: the file takes 4 of them.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from eigenbench import GEM, SIR, ClassMoments, FisherLDA, NeighborhoodGEM, PerClassPCA
from eigenbench.methods.moments import streamed_moments

METHODS = {
    "LDA": FisherLDA(n_components=100, gamma=1e-3),
    "SIR": SIR(n_components=100, gamma=1e-3),
    "per-class PCA": PerClassPCA(n_components=1),
    "GEM": GEM(),
    "NeighborhoodGEM": NeighborhoodGEM(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=["rate", "methods"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--classes", type=int, nargs="+", help="default: 10 100 1000 10000, or 10000")
    parser.add_argument("--held", type=float, default=streamed_moments.HELD_MEGABYTES, help="MB held")
    parser.add_argument("--rows-per-class", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    if options.part == "rate":
        rates(options.rows, options.features, options.classes or [10, 100, 1000, 10_000], options.repeats)
        return
    [n_classes] = options.classes or [10_000]
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), n_classes, options.rows_per_class, options.features)
        print(f"{n_classes} classes x {options.features} features, {options.rows_per_class} rows each")
        for name in options.methods:
            alone = multiprocessing.get_context("spawn").Process(
                target=fit, args=(folder, name, options.held)
            )
            alone.start()
            alone.join()


def rates(n: int, d: int, numbers: list[int], repeats: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    reference = None
    for n_classes in numbers:
        if n_classes * 4 * d * (d + 1) > 8e9:
            break
        y = rng.integers(0, n_classes, n)
        moments = ClassMoments().update(X[:n_classes], np.arange(n_classes))
        seconds = []
        for _ in range(repeats):
            start = time.process_time()
            total(moments.update(X, y))
            seconds.append(time.process_time() - start)
        rate = n * d * d / min(seconds) / 1e9
        reference = reference or rate
        share = rate / reference
        print(f"{n_classes:>6} classes: {rate:6.1f}e9 operations/s, {share:.2f} of the first", flush=True)


def total(moments: ClassMoments) -> float:
    return float(moments.counts.sum())


def write_rows(folder: Path, n_classes: int, per_class: int, d: int) -> None:
    """Write rows of many classes in any order, block by block."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    centres = rng.normal(size=(n_classes, d)).astype(np.float32)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (len(y), d))
    for start in range(0, len(y), 10_000):
        here = slice(start, start + 10_000)
        X[here] = 0.3 * centres[y[here]] + rng.standard_normal((len(y[here]), d), dtype=np.float32)
    X.flush()
    np.save(folder / "y.npy", y)


def fit(folder: str, name: str, megabytes: float) -> None:
    streamed_moments.HELD_MEGABYTES = megabytes
    X, y = (np.load(Path(folder) / f"{part}.npy", mmap_mode="r") for part in ("X", "y"))
    start = time.perf_counter()
    METHODS[name].fit(X, np.asarray(y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name:<16} {time.perf_counter() - start:8.1f} s, peak {peak:.2f} GB with the pages of the file",
        flush=True,
    )


if __name__ == "__main__":
    main()
