"""What each method does, in one small picture: what it makes of four kinds of digits, or of a plane."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_diabetes, load_digits, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import eigenbench
from eigenbench.bench.registry import COMPONENTS

SIZE = (4.2, 2.6)
#: Features of an approximated kernel, few and many.
WIDTHS = (64, 1024)
#: What the picture of an embedding needs beside the defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "FisherLDA": {"gamma": 0.1},
    "LinearDiscriminantAnalysis": {"solver": "eigen", "shrinkage": 0.1},
    "SIR": {"gamma": 0.1},
    "OrientedPCA": {"noise_label": 1},
    "HyperbolicPCA": {"n_components": 2},
    **{name: {"n_components": 2} for name in ("Rembrandt", "PLST", "CompressedSensing")},
}


def draw(name: str, path: Path) -> None:
    """Draw the picture of a component as SVG, unless there is nothing to show."""
    kind = COMPONENTS[name].kind if name in COMPONENTS else "classifier"
    if name in WITHOUT:
        return
    panel = SPECIAL.get(name) or BY_KIND[str(kind)]
    with plt.rc_context({"svg.hashsalt": name, "font.size": 8}):
        figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
        panel(name, axes)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _embedded(name: str, axes: Axes) -> None:
    """Draw held-out digits of four kinds by the first two numbers that an embedding gives them."""
    X, y = load_digits(n_class=4, return_X_y=True)
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 1])
    model = _made(name, SETTINGS.get(name, {})).fit(X[::2], y[::2])
    _scatter(axes, model.transform(X[1::2]), y[1::2], "first number", "second number")


def _contracted(name: str, axes: Axes) -> None:
    """Colour patients by the number that is to be predicted."""
    X, y = load_diabetes(return_X_y=True)
    Z = _made(name, {"top": 2}).fit(X[::2], y[::2]).transform(X[1::2])
    _scatter(axes, Z, y[1::2], "first detector", "second detector")


def _in_time(name: str, axes: Axes) -> None:
    """Give the embedding no classes but an order: each kind of digit comes as a block of time."""
    X, y = load_digits(n_class=4, return_X_y=True)
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 1])
    order = np.argsort(y[::2], kind="stable")
    model = _made(name, {"n_components": 2, "random_state": 0}).fit(X[::2][order])
    _scatter(axes, model.transform(X[1::2]), y[1::2], "first number", "second number")


def _scatter(axes: Axes, Z: Any, y: Any, *labels: str) -> None:
    Z = np.column_stack([Z, np.zeros((len(Z), 1))])[:, :2]
    points = axes.scatter(Z[:, 0], Z[:, 1], c=y, cmap="viridis", s=6)
    axes.set(xlabel=labels[0], ylabel=labels[1], xticks=[], yticks=[])
    axes.legend(
        *points.legend_elements(num=None if len(np.unique(y)) < 10 else 4),
        loc="center left",
        bbox_to_anchor=(1, 0.5),
        frameon=False,
    )


def _kernel(name: str, axes: Axes) -> None:
    """Draw inner products of features over the kernel that they stand for."""
    X = load_digits().data[::12]
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    pairs = np.triu_indices(len(X), 1)
    exact = KERNELS.get(name, _polynomial)(X)[pairs]
    chosen = np.argsort(exact)[:: len(exact) // 150]
    for width, marker in zip(WIDTHS, "x.", strict=True):
        width = min(width, len(X)) if name == "Nystroem" else width
        settings = {"n_components": width, "random_state": 0} | KERNEL_SETTINGS.get(name, {})
        F = _made(name, settings).fit_transform(X)
        axes.plot(exact[chosen], (F @ F.T)[pairs][chosen], marker, ms=3, label=f"{F.shape[1]:,} features")
    axes.axline((exact.mean(), exact.mean()), slope=1, color="grey", lw=0.8)
    axes.set(xlabel="kernel of two digits", ylabel="inner product of features")
    axes.legend(frameon=False)


def _polynomial(X: Any) -> Any:
    return (1 - (2 - 2 * X @ X.T) / 4.0**2) ** 7


def _gaussian(X: Any) -> Any:
    return np.exp(-(2 - 2 * X @ X.T))


def _powers(name: str, axes: Axes) -> None:
    """Draw the features of one projection."""
    z = np.linspace(-2, 2, 201)
    model = _made(name, {})
    for curve, power in zip(model.fit_transform(z[:, None]).T[:3], model.powers, strict=True):
        axes.plot(z, curve, label=f"max(0, z)^{power:g}")
    axes.set(xlabel="projection z", ylabel="feature")
    axes.legend(frameon=False)


def _regions(name: str, axes: Axes) -> None:
    """Shade the plane by the class that is predicted, as sure as it is."""
    X, y = make_moons(240, noise=0.25, random_state=0)
    model = _made(name, CLASSIFIERS.get(name, dict)()).fit(X, y)
    sides = [np.linspace(low - 0.4, high + 0.4, 90) for low, high in zip(X.min(0), X.max(0), strict=True)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    sure = model.predict_proba(grid)[:, 1] if hasattr(model, "predict_proba") else model.predict(grid)
    axes.contourf(*sides, sure.reshape(90, 90), levels=9, cmap="coolwarm", alpha=0.6)
    axes.scatter(X[:, 0], X[:, 1], c=y, cmap="coolwarm", s=6)
    axes.set(xticks=[], yticks=[])


def _made(name: str, settings: dict[str, Any]) -> Any:
    estimator = COMPONENTS[name].load() if name in COMPONENTS else getattr(eigenbench, name)
    return estimator(**settings)


def _fourier() -> Any:
    return eigenbench.RandomFourierFeatures(n_components=200, length_factor=0.5, random_state=0)


def _with_features() -> dict[str, Any]:
    return {"feature_map": _fourier()}


#: What a classifier needs to bend its boundary, or to be made at all.
CLASSIFIERS: dict[str, Callable[[], dict[str, Any]]] = {
    "CalibratedLeastSquares": lambda: _with_features() | {"ridge": 0.1},
    "SecondOrderLogistic": _with_features,
    "StochasticLogistic": _with_features,
    "LabelEmbeddingClassifier": lambda: _with_features() | {"random_state": 0},
    "DoublyStochasticLogistic": lambda: {"n_components": 256, "random_state": 0},
    "GeometricMeanEnsemble": lambda: {
        "estimator": make_pipeline(_fourier(), eigenbench.CalibratedLeastSquares(0.1)),
        "random_state": 0,
    },
}
KERNELS: dict[str, Callable[[Any], Any]] = {
    "RandomFourierFeatures": _gaussian,
    "RBFSampler": _gaussian,
    "Nystroem": _gaussian,
    "PolynomialCountSketch": lambda X: (X @ X.T + 1) ** 2,
}
KERNEL_SETTINGS: dict[str, dict[str, Any]] = {
    "RandomFourierFeatures": {"length_scale": 2**-0.5},
    "RBFSampler": {"gamma": 1.0},
    "Nystroem": {"gamma": 1.0},
    "PolynomialCountSketch": {"gamma": 1.0, "coef0": 1.0},
}
BY_KIND = {"embedding": _embedded, "expansion": _kernel, "classifier": _regions}
#: Other estimators side by side, and the leaves of trees.
WITHOUT = ("FeatureUnion", "RandomTreesEmbedding")
SPECIAL: dict[str, Callable[[str, Axes], None]] = {
    "ContractedGEM": _contracted,
    "TemporalHyperbolicPCA": _in_time,
    "SignedPowers": _powers,
}
