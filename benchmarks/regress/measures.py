"""Measurements of a checkout: small benchmarks, each with its work and the quality of its result.

    python benchmarks/regress/measures.py SEED [NAME ...]

prints the quantities of one round as JSON, of the eigenbench that PYTHONPATH names, with one thread if
OPENBLAS_NUM_THREADS says so. Work is processor time in products: the seconds of a fit times the rate at which
this process multiplies float32 matrices just before and after it, in 10⁹ operations, so that another machine,
or one with other work on it, gives about the same number. A round's seed draws its data, which are random
numbers or halves of scikit-learn's digits.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

_SIZE = 768
_PRODUCTS = 5

#: Fits of a round; the fastest counts. Draws of a random map, whose squared errors are averaged.
_FITS, _DRAWS = 2, 4


@dataclass(frozen=True)
class Kind:
    """Direction in which a quantity is better, and the smallest relative change that is reported."""

    unit: str
    margin: float
    higher_is_better: bool = False


#: Kinds of quantities by the last word of their names. The margins of time are wide because other programs
#: on the machine slow memory and products unevenly; qualities of one seed repeat to rounding.
KINDS = {
    "work": Kind("10⁹ operations", 0.15),
    "error": Kind("share of rows", 0.02),
    "loss": Kind("nats a row", 0.01),
    "angle": Kind("radians", 0.02),
    "kernel_error": Kind("relative", 0.02),
    "precision": Kind("share of rows", 0.02, higher_is_better=True),
}

#: What a benchmark gives: the work, and how its result is judged.
Prepared = tuple[Callable[[], Any], Callable[[Any], dict[str, float]]]


def kind_of(quantity: str) -> Kind:
    return KINDS[quantity.rpartition(".")[2]]


def gem(seed: int) -> Prepared:
    from eigenbench import GEM

    rows, new, y, truth = _digits(seed)
    return (
        lambda: GEM(top=5).fit(np.tile(rows, (10, 4)), np.tile(y, 10)),
        lambda _: {"error": _error_behind(GEM(top=3).fit(rows, y), rows, y, new, truth)},
    )


def class_moments(seed: int) -> Prepared:
    from eigenbench import ClassMoments, FisherLDA

    X, y, planted = _planted_means(seed, n=20_000, d=400, c=30)
    return (
        lambda: ClassMoments().update(X, y),
        lambda moments: {"angle": _angle(FisherLDA().fit_moments(moments).components_, planted)},
    )


def sliced_regression(seed: int) -> Prepared:
    from eigenbench import SIR

    X, y, planted = _planted_means(seed, n=20_000, d=400, c=100)
    model = SIR(n_components=planted.shape[1])
    return (lambda: clone(model).fit(X, y), lambda fitted: {"angle": _angle(fitted.components_, planted)})


def rembrandt(seed: int) -> Prepared:
    from eigenbench import LabelEmbeddingClassifier, Rembrandt

    rng = np.random.default_rng(seed)
    topics, words = 20, rng.gamma(0.05, size=(20, 1000))
    topic = rng.integers(0, topics, 4000)
    X = rng.poisson(30 * words[topic] / words.sum(axis=1)[topic, None]).astype(np.float32)
    y = 10 * topic + rng.integers(0, 10, len(topic)) // 8
    model = LabelEmbeddingClassifier(
        Rembrandt(n_components=20, ridge=1.0, random_state=seed), random_state=seed
    )

    def precision(fitted: Any) -> dict[str, float]:
        return {"precision": float(np.mean(fitted.predict(X[3000:]) == y[3000:]))}

    return lambda: clone(model).fit(X[:3000], y[:3000]), precision


def tensor_sketch(seed: int) -> Prepared:
    from eigenbench import TensorSketch

    return _kernel_map(seed, TensorSketch(n_components=2048, degree=7, a=4.0))


def spherical_features(seed: int) -> Prepared:
    from eigenbench import SphericalRandomFeatures

    return _kernel_map(seed, SphericalRandomFeatures(n_components=2048, degree=7, a=4.0))


def second_order_logistic(seed: int) -> Prepared:
    from eigenbench import SecondOrderLogistic

    return _logistic(seed, SecondOrderLogistic(max_iter=10, random_state=seed))


def stochastic_logistic(seed: int) -> Prepared:
    from eigenbench import StochasticLogistic

    return _logistic(seed, StochasticLogistic(max_iter=5, random_state=seed))


def calibrated_least_squares(seed: int) -> Prepared:
    from eigenbench import CalibratedLeastSquares

    return _logistic(seed, CalibratedLeastSquares())


def hyperbolic_pca(seed: int) -> Prepared:
    from eigenbench import HyperbolicPCA

    rows, new, y, truth = _digits(seed)
    model = HyperbolicPCA(10, kernel="half_rbf", gamma=16)
    return (
        lambda: clone(model).fit(rows[:700], y[:700]),
        lambda fitted: {"error": _error_behind(fitted, rows, y, new, truth)},
    )


BENCHMARKS: dict[str, Callable[[int], Prepared]] = {
    function.__name__: function
    for function in (
        gem,
        class_moments,
        sliced_regression,
        rembrandt,
        tensor_sketch,
        spherical_features,
        second_order_logistic,
        stochastic_logistic,
        calibrated_least_squares,
        hyperbolic_pca,
    )
}


def _digits(seed: int) -> tuple[np.ndarray, ...]:
    digits = load_digits()
    X = (digits.data / 16).astype(np.float32)
    return tuple(train_test_split(X, digits.target, test_size=0.5, random_state=seed, stratify=digits.target))


def _planted_means(seed: int, n: int, d: int, c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows whose classes differ in nine directions, and these directions (d, 9) after whitening."""
    rng = np.random.default_rng(seed)
    planted = qr(rng.standard_normal((d, 9)), mode="economic")[0]
    y = rng.integers(0, c, n)
    scale = np.linspace(0.5, 2.0, d)
    means = 2 * rng.standard_normal((c, 9)) @ planted.T
    X = ((rng.standard_normal((n, d)) + means[y]) * scale).astype(np.float32)
    return X, y, planted / scale[:, None]


