"""Speed of the numerical core beside the fastest thing that could do the same work.

Each line times both sides in this process, in turn, and prints their ratio; only ratios are comparable
between machines. Set OPENBLAS_NUM_THREADS to the number of cores that are free.
"""

import argparse
import time
import warnings

import numpy as np
from scipy import linalg
from scipy.linalg import blas
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from eigenbench import ClassMoments, SecondOrderLogistic
from eigenbench.methods.classifiers.least_squares_rounds import project_rows_to_simplex
from eigenbench.methods.linalg.eigenproblems import DENSE_LIMIT, SharedDenominator
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import FeatureBlocks


def seconds(work, repeats=3):
    """Return the shortest time of a few calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def report(name, mine, reference_name, reference):
    print(
        f"{name:<46}{mine:9.3f} s   {reference_name:<34}{reference:9.3f} s   ratio {mine / reference:6.2f}",
        flush=True,
    )


def bare_syrk(X, rows=4096):
    """Time of the products alone, accumulated in float32 over row blocks of the whole."""
    gram = np.zeros((X.shape[1], X.shape[1]), dtype=X.dtype, order="F")

    def work():
        for start in range(0, len(X), rows):
            blas.ssyrk(1.0, X[start : start + rows].T, beta=1.0, c=gram, overwrite_c=True, lower=1)

    return seconds(work)


def bench_moments(rng, n, d, n_classes=10):
    X, y = rng.random((n, d), dtype=np.float32), rng.integers(n_classes, size=n)
    report(
        f"ClassMoments {n:,} x {d:,}", seconds(lambda: ClassMoments().update(X, y)), "bare syrk", bare_syrk(X)
    )


def bench_gram(rng, n, n_features):
    F = rng.random((n, n_features), dtype=np.float32)

    def work():
        system = RidgeSystem(n_features, F.dtype)
        for _, block in FeatureBlocks(F, None):
            system.add(block)

    report(f"Gram matrix {n:,} x {n_features:,}", seconds(work), "bare syrk", bare_syrk(F))


def bench_eigenvectors(rng, d, top=20):
    """One pair with the denominator already factored, against LAPACK's driver for the pencil."""
    A, B = (
        X.T @ X / len(X) for X in (rng.standard_normal((2 * d, d)) * np.logspace(0, -2, d) for _ in range(2))
    )
    B += 0.05 * np.trace(B) / d * np.eye(d)
    shared = SharedDenominator(B.copy())
    mine = seconds(lambda: shared.top(A, top), 2)
    theirs = seconds(lambda: linalg.eigh(A, B, subset_by_index=(d - top, d - 1)), 2 if d < DENSE_LIMIT else 1)
    report(f"top {top} generalized eigenvectors, d={d:,}", mine, "scipy.linalg.eigh", theirs)


def bench_logistic(rng, n, n_features, n_classes=10, C=1.0):
    """Time to within 1e-3 nats of the best objective, each at the smallest iteration limit that works."""
    scales = np.logspace(0, -2, n_features)
    X = rng.standard_normal((n, n_features)) * scales
    logits = X @ (rng.standard_normal((n_features, n_classes)) / scales[:, None]) / np.sqrt(n_features) * 3
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)

    def objective(model):
        scores = X @ model.coef_.T + model.intercept_
        return -log_softmax(scores, axis=1)[np.arange(n), y].mean() + (model.coef_**2).sum() / (2 * C * n)

    def time_to(make, limits, target):
        for limit in limits:
            start = time.perf_counter()
            model = make(limit).fit(X, y)
            elapsed = time.perf_counter() - start
            if objective(model) <= target:
                return elapsed
        return np.nan

    def mine(limit):
        return SecondOrderLogistic(C=C, early_stopping=False, max_iter=limit, tol=0)

    def theirs(solver):
        return lambda limit: LogisticRegression(C=C, solver=solver, max_iter=limit, tol=1e-12)

    target = objective(mine(300).fit(X, y)) + 1e-3
    limits = [10, 20, 40, 80, 160, 320, 640]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = time_to(mine, limits, target)
        for solver, steps in (("lbfgs", limits), ("newton-cholesky", [2, 4, 8, 16])):
            name = f"SecondOrderLogistic {n:,} x {n_features}"
            report(name, ours, f"LogisticRegression {solver}", time_to(theirs(solver), steps, target))


def bench_simplex(rng, n, n_classes):
    scores = rng.standard_normal((n, n_classes))
    mine = seconds(lambda: project_rows_to_simplex(scores.copy()))
    report(
        f"simplex projection {n:,} x {n_classes}",
        mine,
        "sorting the rows alone",
        seconds(lambda: np.sort(scores)),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiplies every number of rows (default 1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the data (default 0)")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    def rows(n):
        return max(100, int(options.scale * n))

    bench_moments(rng, rows(30_000), 784)
    bench_moments(rng, rows(20_000), 2000)
    bench_gram(rng, rows(20_000), 4000)
    bench_eigenvectors(rng, 784)
    bench_eigenvectors(rng, 2000)
    bench_logistic(rng, rows(20_000), 100)
    bench_simplex(rng, rows(60_000), 10)
    bench_simplex(rng, rows(2_000), 1000)


if __name__ == "__main__":
    main()
