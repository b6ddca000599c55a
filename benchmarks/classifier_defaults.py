"""Classifiers with their defaults beside scikit-learn's: error, log loss, seconds, size of the model.

``classes``: Gaussian classes of 50 features, 6,000 rows, and how the time grows with their number. ``aloi``:
300 and all 1,000 classes of ALOI. ``usps``: 1,620 features of GEM. ``small``: twelve small tables,
means over splits of 60 % for training. ``loss``: seconds of StochasticLogistic to 1.01 times lbfgs's log
loss on a held-out third of the training rows of seven data. ``ridge``: its default and a ridge of 0.001 on
held-out training rows, for pixels, columns and features. Processor times are also multiples of a
reference's in this process. Set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import pickle
import time
import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenbench import (
    GEM,
    CalibratedLeastSquares,
    LabelEmbeddingClassifier,
    RandomFourierFeatures,
    SecondOrderLogistic,
    SignedPowers,
    StochasticLogistic,
)
from eigenbench.datasets import load

PARTS = ("classes", "aloi", "usps", "small", "loss", "ridge")


def measured(model, X, y, V, v):
    """Return seconds of the fit, the error, the log loss, NaN without one, and bytes of the model."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - start
    loss = np.nan
    if hasattr(model, "predict_proba"):
        own = model.predict_proba(V)[np.arange(len(v)), np.searchsorted(model.classes_, v)]
        loss = -np.log(np.maximum(own, 2.0**-52)).mean()
    return seconds, 1 - model.score(V, v), loss, len(pickle.dumps(model))


def report(name, reference, models, data):
    """Print a line for the reference and for each model."""
    base = measured(reference, *data)
    d, c = data[0].shape[1], len(np.unique(data[1]))
    for model, found in [(reference, base), *((model, measured(model, *data)) for model in models)]:
        print(
            f"{name:<14}{type(model).__name__:<26}{found[0]:8.2f} s {found[0] / base[0]:8.1f} times"
            f"   error {found[1]:.4f}   log loss {found[2]:.3f}   {found[3] / (8 * d * c):6.2f} x 8Dc bytes",
            flush=True,
        )


def bench_classes(sizes=(50, 100, 200, 400), n=6000, d=50):
    for c in sizes:
        rng = np.random.RandomState(0)
        y = np.arange(2 * n) % c
        X = (rng.randn(c, d)[y] + 1.5 * rng.randn(2 * n, d)).astype(np.float32)
        data = X[:n], y[:n], X[n:], y[n:]
        report(f"{c} classes", RidgeClassifier(), [CalibratedLeastSquares()], data)


def bench_aloi(sizes=(300, 1000)):
    data = load("aloi")
    for c in sizes:
        few = np.unique(data.y_train)[:c]
        rows, test = np.isin(data.y_train, few), np.isin(data.y_test, few)
        parts = data.X_train[rows], data.y_train[rows], data.X_test[test], data.y_test[test]
        report(f"ALOI {c}", RidgeClassifier(), [CalibratedLeastSquares()], [np.asarray(a) for a in parts])


def gem_features(X, y, *others, top=3):
    model = make_pipeline(GEM(top=top), SignedPowers()).fit(X, y)
    return [model.transform(rows) for rows in (X, *others)]


def bench_usps():
    data = load("usps")
    X, y, V, v = (np.asarray(a) for a in (data.X_train, data.y_train, data.X_test, data.y_test))
    F, W = gem_features(X, y, V)
    models = StochasticLogistic(random_state=0), SecondOrderLogistic(random_state=0), CalibratedLeastSquares()
    report("USPS GEM", LogisticRegression(max_iter=300), models, (F, y, W, v))


def tables(n_rows=1500):
    """Yield names and rows of twelve tables: scikit-learn's own, and samples of the catalogue's."""
    for read in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield read.__name__[5:], *read(return_X_y=True)
    for name in ("vowel", "letter", "phoneme", "usps", "a9a", "covtype", "mnist", "coil20"):
        data = load(name)
        rows = np.sort(np.random.RandomState(0).permutation(data.X_train.shape[0])[:n_rows])
        X, y = data.X_train[rows], np.asarray(data.y_train)[rows]
        yield name, X.toarray() if issparse(X) else np.asarray(X, dtype=np.float64), y


