"""Cost of GEM on MNIST, from loaded arrays to test errors, beside the matrix work that it cannot do without.

Six parts. ``demo``: the features of the authors' public demo, about as many as its 13,285, against the
rank-k update of the Gram matrix, its Cholesky factor, the products of the rounds and the generalized
eigenproblems alone, on random numbers. ``suite``: the same for the settings of the suite gem_mnist, 8,100
features. ``fast``: the same classifier on fewer features, against ``demo``. ``subclass``: the detectors of
GEM and SubclassGEM in that suite, and the k-means of the latter alone.
``logistic``: the time until SecondOrderLogistic, StochasticLogistic and others reach one held-out loss on the
features of ``fast``, and on fewer of them as they are and standardised, which is what a user would give
lbfgs; snapml takes part where it is installed. ``wide``: the moments and the 90 pairs of 3,600
random features, by block Krylov iterations, against one dense pair ninety times. Only the ratios compare
between machines. Set OPENBLAS_NUM_THREADS to the number of cores that are free.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from scipy.linalg import blas, eigh, lapack
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from eigenbench import (
    GEM,
    CalibratedLeastSquares,
    RandomFourierFeatures,
    SecondOrderLogistic,
    SignedPowers,
    StochasticLogistic,
    SubclassGEM,
)
from eigenbench.datasets import load
from eigenbench.methods.moments import ClassMoments

PARTS = ("demo", "suite", "fast", "subclass", "logistic", "wide")
#: Rows of random numbers for products whose time is proportional to the rows.
SAMPLE_ROWS = 10_000
HELD_OUT_ROWS = 10_000
CACHE_MB = 4000


def clock(work):
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def powers_of_pixels(X):
    return np.hstack([X, X**2, X**3])


def demo_classifier():
    """Powers of the pixels and three powers of either sign of at most 30 detectors a pair; seven rounds."""
    detectors = make_pipeline(GEM(gamma=0.5, top=30, theta=2.5), SignedPowers(offset=1.0))
    features = make_union(FunctionTransformer(powers_of_pixels), detectors)
    return CalibratedLeastSquares(0.5, 7, feature_map=features, cache_size=CACHE_MB)


def suite_classifier():
    detectors = make_pipeline(GEM(gamma=0.5, top=15), SignedPowers(offset=1.0))
    return CalibratedLeastSquares(10.0, feature_map=detectors, cache_size=CACHE_MB)


def fast_features(powers=(0.5, 1.0)):
    return make_pipeline(GEM(gamma=0.5, top=15), SignedPowers(powers=powers, offset=1.0))


def fast_classifier():
    return CalibratedLeastSquares(10.0, 7, feature_map=fast_features(), cache_size=CACHE_MB)


def timed_errors(make, X, y, V, v):
    """Return seconds from arrays to test errors, the errors, and the number of features."""
    start = time.perf_counter()
    model = make().fit(X, y)
    wrong = int(np.sum(model.predict(V) != v))
    return time.perf_counter() - start, wrong, model.coef_.shape[-1]


def matrix_work(n_rows, n_test, n_features, n_filters, d, n_classes, n_rounds, top):
    """Return the seconds of each product and factorisation, on random numbers of the same shapes."""
    rng = np.random.default_rng(0)
    F = rng.random((SAMPLE_ROWS, n_features), dtype=np.float32)
    share = n_rows / SAMPLE_ROWS
    gram = np.zeros((n_features, n_features), dtype=np.float32, order="F")
    parts = {
        "rank-k update": share
        * clock(lambda: blas.ssyrk(1.0, F.T, beta=1.0, c=gram, overwrite_c=True, lower=1))
    }
    gram.flat[:: n_features + 1] += SAMPLE_ROWS
    parts["Cholesky"] = clock(lambda: lapack.spotrf(gram, lower=1, overwrite_a=True, clean=False))
    weights = rng.random((n_features, n_classes), dtype=np.float32)
    residual = rng.random((SAMPLE_ROWS, n_classes), dtype=np.float32)
    parts["solves"] = n_rounds * clock(lambda: lapack.spotrs(gram, weights, lower=1))
    forward, backward = clock(lambda: F @ weights), clock(lambda: F.T @ residual)
    parts["rounds"] = share * n_rounds * (forward + backward) + forward * n_rounds * n_test / SAMPLE_ROWS
    X = rng.random((SAMPLE_ROWS, d), dtype=np.float32)
    filters = rng.random((d, n_filters), dtype=np.float32)
    parts["filters"] = (n_rows + n_test) / SAMPLE_ROWS * clock(lambda: X @ filters)
    parts["moments"] = share * clock(lambda: blas.ssyrk(1.0, X.T, lower=1))
    moment = (X.T @ X).astype(np.float64) / SAMPLE_ROWS
    pair = clock(lambda: eigh(moment, moment + np.eye(d), subset_by_index=(d - top, d - 1)))
    parts["eigenproblems"] = n_classes * (n_classes - 1) * pair
    return parts


def bench_demo(X, y, V, v):
    return compare_with_products("demo", demo_classifier, X, y, V, v, plain=3 * X.shape[1], top=30)


def bench_suite(X, y, V, v):
    compare_with_products("suite", suite_classifier, X, y, V, v, plain=0, top=15)


def compare_with_products(name, make, X, y, V, v, plain, top):
    """Print and return the seconds of a model that has `plain` features and six of each detector."""
    mine, wrong, n_features = timed_errors(make, X, y, V, v)
    detectors, rounds = (n_features - plain) // 6, make().n_rounds
    parts = matrix_work(len(X), len(V), n_features, detectors, X.shape[1], 10, rounds, top)
    print(", ".join(f"{part} {value:.1f} s" for part, value in parts.items()))
    bare = sum(parts.values())
    print(
        f"{name}: {n_features:,} features, {wrong} errors, {mine:.1f} s; matrix work {bare:.1f} s;"
        f" ratio {mine / bare:.2f}",
        flush=True,
    )
    return mine


def bench_subclass(X, y):
    plain = clock(lambda: GEM(gamma=0.5, top=15).fit(X, y))
    parts = clock(lambda: SubclassGEM(gamma=0.5, top=4, n_subclasses=4, random_state=0).fit(X, y))
    clusters = sum(
        clock(lambda i=i: KMeans(4, n_init=1, random_state=0).fit(X[y == i])) for i in np.unique(y)
    )
    print(
        f"subclass: GEM {plain:.1f} s, SubclassGEM {parts:.1f} s, k-means alone {clusters:.1f} s", flush=True
    )


def bench_fast(X, y, V, v, demo_seconds):
    mine, wrong, n_features = timed_errors(fast_classifier, X, y, V, v)
    compared = f"; ratio to demo {mine / demo_seconds:.3f}" if demo_seconds else ""
    print(f"fast: {n_features:,} features, {wrong} errors, {mine:.1f} s{compared}", flush=True)


def logistic_peers(C):
    """Return for each solver a function of its largest number of iterations that makes a model.

    StochasticLogistic has no penalty, so that its passes are few: an eighth of the iterations of others.
    """
    peers = {
        "StochasticLogistic": lambda limit: StochasticLogistic(
            -(-limit // 8), early_stopping=False, batch_size=1024, preconditioner_rows=10_000, random_state=0
        ),
        "SecondOrderLogistic": lambda limit: SecondOrderLogistic(
            C, early_stopping=False, max_iter=limit, tol=0, cache_size=CACHE_MB
        ),
        "LogisticRegression lbfgs": lambda limit: LogisticRegression(C=C, max_iter=limit, tol=1e-12),
    }
    if find_spec("snapml"):
        from snapml import LogisticRegression as SnapLogistic

        peers["snapml"] = lambda limit: SnapLogistic(
            regularizer=1 / C, max_iter=limit, tol=1e-12, fit_intercept=True
        )
    return peers


def bench_logistic(X, y):
    """Compare on the features of ``fast``, and on 2,700 features of 40,000 rows in both forms."""
    compare_logistic(fast_features(), X, y)
    X, y = X[: HELD_OUT_ROWS + 40_000], y[: HELD_OUT_ROWS + 40_000]
    compare_logistic(fast_features((0.5,)), X, y)
    compare_logistic(make_pipeline(fast_features((0.5,)), StandardScaler()), X, y)


def compare_logistic(features, X, y, C=0.1, limits=(5, 10, 20, 40, 80, 160, 320)):
    """Print the time until the held-out loss is within 1 % of the smallest that lbfgs reaches.

    Of 0.001, 0.01, 0.1, 1 and 10, the C given is the one with which lbfgs has the smallest held-out loss on
    10,000 rows of the features of ``fast``.
    """
    F = features.fit(X[HELD_OUT_ROWS:], y[HELD_OUT_ROWS:]).transform(X)
    V, v, F, y = F[:HELD_OUT_ROWS], y[:HELD_OUT_ROWS], F[HELD_OUT_ROWS:], y[HELD_OUT_ROWS:]
    print(f"{len(F):,} rows, {F.shape[1]:,} features, {' and '.join(name for name, _ in features.steps)}")
    paths = {}
    for name, make in logistic_peers(C).items():
        paths[name] = []
        for limit in limits:
            model = make(limit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                spent = clock(lambda model=model: model.fit(F, y))
            paths[name].append((spent, log_loss(v, model.predict_proba(V))))
            print(
                f"{name}: {limit} iterations, {spent:.1f} s, held-out loss {paths[name][-1][1]:.4f}",
                flush=True,
            )
            if settled(paths[name]):
                break
    target = 1.01 * min(loss for _, loss in paths["LogisticRegression lbfgs"])
    reached = {
        name: min((spent for spent, loss in path if loss <= target), default=np.nan)
        for name, path in paths.items()
    }
    for name, spent in reached.items():
        ratio = reached["LogisticRegression lbfgs"] / spent
        print(
            f"to a held-out loss of {target:.4f}: {name} {spent:.1f} s, lbfgs {ratio:.1f} times", flush=True
        )


def bench_wide(X, y, n_features=3600, top=12, gamma=0.01):
    """Print the time of moments and pairs of wide features, and of one pair by a dense solver."""
    features = RandomFourierFeatures(length_factor=0.5, n_components=n_features, random_state=0)
    F = features.fit_transform(X.astype(np.float32) / 255)
    moments = []
    collected = clock(lambda: moments.append(ClassMoments.of(F, y)))
    detectors = GEM(gamma, top=top)
    solved = clock(lambda: detectors.fit_moments(moments[0]))
    numerator, denominator = moments[0].conditional(0), moments[0].conditional(1)
    denominator.flat[:: n_features + 1] += gamma * np.trace(denominator) / n_features
    last = (n_features - top, n_features - 1)
    values = []
    dense = clock(lambda: values.extend(eigh(numerator, denominator, subset_by_index=last)[0][::-1]))
    own = detectors.eigenvalues_[(detectors.pairs_ == [0, 1]).all(axis=1)]
    n_pairs = len(np.unique(detectors.pairs_, axis=0))
    print(
        f"wide: {n_features:,} features; moments {collected:.1f} s; {n_pairs} pairs {solved:.1f} s;"
        f" one dense pair {dense:.1f} s, all of them {n_pairs * dense / solved:.1f} times as long as ours;"
        f" eigenvalues of that pair differ by {np.abs(own / values - 1).max():.1e}",
        flush=True,
    )


def settled(path):
    """Return whether the last doubling of the iterations lowered the loss by less than a thousandth."""
    return any(later > 0.999 * earlier for (_, earlier), (_, later) in pairwise(path[-2:]))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=PARTS, default=PARTS, help="default: all")
    parts = parser.parse_args().parts
    data = load("mnist")
    X, V = (np.asarray(rows, dtype=np.float32) for rows in (data.X_train, data.X_test))
    y, v = data.y_train, data.y_test
    demo_seconds = bench_demo(X, y, V, v) if "demo" in parts else None
    if "suite" in parts:
        bench_suite(X, y, V, v)
    if "fast" in parts:
        bench_fast(X, y, V, v, demo_seconds)
    if "subclass" in parts:
        bench_subclass(X, y)
    if "logistic" in parts:
        bench_logistic(X, y)
    if "wide" in parts:
        bench_wide(X, y)


if __name__ == "__main__":
    main()
