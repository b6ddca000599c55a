"""Simulation study of `compare_methods`: separations of equal methods, and differences of two points found.

Each repetition draws data, trains real learners that are equally good, and notes whether any of them is not
tied with the best. Then one of them is made two points worse, by mistakes at random rows, and the line notes
whether it is found. Beside both stands the plain paired t-test against the best.

    python benchmarks/separation.py run large_pool 100 --first 0 --out DIR
    python benchmarks/separation.py table --out DIR > benchmarks/separation.csv
"""

import argparse
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from eigenbench.comparison.differences import compare_methods
from eigenbench.comparison.row_metric import RowMetric

POINTS = 0.02


def ridge_errors(train, y_train, test, y_test, penalty):
    """Errors (methods, rows) of least squares on the features (methods, rows, features) of each method."""
    classes, codes = np.unique(y_train, return_inverse=True)
    mean, targets = train.mean(axis=1, keepdims=True), np.eye(len(classes), dtype=np.float32)[codes]
    centred = train - mean
    gram = centred.transpose(0, 2, 1) @ centred + penalty * np.eye(train.shape[2], dtype=np.float32)
    weights = np.linalg.solve(gram, centred.transpose(0, 2, 1) @ (targets - targets.mean(axis=0)))
    scores = (test - mean) @ weights + targets.mean(axis=0)
    return classes[scores.argmax(axis=2)] != y_test


def random_features(rng, rows, n_methods, n_features):
    """Rectified random projections (methods, rows, features), drawn for each method."""
    directions = rng.standard_normal((n_methods, rows.shape[-1], n_features), dtype=np.float32)
    thresholds = rng.standard_normal((n_methods, 1, n_features), dtype=np.float32)
    features = rows @ directions
    features -= thresholds
    return np.maximum(features, 0, out=features)


@cache
def covertype():
    """Standardised rows of Covertype, and their classes."""
    from eigenbench.datasets import load

    data = load("covtype")
    X, y = np.asarray(data.X_train, dtype=np.float32), np.asarray(data.y_train)
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6), y


def random_learners(rng, X, y, n_methods, train, test):
    """Errors of learners on random features of their own: variance of their own, alike on any rows."""
    features = random_features(rng, np.concatenate([X[train], X[test]]), n_methods, 60)
    n = len(train)
    return ridge_errors(features[:, :n], y[train], features[:, n:], y[test], 2)


def symmetric_rows(rng, n_rows, n_methods, n_groups=0, own=8, gap=0.35):
    """Features (methods, rows, 8) of two classes: alike in the population, but not in these rows.

    Each group shifts all features of its rows.
    """
    y = rng.integers(0, 2, n_rows)
    X = rng.standard_normal((n_methods, n_rows, own), dtype=np.float32)
    X += (gap * (2 * y - 1)[:, None]).astype(np.float32)
    groups = rng.integers(0, n_groups, n_rows) if n_groups else np.arange(n_rows)
    if n_groups:
        X += 0.7 * rng.standard_normal((n_methods, n_groups, own), dtype=np.float32)[:, groups]
    return X, y, groups


def own_learners(X, y, train, test):
    """Errors of methods that each see their own features, without randomness."""
    return ridge_errors(X[:, train], y[train], X[:, test], y[test], 1)


def large_pool(rng):
    X, y = covertype()
    rows = [rng.integers(0, len(y), 7000) for _ in range(10)]
    wrong = [random_learners(rng, X, y, 8, drawn[:2000], drawn[2000:]) for drawn in rows]
    return wrong, {"test_rows": [drawn[2000:] for drawn in rows]}


def resplits(rng):
    X, y, _ = symmetric_rows(rng, 1500, 8)
    rows = [rng.permutation(1500) for _ in range(10)]
    wrong = [own_learners(X, y, order[:1050], order[1050:]) for order in rows]
    return wrong, {"test_rows": [order[1050:] for order in rows]}


def randomised_resplits(rng):
    X, y, _ = symmetric_rows(rng, 1500, 8)
    rows = [rng.permutation(1500) for _ in range(10)]
    features = [random_features(rng, X, 8, 30) for _ in rows]
    wrong = [own_learners(f, y, order[:1050], order[1050:]) for f, order in zip(features, rows, strict=True)]
    return wrong, {"test_rows": [order[1050:] for order in rows]}


def unequal_variances(rng):
    """Every second method takes one of two learners for a whole split, the others for each row."""
    X, y, _ = symmetric_rows(rng, 1500, 8)
    wrong, rows = [], []
    for _ in range(10):
        order = rng.permutation(1500)
        train, test = order[:1050], order[1050:]
        strong, weak = own_learners(X, y, train, test), own_learners(X[..., :6], y, train, test)
        by_row, by_split = rng.random((4, len(test))) < 0.5, rng.random((4, 1)) < 0.5
        first = np.concatenate([by_row, np.broadcast_to(by_split, by_row.shape)])
        wrong.append(np.where(first, strong, weak))
        rows.append(test)
    return wrong, {"test_rows": rows}


def ten_folds(rng):
    X, y, _ = symmetric_rows(rng, 1000, 8)
    rows = np.array_split(rng.permutation(1000), 10)
    wrong = [own_learners(X, y, np.setdiff1d(np.arange(1000), test), test) for test in rows]
    return wrong, {"test_rows": rows}


