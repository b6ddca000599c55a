"""Time and memory of random feature maps, beside the bare matrix product of the same shape."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Sizes, Trial, at_sizes, by_size


class MapSpeedSettings(ProtocolSettings):
    """The axis that varies, and the shape of the rest.

    ``vary`` names the axis that ``sizes`` lie on: the number of features D, or the number of inputs d, where
    columns are drawn with replacement from the dataset's and D is ``n_components``. ``rows`` are drawn with
    replacement from the training rows, made dense float32 and scaled to unit length.
    """

    headline: ClassVar[str] = "transform_seconds_at_4096"
    exclusive: ClassVar[bool] = True

    vary: Literal["n_components", "n_inputs"] = "n_components"
    sizes: Sizes = (512, 1024, 2048, 4096, 8192, 16384)
    n_components: int | None = Field(default=None, ge=1)
    rows: int = Field(default=2000, ge=1)
    repeats: int = Field(default=5, ge=1)
    threads: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_axis(self) -> MapSpeedSettings:
        if (self.vary == "n_inputs") != (self.n_components is not None):
            raise ValueError("n_components belongs to vary: n_inputs, and only there")
        return self

    def metrics(self) -> tuple[str, ...]:
        """Return the names of times, ratios and memory at every size."""
        names = ("transform_seconds", "fit_seconds", "gemm_ratio", "gemm_cosine_ratio", "transform_memory_mb")
        return at_sizes(names, self.sizes)


def measure(trial: Trial) -> Outcome:
    """Time ``transform`` of the method and the bare product with a d × D matrix, in turn, in one process.

    For each size S: ``transform_seconds_at_S``, the shortest of the repeats; ``fit_seconds_at_S``;
    ``gemm_ratio_at_S``, that time over the shortest of the bare product of rows and a random matrix of D
    columns; ``gemm_cosine_ratio_at_S``, over product and cosine; ``transform_memory_mb_at_S``, the most
    memory that ``transform`` held for arrays, its result included, in units of 2**20 bytes. All but the
    memory are also curves.
    """
    from threadpoolctl import threadpool_limits

    settings: MapSpeedSettings = trial.settings
    X_train = trial.data().X_train
    generator = np.random.default_rng([trial.seed, 0x5BEE])
    measured: dict[int, dict[str, float]] = {}
    with threadpool_limits(settings.threads):
        for size in settings.sizes:
            n_inputs = size if settings.vary == "n_inputs" else X_train.shape[1]
            X = _rows(X_train, settings.rows, n_inputs, generator)
            n_components = settings.n_components or size
            measured[size] = _time_map(trial.build, X, n_components, settings.repeats, generator)
    metrics, curves = by_size(measured, "features" if settings.vary == "n_components" else "inputs")
    return Outcome(
        metrics,
        {name: curve for name, curve in curves.items() if "memory" not in name},
        fit_seconds=sum(values["fit_seconds"] for values in measured.values()),
        predict_seconds=sum(values["transform_seconds"] for values in measured.values()),
    )


def _rows(X: Any, n_rows: int, n_inputs: int, generator: np.random.Generator) -> np.ndarray:
    from sklearn.preprocessing import normalize

    chosen = X[np.sort(generator.integers(X.shape[0], size=n_rows))]
    dense = chosen.toarray() if hasattr(chosen, "toarray") else chosen
    if n_inputs != dense.shape[1]:
        dense = dense[:, generator.integers(dense.shape[1], size=n_inputs)]
    return normalize(np.ascontiguousarray(dense, dtype=np.float32))


def _time_map(
    build: Callable[..., Any], X: np.ndarray, n_components: int, repeats: int, generator: np.random.Generator
) -> dict[str, float]:
    """Return the metrics of one shape; repeats of the map and of the bare product take turns."""
    started = time.perf_counter()
    features = build(n_components=n_components).fit(X)
    fitted = time.perf_counter() - started
    matrix = generator.standard_normal((X.shape[1], n_components), dtype=np.float32)
    seconds = np.empty((repeats, 3))
    for repeat in range(repeats):
        for column, job in enumerate(
            (lambda: features.transform(X), lambda: X @ matrix, lambda: _cosines(X @ matrix))
        ):
            started = time.perf_counter()
            job()
            seconds[repeat, column] = time.perf_counter() - started
    mapped, product, with_cosine = seconds.min(axis=0)
    return {
        "transform_seconds": float(mapped),
        "fit_seconds": fitted,
        "gemm_ratio": float(mapped / product),
        "gemm_cosine_ratio": float(mapped / with_cosine),
        "transform_memory_mb": _peak_mb(lambda: features.transform(X)),
    }


def _cosines(values: np.ndarray) -> np.ndarray:
    return np.cos(values, out=values)


def _peak_mb(job: Callable[[], Any]) -> float:
    """Return the most memory that a call held at once, as far as Python's allocator hooks see it."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
