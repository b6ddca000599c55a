"""A model of what passes over 10⁹ rows of 1,000 columns cost, fitted on three sizes and checked on a fourth.

    python benchmarks/cost_model.py [--rows-per-file 5000] [--repeats 3]

Passes over .npy files of float32 rows of ten classes, in this process, with one thread. Processor time, user
and system, is a constant and a rate per file, by least squares on 1, 2 and 4 files; 8 files are the check,
with which nothing is fitted. Sizes are measured in turn, and the least of the repeats counts. The time of a
merge of two sums is measured by itself. Prints all that, and what it says of 10⁹ rows.
"""

from __future__ import annotations

import argparse
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from eigenbench import CalibratedLeastSquares, ClassMoments
from eigenbench.methods.linalg.partition_files import ArrayFile, file_readers
from eigenbench.methods.linalg.partitions import Partitions

FEATURES, CLASSES, ROUNDS = 1000, 10, 1
FITTED, CHECKED = (1, 2, 4), 8
ALL_ROWS, CORES = 10**9, 3200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows-per-file", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options.rows_per_file)
        readers = file_readers(folder, None)
        print(f"{options.rows_per_file} rows a file, {FEATURES} columns, {CLASSES} classes")
        for name, work in PASSES.items():
            report(name, measured(work, readers, options.repeats), options.rows_per_file)
        first, second = (ClassMoments.of_partitions(Partitions([reader])) for reader in readers[:2])
        seconds = min(processor_seconds(lambda: first.merge(second)) for _ in range(options.repeats))
        print(f"a merge of two moments of {CLASSES} classes: {seconds:.3f} s")


PASSES: dict[str, Callable[[Partitions], object]] = {
    "class moments": ClassMoments.of_partitions,
    "least squares": lambda parts: CalibratedLeastSquares(n_rounds=ROUNDS).fit_partitions(parts),
}


def write(folder: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(CHECKED):
        rows = rng.standard_normal((n_rows, FEATURES + 1), dtype=np.float32)
        rows[:, -1] = rng.integers(0, CLASSES, n_rows)
        rows[:, 0] += rows[:, -1]
        np.save(folder / f"part-{number}.npy", rows)


def measured(
    work: Callable[[Partitions], object], readers: list[ArrayFile], repeats: int
) -> dict[int, float]:
    """Return the processor time by number of files."""
    work(Partitions(readers[:1]))
    found: dict[int, list[float]] = {n: [] for n in (*FITTED, CHECKED)}
    for _ in range(repeats):
        for n, seconds in found.items():
            parts = Partitions(readers[:n])
            seconds.append(processor_seconds(lambda parts=parts: work(parts)))
    return {n: min(seconds) for n, seconds in found.items()}


def processor_seconds(work: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(name: str, seconds: dict[int, float], rows_per_file: int) -> None:
    rate, constant = np.polyfit(FITTED, [seconds[n] for n in FITTED], 1)
    foretold = constant + rate * CHECKED
    total = rate * ALL_ROWS / rows_per_file
    print(f"{name}: " + ", ".join(f"{n} files {taken:.2f} s" for n, taken in seconds.items()))
    print(
        f"  {constant:.2f} s and {rate:.3f} s a file; {CHECKED} files: {foretold:.2f} s foretold, measured"
        f" {seconds[CHECKED] / foretold - 1:+.0%} of that; {ALL_ROWS:.0e} rows: {total / 3600:.1f} h of"
        f" processor time, {total / CORES / 60:.1f} min on {CORES} cores",
        flush=True,
    )


if __name__ == "__main__":
    main()