def _angle(components: np.ndarray, planted: np.ndarray) -> float:
    return float(subspace_angles(np.asarray(components, dtype=np.float64).T, planted).max())


def _error_behind(features: Any, rows: Any, y: Any, new: Any, truth: Any) -> float:
    """Return the error on new rows of the nearest of the rows behind an embedding."""
    from sklearn.neighbors import KNeighborsClassifier

    nearest = KNeighborsClassifier(1).fit(features.transform(rows), y)
    return float(np.mean(nearest.predict(features.transform(new)) != truth))


def _kernel_map(seed: int, features: Any) -> Prepared:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 100)) + 1
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    kernel = (1 - (2 - 2 * X[:500].astype(float) @ X[500:1000].T) / 16) ** 7

    def squared_error(draw: int) -> float:
        made = clone(features).set_params(random_state=_DRAWS * seed + draw).fit_transform(X[:1000])
        return float(np.mean((made[:500] @ made[500:].T - kernel) ** 2) / np.mean(kernel**2))

    def judge(_: np.ndarray) -> dict[str, float]:
        return {"kernel_error": float(np.mean([squared_error(draw) for draw in range(_DRAWS)]) ** 0.5)}

    return lambda: clone(features).set_params(random_state=seed).fit_transform(X), judge


def _logistic(seed: int, classifier: Any) -> Prepared:
    X, y, _ = _planted_means(seed, n=10_000, d=300, c=10)
    X = 0.3 * X

    def judge(fitted: Any) -> dict[str, float]:
        return {"loss": float(log_loss(y[8000:], fitted.predict_proba(X[8000:]), labels=np.arange(10)))}

    return lambda: clone(classifier).fit(X[:8000], y[:8000]), judge


def product_seconds() -> float:
    """Return the processor time of one product of square float32 matrices, the least of some."""
    first, second = np.random.default_rng(0).standard_normal((2, _SIZE, _SIZE), dtype=np.float32)
    product = first @ second
    seconds = []
    for _ in range(_PRODUCTS):
        started = time.process_time()
        np.matmul(first, second, out=product)
        seconds.append(time.process_time() - started)
    return min(seconds)


def measure(name: str, seed: int) -> dict[str, float]:
    """Return the work of a benchmark and the qualities of its result, by the names of the quantities."""
    work, judge = BENCHMARKS[name](seed)
    spent = []
    for _ in range(_FITS):
        before = product_seconds()
        started = time.process_time()
        result = work()
        seconds = time.process_time() - started
        spent.append(seconds * 2 * _SIZE**3 / 1e9 / np.mean([before, product_seconds()]))
    found = {"work": float(min(spent)), **judge(result)}
    return {f"{name}.{quantity}": value for quantity, value in found.items()}


def main() -> None:
    seed, *names = sys.argv[1:]
    found: dict[str, float] = {}
    for name in names or BENCHMARKS:
        try:
            found |= measure(name, int(seed))
        except (ImportError, AttributeError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
