"""Error of 1-NN on new classes with one example of each, in an embedding learned on other classes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenbench.bench.exhibits import Histogram, Images, Scatter, rounded
from eigenbench.bench.protocols.base import Outcome, Trial
from eigenbench.bench.protocols.transfer_tasks import (
    Task,
    TransferSettings,
    choose_on_held_out_classes,
    draw_tasks,
    one_example_error,
)

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances

#: Only the method with this seed leaves its pictures: those of every draw would fill the records.
_PICTURED_SEED = 0

#: What keeps a record small: points of a scatter plot, bins, pictures, and pixels of a picture.
_POINTS, _BINS, _PICTURES, _PIXELS = 400, 50, 8, 1024


def measure(trial: Trial) -> Outcome:
    """Fit on the source task, and measure distances in the target task before and after.

    ``nn_error``, the 1-NN error with one example per class, in expectation over all choices of the examples;
    ``raw_nn_error``, the same for unit-length pixels, and ``nn_error_ratio``, their quotient.
    ``balanced_risk`` and ``threshold``, the lowest balanced risk of separating pairs of equal and of
    different classes by a threshold on the distance, and that threshold; ``relative_threshold`` is its
    quotient with the largest distance in the target task. Where the method has them, ``source_risk``, its
    margin risk on the source task, ``bound``, what that promises for new pairs at δ = 0.05, and
    ``eta_negative``; the bound takes deformed copies for independent rows, which they are not. Where
    parameters were chosen, ``chosen_<step>__<parameter>``, and ``held_out_nn_error``, the error on the source
    classes that were held out for it; ``chosen_inverted``, ``chosen_smoothing`` and ``chosen_copies`` where
    the treatment of the images was chosen too.
    """
    from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances

    settings: TransferSettings = trial.settings
    searched = time.perf_counter()
    source, target, method, chosen, held_out_error = _choose(trial)
    started = time.perf_counter()
    method.fit(source.X, source.y)
    fitted = time.perf_counter()
    Z = method.transform(target.X)
    transformed = time.perf_counter()
    pairs = PairDistances.from_labels(Z, target.y)
    threshold, risk = pairs.best_threshold()
    error, raw_error = one_example_error(Z, target.y), one_example_error(target.raw, target.y)
    metrics = {
        "nn_error": error,
        "raw_nn_error": raw_error,
        "nn_error_ratio": error / raw_error if raw_error else float(error > 0),
        "balanced_risk": risk,
        "threshold": threshold,
        "relative_threshold": threshold / (_largest_distance(pairs) or 1.0),
        **_own_figures(method[-1]),
        **{f"chosen_{name}": float(value) for name, value in chosen.items()},
    }
    if held_out_error is not None:
        metrics["held_out_nn_error"] = held_out_error
    exhibits: list[Any] = []
    if trial.seed == _PICTURED_SEED:
        names = [target.classes[code] for code in target.y]
        directions = None if settings.image is None else direction_images(method, settings.image)
        exhibits = [target_plane(Z, names, trial.seed), distance_histogram(pairs, threshold)]
        exhibits += [directions] if directions is not None else []
    return Outcome(
        metrics,
        exhibits=exhibits,
        dimension=Z.shape[1],
        fit_seconds=fitted - started,
        predict_seconds=transformed - fitted,
        search_seconds=None if held_out_error is None else started - searched,
    )


def _choose(trial: Trial) -> tuple[Task, Task, Pipeline, dict[str, float], float | None]:
    """Draw the tasks, and choose parameters and treatment of the images on held-out source classes."""
    settings: TransferSettings = trial.settings
    best: tuple[Task, Task, Pipeline, dict[str, float], float | None] | None = None
    for treatment in settings.treatments or (None,):
        treated = settings.model_copy(update=dict(treatment) if treatment else {})
        source, target = draw_tasks(replace(trial, settings=treated))
        method = trial.build()
        rows = _choice_rows(source, settings.choice_per_class, trial.seed)
        chosen, error = choose_on_held_out_classes(
            method,
            source.X[rows],
            source.y[rows],
            folds=settings.folds,
            seed=trial.seed,
            measured=source.drawn[rows],
            always=treatment is not None,
        )
        if treatment is not None:
            copies = treatment.deformed_copies.copies if treatment.deformed_copies else 0
            chosen |= {"inverted": treatment.inverted, "smoothing": treatment.smoothing, "copies": copies}
        if best is None or (error or 0.0) < (best[4] or 0.0):
            best = source, target, method, chosen, error
    assert best is not None
    return best


def _largest_distance(pairs: PairDistances) -> float:
    return float(np.sqrt(max(group[-1] for group in (pairs.positive, pairs.negative))))


def _own_figures(step: Any) -> dict[str, float]:
    """Return what the fitted method knows of its risk."""
    if not hasattr(step, "risk_"):
        return {}
    return {"source_risk": step.risk_, "bound": step.bound(0.05), "eta_negative": step.eta_negative_}


def _choice_rows(source: Task, per_class: int | None, seed: int) -> np.ndarray:
    """Return which source rows take part in choosing parameters, in their order: copies go with images."""
    if per_class is None:
        return np.arange(len(source.y))
    generator = np.random.default_rng([seed, 0x6368])
    codes = np.where(source.drawn, source.y, -1)
    taken = [generator.permutation(np.flatnonzero(codes == code))[:per_class] for code in np.unique(source.y)]
    return np.flatnonzero(np.isin(source.origin, np.concatenate(taken)))


def target_plane(Z: np.ndarray, names: list[str], seed: int) -> Scatter:
    """Show at most 400 of the target rows Z (n, D), as the method gives them, on their two principal axes."""
    from sklearn.decomposition import PCA

    shown = np.sort(np.random.default_rng(seed).permutation(len(Z))[:_POINTS])
    n_axes = min(2, *Z.shape)
    plane = np.zeros((len(shown), 2))
    plane[:, :n_axes] = PCA(n_axes, svd_solver="full").fit(Z).transform(Z[shown])
    return Scatter(
        title="Target task",
        x=rounded(plane[:, 0], 4),
        y=rounded(plane[:, 1], 4),
        labels=[names[row] for row in shown],
        x_label="first principal axis",
        y_label="second principal axis",
    )


def distance_histogram(pairs: PairDistances, threshold: float) -> Histogram:
    """Show the distances of equal and of different classes over common bins, and the best threshold."""
    distances = {"equal classes": np.sqrt(pairs.positive), "different classes": np.sqrt(pairs.negative)}
    top = _largest_distance(pairs)
    edges = np.linspace(0.0, top or 1.0, _BINS + 1)
    return Histogram(
        title="Distances in the target task",
        edges=rounded(edges, 4),
        densities={
            name: rounded(np.histogram(group, edges, density=True)[0], 4) for name, group in distances.items()
        },
        x_label="distance",
        marker=threshold,
    )


def direction_images(method: Pipeline, image: tuple[int, int]) -> Images | None:
    """Show the leading directions of a method, coarsened to 1,024 pixels; None where a step is not linear."""
    directions: Any = None
    for _, step in method.steps:
        if getattr(step, "components_", None) is None:
            return None
        directions = step.components_ if directions is None else step.components_ @ directions
    if directions is None:
        return None
    height, width = image
    pictures = directions[:_PICTURES].reshape(-1, height, width)
    factor = 1
    while (height // factor) * (width // factor) > _PIXELS:
        factor += 1
    height, width = height // factor, width // factor
    pictures = pictures[:, : height * factor, : width * factor]
    pictures = pictures.reshape(-1, height, factor, width, factor).mean(axis=(2, 4))
    return Images(
        title="Leading directions",
        height=height,
        width=width,
        rows={"direction": [rounded(picture.ravel(), 3) for picture in pictures]},
    )
