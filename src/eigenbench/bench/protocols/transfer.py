"""Error of 1-NN on new classes with one example of each, in an embedding learned on other classes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import ImageSize, Outcome, ProtocolSettings, Several, Trial
from eigenbench.bench.protocols.deformed_copies import Deformation

if TYPE_CHECKING:
    from eigenbench.bench.protocols.transfer_tasks import Task

#: Only the method with this seed leaves its pictures: those of every draw would fill the records.
_PICTURED_SEED = 0


class Settings(ProtocolSettings):
    """Which classes and how many images of each make the source and the target task.

    Attributes
    ----------
    target : str or None
        Dataset whose test rows are the target's pool; the source then draws from all rows of the
        experiment's own dataset. None: the target task comes from the experiment's dataset too.
    by_part : bool
        Draw the source from the training rows and the target from the test rows, for datasets whose parts
        have different classes. Otherwise the target classes are drawn from those that the source left.
    source_classes, target_classes : int
        Numbers of classes drawn.
    source_per_class, target_per_class : int
        Images drawn of each class; all of them where there are fewer.
    exclude : tuple of str
        Names of classes that the source never draws.
    smoothing : float
        Standard deviation, in pixels, of a Gaussian filter on what methods see; ``raw_nn_error`` is
        that of the images as they are. Needs ``image``.
    image : tuple of int or None
        Height and width of the images.
    deformed_copies : Deformation or None
        Copies added to the images of the source, with their classes. Every method is fitted on images and
        copies; errors are those of images alone. Needs ``image``.
    folds : int
        Parts of the source classes that are held out in turn to choose parameters given as
        ``{choose: [...]}``.
    choice_per_class : int or None
        Images of each source class that take part in the choice, with their copies; None: all.
    """

    headline: ClassVar[str] = "nn_error"

    target: str | None = None
    by_part: bool = False
    source_classes: int = Field(ge=2)
    source_per_class: int = Field(ge=2)
    target_classes: int = Field(ge=2)
    target_per_class: int = Field(ge=2)
    exclude: Several[str] = ()
    smoothing: float = Field(default=0.0, ge=0)
    image: ImageSize | None = None
    deformed_copies: Deformation | None = None
    folds: int = Field(default=3, ge=2)
    choice_per_class: int | None = Field(default=None, ge=2)

    def datasets(self) -> tuple[str, ...]:
        """Return the target's dataset, where it is another one."""
        return () if self.target is None else (self.target,)

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if self.target is not None and self.by_part:
            raise ValueError(
                "give 'target', another dataset, or 'by_part', this dataset's test rows, not both"
            )
        for name in ("smoothing", "deformed_copies"):
            if getattr(self, name) and self.image is None:
                raise ValueError(f"'{name}' needs 'image', the height and width of the images")
        return self

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: a kernel matrix or all images and copies."""
        copies = self.deformed_copies.copies if self.deformed_copies else 0
        images = self.source_classes * min(self.source_per_class, rows) * (1 + copies)
        return images * max(images, features)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and risks, and the pattern of chosen parameters."""
        return (
            "nn_error",
            "raw_nn_error",
            "nn_error_ratio",
            "balanced_risk",
            "threshold",
            "source_risk",
            "bound",
            "eta_negative",
            "held_out_nn_error",
            "chosen_*",
        )


def measure(trial: Trial) -> Outcome:
    """Fit on the source task, and measure distances in the target task before and after.

    Returns
    -------
    Outcome
        ``nn_error``, the 1-NN error with one example per class, in expectation over all choices of the
        examples; ``raw_nn_error``, the same for unit-length pixels, and ``nn_error_ratio``, their quotient.
        ``balanced_risk`` and ``threshold``, the lowest balanced risk of separating pairs of equal and of
        different classes by a threshold on the distance, and that threshold. Where the method has them,
        ``source_risk``, its margin risk on the source task, ``bound``, what that promises for new pairs at δ
        = 0.05, and ``eta_negative``; the bound takes deformed copies for independent rows, which they are
        not. Where parameters were chosen, ``chosen_<step>__<parameter>``, and ``held_out_nn_error``, the
        error on the source classes that were held out for it.
    """
    from eigenbench.bench.protocols.held_out_classes import choose_on_held_out_classes, one_example_error
    from eigenbench.bench.protocols.transfer_exhibits import (
        direction_images,
        distance_histogram,
        target_plane,
    )
    from eigenbench.bench.protocols.transfer_tasks import draw_tasks
    from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances

    settings: Settings = trial.settings
    source, target = draw_tasks(trial)
    method = trial.build()
    rows = _choice_rows(source, settings.choice_per_class, trial.seed)
    chosen, held_out_error = choose_on_held_out_classes(
        method,
        source.X[rows],
        source.y[rows],
        folds=settings.folds,
        seed=trial.seed,
        measured=source.drawn[rows],
    )
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
    )


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
