"""Variants of one method on the same draws of the data, so that their differences have intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import ClassifierSettings, Outcome, Trial

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


class PairedComparisonSettings(ClassifierSettings):
    """The variants, the size of each draw of the data, and the classifier, the same for every variant.

    - ``variants``: Name to what a variant changes: a parameter, ``step__parameter``, or a whole ``step``,
      whose value is written like a step, ``{Name: {parameter: value}}``. Two variants or more.
    - ``reference``: The variant that the others are compared with.
    - ``classes``: Classes drawn by the seed; None takes all.
    - ``train_rows``: Training rows drawn by the seed, of those classes; None takes all, as do fewer rows.
    """

    headline: ClassVar[str] = "reference_error"

    variants: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], dict[str, Any]] = Field(min_length=2)
    reference: str
    classes: int | None = Field(default=None, ge=2)
    train_rows: int | None = Field(default=None, ge=2)

    @model_validator(mode="after")
    def _known_names(self) -> PairedComparisonSettings:
        if self.reference not in self.variants:
            raise ValueError(f"'reference' must be one of the variants {', '.join(self.variants)}")
        for name, changes in self.variants.items():
            for key, step in changes.items():
                if "__" not in key and not (isinstance(step, dict) and len(step) == 1):
                    raise ValueError(
                        f"{key!r} of variant {name!r} must be {{Name: {{parameter: value}}}}, not {step!r}"
                    )
        return self

    def components(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the classifier, and the steps that variants replace."""
        steps = [
            step for changes in self.variants.values() for key, step in changes.items() if "__" not in key
        ]
        named = [(name, params or {}) for step in steps for name, params in step.items()]
        return (*super().components(), *named)

    def parameters(self) -> tuple[tuple[str, list[Any]], ...]:
        """Return the parameters that variants set in steps that they do not replace."""
        return tuple(
            (name, [value])
            for changes in self.variants.values()
            for name, value in changes.items()
            if "__" in name and name.partition("__")[0] not in changes
        )

    def metrics(self) -> tuple[str, ...]:
        """Return the names of each variant's error, number of features, and difference to the reference."""
        differing = [name for name in self.variants if name != self.reference]
        return (
            "reference_error",
            *(f"error_{name}_minus_{self.reference}" for name in differing),
            *(f"error_{name}" for name in self.variants),
            *(f"features_{name}" for name in self.variants),
        )


def measure(trial: Trial) -> Outcome:
    """Train every variant on the same rows of the same classes and count its errors on the test rows.

    What makes a draw of classes hard is hard for all variants: over seeds, their differences vary less than
    their errors.

    ``reference_error``; and for each variant ``error_<variant>``, ``features_<variant>``, their number, and,
    but for the reference, ``error_<variant>_minus_<reference>``.

    Raises a ValueError if fewer classes are there than are to be drawn.
    """
    settings: PairedComparisonSettings = trial.settings
    train, test = _draw(trial)
    trained = {}
    for name, changes in settings.variants.items():
        method = _seeded(trial.build().set_params(**_estimators(changes, trial.load)), trial.seed)
        trained[name] = trial.train(method, train, test)
    reference = trained[settings.reference].error
    metrics = {"reference_error": reference}
    for name, variant in trained.items():
        metrics |= {f"error_{name}": variant.error, f"features_{name}": float(variant.model.coef_.shape[-1])}
        if name != settings.reference:
            metrics[f"error_{name}_minus_{settings.reference}"] = variant.error - reference
    return Outcome(
        metrics,
        fit_seconds=sum(variant.fit_seconds for variant in trained.values()),
        predict_seconds=sum(variant.predict_seconds for variant in trained.values()),
    )


def _estimators(changes: dict[str, Any], load: Callable[[str], type]) -> dict[str, Any]:
    """Return the changes of a variant with every step, ``{Name: {parameter: value}}``, made an estimator."""
    made = dict(changes)
    for step in [name for name in changes if "__" not in name]:
        ((name, params),) = changes[step].items()
        made[step] = load(name)(**(params or {}))
    return made


def _seeded(method: Pipeline, seed: int) -> Pipeline:
    """Seed the steps that a variant has made random, and that so had no seed of the trial yet."""
    params = method.get_params()
    missing = [name for name, value in params.items() if name.endswith("__random_state") and value is None]
    return method.set_params(**dict.fromkeys(missing, seed))


def _draw(trial: Trial) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return training and test rows, each with their classes, as drawn by the trial's seed."""
    settings: PairedComparisonSettings = trial.settings
    data = trial.data()
    generator = np.random.default_rng([trial.seed, 0x5043])
    codes = np.unique(data.y_train)
    if settings.classes is not None:
        if settings.classes > len(codes):
            raise ValueError(f"{settings.classes} classes are to be drawn, but there are {len(codes)}")
        codes = codes[generator.permutation(len(codes))[: settings.classes]]
    rows = np.flatnonzero(np.isin(data.y_train, codes))
    rows = np.sort(generator.permutation(rows)[: settings.train_rows])
    test = np.flatnonzero(np.isin(data.y_test, codes))
    return (data.X_train[rows], data.y_train[rows]), (data.X_test[test], data.y_test[test])