def bench_small(n_splits=4):
    ratios = {}
    for name, X, y in tables():
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        models = (
            LogisticRegression(max_iter=1000),
            CalibratedClassifierCV(RidgeClassifier()),
            CalibratedLeastSquares(),
            SecondOrderLogistic(random_state=0),
            StochasticLogistic(random_state=0),
            LabelEmbeddingClassifier(random_state=0),
        )
        splits = [
            train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y) for seed in range(n_splits)
        ]
        losses = []
        for model in models:
            found = np.mean([measured(model, X, y, V, v) for X, V, y, v in splits], axis=0)
            losses.append(found[2])
            ratios.setdefault(type(model).__name__, []).append(found[2] / min(losses[:2]))
            print(
                f"{name:<14}{type(model).__name__:<26}{found[0]:8.3f} s"
                f"   error {found[1]:.4f}   log loss {found[2]:.3f}",
                flush=True,
            )
    for name, found in ratios.items():
        mean = np.exp(np.log(found).mean())
        print(f"log loss over the better of the first two: {name:<26} {mean:.2f}, worst {max(found):.2f}")


def seven_data(n_rows=30_000):
    """Yield names and training rows: three as they are, two as features of GEM, two of planted structure."""
    for name in ("letter", "phoneme", "covtype"):
        data = load(name)
        rows = np.random.RandomState(0).permutation(data.X_train.shape[0])[:n_rows]
        yield name, np.asarray(data.X_train[rows], dtype=float), np.asarray(data.y_train)[rows]
    X, y = load_digits(return_X_y=True)
    yield "digits, GEM", *gem_features(X / 16, y), y
    X, y = (np.asarray(part) for part in (load("usps").X_train, load("usps").y_train))
    yield "usps, GEM", *gem_features(X, y), y
    rng = np.random.RandomState(0)
    for c, d in ((10, 300), (40, 100)):
        y = np.arange(12_000) % c
        yield f"{c} Gaussians", rng.randn(c, d)[y] + 4 * rng.randn(12_000, d), y


def bench_loss(passes=(1, 2, 4, 8, 16, 32)):
    for name, X, y in seven_data():
        X = StandardScaler().fit_transform(X)
        X, V, y, v = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
        theirs = measured(LogisticRegression(max_iter=1000), X, y, V, v)
        default = measured(StochasticLogistic(random_state=0), X, y, V, v)
        reached = np.nan
        for count in passes:
            ours = measured(StochasticLogistic(count, early_stopping=False, random_state=0), X, y, V, v)
            if ours[2] <= 1.01 * theirs[2]:
                reached = ours[0]
                break
        print(
            f"{name:<14}{X.shape[0]:>7,} x {X.shape[1]:<6,}lbfgs {theirs[0]:6.2f} s, loss {theirs[2]:.3f};"
            f" defaults {default[0]:6.2f} s, loss {default[2]:.3f}; to lbfgs's loss {reached:6.2f} s,"
            f" {theirs[0] / reached:.1f} times as fast",
            flush=True,
        )


def ridge_data(most=30_000):
    """Yield names and training rows: as they are, scaled, and as features; MNIST at two sizes."""
    for name, n in (("mnist", most), ("mnist", 60_000), ("a9a", most), ("letter", most), ("covtype", most)):
        data = load(name)
        rows = np.random.RandomState(0).permutation(data.X_train.shape[0])[:n]
        X, y = data.X_train[rows], np.asarray(data.y_train)[rows]
        X = StandardScaler().fit_transform(np.asarray(X.toarray() if issparse(X) else X, dtype=np.float32))
        yield name, X, y
        if n == most:
            map_ = RandomFourierFeatures(n_components=500, random_state=0).fit(X)
            yield f"{name}, Fourier", map_.transform(X), y
            (F,) = gem_features(X, y, top=1)
            yield f"{name}, GEM", F, y


def bench_ridge():
    for name, X, y in ridge_data():
        X, V, y, v = train_test_split(X, y, test_size=1 / 4, random_state=0, stratify=y)
        print(f"{name:<16}{X.shape[0]:>7,} x {X.shape[1]:<6,}", end="")
        for ridge in (1e-3, "auto"):
            model = StochasticLogistic(few_rows=0, ridge=ridge, random_state=0)
            seconds, error, loss, _ = measured(model, X, y, V, v)
            print(
                f" ridge {model.ridge_:<6g} {seconds:5.1f} s  error {error:.4f}  log loss {loss:.3f}", end=""
            )
        print(flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=PARTS, default=PARTS, help="default: all")
    for part in parser.parse_args().parts:
        globals()[f"bench_{part}"]()


if __name__ == "__main__":
    main()