def grouped_splits(rng):
    X, y, groups = symmetric_rows(rng, 1500, 8, n_groups=100)
    held_out = [np.isin(groups, rng.permutation(100)[:30]) for _ in range(10)]
    rows = [np.flatnonzero(one) for one in held_out]
    wrong = [own_learners(X, y, np.flatnonzero(~one), test) for one, test in zip(held_out, rows, strict=True)]
    return wrong, {"test_rows": rows, "groups": [groups[test] for test in rows]}


def one_test_set(rng):
    X, y = covertype()
    drawn = rng.integers(0, len(y), 12_000)
    return [random_learners(rng, X, y, 8, drawn[:2000], drawn[2000:]) for _ in range(5)], {}


def one_run(rng):
    """Fixed models that are equally good in the population, tested once on 10,000 rows."""
    X, y, _ = symmetric_rows(rng, 10_000, 8)
    return [(X.sum(axis=2) > 0) != y], {}


def grouped_test_set(rng):
    X, y, groups = symmetric_rows(rng, 2000, 1, n_groups=80)
    test = groups < 40
    train, test = np.flatnonzero(~test), np.flatnonzero(test)
    wrong = [own_learners(random_features(rng, X[0], 8, 30), y, train, test) for _ in range(5)]
    return wrong, {"groups": [groups[test]] * 5}


def grouped_run(rng):
    """Fixed models that are equally good in the population, tested once on 40 groups."""
    X, y, groups = symmetric_rows(rng, 1000, 8, n_groups=40)
    return [(X.sum(axis=2) > 0) != y], {"groups": [groups]}


#: Each design with the numbers of splits or seeds that are compared, first ones of the most.
DESIGNS = {
    large_pool: (5, 10),
    resplits: (5, 10),
    one_test_set: (5,),
    grouped_splits: (10,),
    one_run: (1,),
    grouped_test_set: (5,),
    grouped_run: (1,),
    ten_folds: (10,),
    randomised_resplits: (10,),
    unequal_variances: (10,),
}
BY_NAME = {design.__name__: design for design in DESIGNS}


def compared(wrong, sampling):
    """Compare methods from errors (methods, rows) of each split."""
    runs = {
        str(j): {split: RowMetric(found[j][:, None]) for split, found in enumerate(wrong)}
        for j in range(len(wrong[0]))
    }
    return compare_methods(runs, **{name: dict(enumerate(found)) for name, found in sampling.items()}).table


def worse(rng, errors):
    """Add mistakes at random right rows, so that the error rises by two points in expectation."""
    return errors | (rng.random(len(errors)) < POINTS / (1 - errors.mean()))


def plain_t(values):
    """Say whether the paired t-test separates any method from the best, by values (splits, methods)."""
    if len(values) < 2:
        return np.nan
    best = values.mean(axis=0).argmin()
    return bool((stats.ttest_rel(np.delete(values, best, axis=1), values[:, [best]]).pvalue < 0.05).any())


def means(wrong):
    return np.array([[one.mean() for one in split] for split in wrong])


def repetition(design, seed):
    """Lines of one repetition, for two and for eight methods and each number of splits."""
    rng = np.random.default_rng([seed, list(DESIGNS).index(design)])
    every, sampling = design(rng)
    first_worse = [worse(rng, split[0]) for split in every]
    for n_splits in DESIGNS[design]:
        sampled = {name: found[:n_splits] for name, found in sampling.items()}
        for n_methods in (2, 8):
            equal = [split[:n_methods] for split in every[:n_splits]]
            unequal = [[first_worse[k], *split[1:]] for k, split in enumerate(equal)]
            table = compared(unequal, sampled)
            yield {
                "design": design.__name__,
                "methods": n_methods,
                "splits": n_splits,
                "seed": seed,
                "false": not compared(equal, sampled)["tied"].all(),
                "false_t": plain_t(means(equal)),
                "found": not table["tied"].iloc[0],
                "found_t": plain_t(means([split[:2] for split in unequal])),
                "resolution": table["detectable"].median(),
            }


def run(name, n, first, out):
    """Append the lines of each repetition to a file; repetitions that it holds are not made again."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.csv"
    done = set(pd.read_csv(path)["seed"]) if path.is_file() else set()
    for seed in sorted(set(range(first, first + n)) - done):
        lines = pd.DataFrame(repetition(BY_NAME[name], seed))
        lines.to_csv(path, mode="a", header=not path.is_file(), index=False)


def table(out):
    """Shares over repetitions, a line for each design, number of methods and of splits."""
    lines = pd.concat([pd.read_csv(path) for path in sorted(out.glob("*.csv"))])
    lines["design"] = pd.Categorical(lines["design"], list(BY_NAME))
    groups = lines.groupby(["design", "methods", "splits"], observed=True)
    shares = groups[["false", "false_t", "found", "found_t", "resolution"]].mean().round(4)
    shares.insert(0, "repetitions", groups.size())
    return shares.reset_index()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Separations of equal methods, by simulation.")
    parser.add_argument("part", choices=["run", "table"])
    parser.add_argument("design", nargs="?", choices=list(BY_NAME))
    parser.add_argument("n", nargs="?", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.part == "run":
        run(given.design, given.n, given.first, given.out)
    else:
        table(given.out).to_csv(sys.stdout, index=False)
