"""Distance of the inner products of random features from the exact polynomial kernel on the sphere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Sizes, Trial, at_sizes, by_size


class KernelErrorSettings(ProtocolSettings):
    """The kernel ``(1 - |x - y|² / a²)^degree``, the sizes D, how many rows make pairs, draws of a map."""

    headline: ClassVar[str] = "expected_kernel_mse_at_4096"

    degree: float = Field(ge=1)
    a: float = Field(default=4.0, ge=2)
    sizes: Sizes = (512, 1024, 2048, 4096, 8192, 16384)
    rows: int = Field(default=1000, ge=2)
    draws: int = Field(default=1, ge=1)

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: features of the largest size."""
        return self.draws * self.rows * (max(self.sizes) + features)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and effective ranks at every size, and of the exact rank."""
        stems = ("kernel_mse", "kernel_relative_error", "effective_rank", "expected_kernel_mse")
        sized = at_sizes(stems, self.sizes)
        return (*sized, "exact_effective_rank")


def measure(trial: Trial) -> Outcome:
    """Compare the features' inner products with the kernel on all pairs of a training and a test row.

    For each size D: ``kernel_mse_at_D``, the mean squared error over the pairs, of one draw of the map;
    ``expected_kernel_mse_at_D``, its expectation over draws: exact for maps with ``product_moments``, else
    the mean over the draws of the settings; ``kernel_relative_error_at_D``, the root of the expectation over
    that of the mean squared kernel; and ``effective_rank_at_D`` of the features of the training rows, beside
    ``exact_effective_rank``. The expectation and the rank are also curves over D.
    """
    settings: KernelErrorSettings = trial.settings
    dataset = trial.data()
    generator = np.random.default_rng([trial.seed, 0x6B65])
    X = _unit_rows(dataset.X_train, settings.rows, generator)
    Y = _unit_rows(dataset.X_test, settings.rows, generator)
    exact = _kernel(X, Y, settings)
    power = float(np.mean(exact**2))
    exact_rank = effective_rank(_kernel(X, X, settings))
    measured: dict[int, dict[str, float]] = {}
    fit_seconds = predict_seconds = 0.0
    for size in settings.sizes:
        started = time.perf_counter()
        features = trial.build(n_components=size).fit(X)
        fitted = time.perf_counter()
        left, right = features.transform(X), features.transform(Y)
        predict_seconds += time.perf_counter() - fitted
        fit_seconds += fitted - started
        mse = float(np.mean((left @ right.T - exact) ** 2))
        expected = _exact_expectation(features, X, Y, exact)
        if expected is None:
            expected = float(np.mean([mse, *_further_draws(trial, size, X, Y, exact)]))
        measured[size] = {
            "kernel_mse": mse,
            "expected_kernel_mse": expected,
            "kernel_relative_error": (expected / power) ** 0.5,
            "effective_rank": effective_rank(left @ left.T),
        }
    metrics, curves = by_size(measured, "features")
    shown = {
        "kernel_mse_by_features": curves["expected_kernel_mse_by_features"],
        "effective_rank_by_features": curves["effective_rank_by_features"],
    }
    return Outcome(
        {"exact_effective_rank": exact_rank, **metrics},
        shown,
        fit_seconds=fit_seconds,
        predict_seconds=predict_seconds,
    )


def _exact_expectation(features: Any, X: Any, Y: Any, exact: NDArray[np.float64]) -> float | None:
    """Return the expectation of the mean squared error over draws, where the map's moments are known."""
    moments = getattr(features[-1], "product_moments", None)
    if moments is None or len(features) > 1:
        return None
    mean, variance = moments(X, Y)
    return float(np.mean((mean - exact) ** 2 + variance))


def _further_draws(trial: Trial, size: int, X: Any, Y: Any, exact: NDArray[np.float64]) -> Iterator[float]:
    """Yield the mean squared error of each draw after the first; all maps draw with the same seeds."""
    for draw in range(1, trial.settings.draws):
        seed = int(np.random.default_rng([trial.seed, draw]).integers(2**31))
        features = trial.build(n_components=size, random_state=seed).fit(X)
        yield float(np.mean((features.transform(X) @ features.transform(Y).T - exact) ** 2))


def effective_rank(gram: NDArray[Any]) -> float:
    """Return the exponential of the entropy of a Gram matrix's normalised spectrum (Roy & Vetterli 2007).

    1 for rows that all point the same way, n for n orthogonal rows of one length.
    """
    from scipy.linalg import eigvalsh

    spectrum = np.clip(eigvalsh(gram.astype(np.float64), overwrite_a=True), 0.0, None)
    shares = spectrum[spectrum > 0] / spectrum.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def _unit_rows(X: Any, n_rows: int, generator: np.random.Generator) -> Any:
    from sklearn.preprocessing import normalize

    chosen = np.sort(generator.permutation(X.shape[0])[:n_rows])
    return normalize(X[chosen])


def _kernel(X: Any, Y: Any, settings: KernelErrorSettings) -> NDArray[np.float64]:
    cosines = X.astype(np.float64) @ Y.astype(np.float64).T
    cosines = np.asarray(cosines.todense()) if hasattr(cosines, "todense") else cosines
    return np.maximum(0.0, 1.0 - (2.0 - 2.0 * cosines) / settings.a**2) ** settings.degree
