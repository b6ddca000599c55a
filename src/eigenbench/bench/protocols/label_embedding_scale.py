"""Time of a label embedding on SYNTHETIC data, and how much of the planted label structure it finds."""

from __future__ import annotations

import logging
import time
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Several, Trial, at_sizes, by_size


class LabelEmbeddingScaleSettings(ProtocolSettings):
    """The axis that varies: without ``sizes`` nothing does, and the method is fitted once on all rows.

    ``vary`` names the axis that ``sizes`` lie on: the dimension k of the embedding, or the number n of rows,
    of which the first are taken. ``centred`` says whether the planted structure is that of labels less their
    mean, as for a method that fits an intercept.
    """

    headline: ClassVar[str] = "fit_seconds"
    exclusive: ClassVar[bool] = True

    vary: Literal["n_components", "n_rows"] = "n_components"
    sizes: Several[Annotated[int, Field(ge=1)]] = ()
    centred: bool = True

    def metrics(self) -> tuple[str, ...]:
        """Return the names of times, angles and counts, at every size if there are sizes."""
        names = (
            "fit_seconds",
            "cpu_seconds",
            "captured_energy",
            "median_angle",
            "largest_angle",
            "nonzeros",
            "cg_iterations",
        )
        return at_sizes(names, self.sizes) if self.sizes else names


logger = logging.getLogger(__name__)

#: The size of the only measurement where no size varies.
_WHOLE = 0


def measure(trial: Trial) -> Outcome:
    """Fit the method, whose last step has an ``embedding_``, and compare that with the planted structure.

    ``fit_seconds``, wall time, and ``cpu_seconds`` of all threads; ``captured_energy`` and ``median_angle``
    and ``largest_angle``, as `eigenbench.datasets.planted_labels` defines them; ``nonzeros`` of the features,
    in millions; ``cg_iterations``, the most for any column, of methods that solve so. With sizes,
    ``<metric>_at_<size>``, and curves over the size. The peak memory is that of the record; it includes the
    pages of the memory-mapped rows that were resident.
    """
    from eigenbench.datasets.planted_labels import canonical_angles, captured_energy, recipe_of

    settings: LabelEmbeddingScaleSettings = trial.settings
    dataset = trial.data()
    recipe = recipe_of(dataset.name)
    measured: dict[int, dict[str, float]] = {}
    for size in settings.sizes or (_WHOLE,):
        X, Y, options = dataset.X_train, dataset.y_train, {}
        if settings.vary == "n_components" and size != _WHOLE:
            options = {"n_components": size}
        elif size > X.shape[0]:
            raise ValueError(f"sizes: {size} rows are more than the {X.shape[0]} of {dataset.name}")
        elif size not in (_WHOLE, X.shape[0]):
            X, Y = X[:size], Y[:size]
        measured[size], embedding = _fit(trial.build(**options), X, Y)
        angles = canonical_angles(recipe, embedding, centred=settings.centred)
        measured[size] |= {
            "captured_energy": captured_energy(recipe, embedding, centred=settings.centred),
            "median_angle": float(np.median(angles)),
            "largest_angle": float(angles[-1]),
        }
        logger.info("size %s: %s", size, measured[size])
    fit_seconds = sum(metrics["fit_seconds"] for metrics in measured.values())
    dimension = embedding.shape[1]
    if not settings.sizes:
        return Outcome(measured[_WHOLE], dimension=dimension, fit_seconds=fit_seconds)
    axis = "components" if settings.vary == "n_components" else "rows"
    return Outcome(*by_size(measured, axis), dimension=dimension, fit_seconds=fit_seconds)


def _fit(pipeline: Any, X: Any, Y: Any) -> tuple[dict[str, float], np.ndarray]:
    started, cpu_started = time.perf_counter(), time.process_time()
    fitted = pipeline.fit(X, Y)[-1]
    metrics = {
        "fit_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
        "nonzeros": X.nnz / 1e6,
    }
    if iterations := getattr(fitted, "cg_iterations_", 0):
        metrics["cg_iterations"] = iterations
    return metrics, fitted.embedding_
