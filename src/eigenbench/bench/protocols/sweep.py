"""Error of a classifier on features, against a parameter of theirs or against the training rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import ClassifierSettings, Outcome, RunSizes, Several, Trial

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


class SweepSettings(ClassifierSettings):
    """The values that are varied, and the classifier that each variant is trained with.

    - ``values``: ``step__parameter`` and its values, ascending. Each method takes the one that names a step
      of its own. The error is that on validation rows.
    - ``sizes``: In place of ``values``: numbers of training rows, ascending. The error is that on the test
      rows.
    - ``axis``: Name of the curves' axis where ``values`` are varied, in words joined by underscores.
      "detectors" puts the number of columns that the varied step gives on it.
    - ``unit``: Steps on the axis are whole numbers: the values divided by this, 0.001 for thousandths.
    - ``train_rows``, ``validation_rows``: Rows drawn to train on and to validate on where ``values`` are
      varied; all there are where they are fewer, of which the validation rows go first.
    """

    headline: ClassVar[str] = "validation_error"

    values: dict[str, Several[float]] = {}
    sizes: RunSizes = ()
    axis: str = Field(default="value", pattern=r"^[a-z]+(_[a-z]+)*$")
    unit: float = Field(default=1.0, gt=0)
    train_rows: int = Field(default=10_000, ge=2)
    validation_rows: int = Field(default=5_000, ge=1)

    @model_validator(mode="after")
    def _one_thing_varies(self) -> SweepSettings:
        if bool(self.values) == bool(self.sizes):
            raise ValueError("give either 'values' or 'sizes'")
        for name, values in self.values.items():
            if "__" not in name:
                raise ValueError(f"'values': {name!r} must name a step and its parameter, as gem__theta")
            steps = [value / self.unit for value in values]
            places = [round(step) for step in steps if isfinite(step)]
            if not steps or len(places) < len(steps) or places != sorted(set(places)):
                raise ValueError(f"'values' of {name} must ascend, by at least one 'unit' each")
        return self

    def parameters(self) -> tuple[tuple[str, list[Any]], ...]:
        """Return what is varied; each method has one of these parameters."""
        return tuple((name, [_whole(value) for value in values]) for name, values in self.values.items())

    def metrics(self) -> tuple[str, ...]:
        """Return the names of the error, and of the best place on the axis where a parameter is varied."""
        return ("test_error",) if self.sizes else ("validation_error", f"best_{self.axis}")


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


class _Variant(NamedTuple):
    """A method with one value of what is varied, and (X, y) to train and to test it on."""

    method: Pipeline
    step: str | None
    value: float
    train: Any
    held_out: Any


def measure(trial: Trial) -> Outcome:
    """Train every variant on rows drawn by the trial's seed, and count its errors on rows held out.

    Parameters are judged on validation rows, drawn from the training rows, and never on the test rows.
    Variants of one seed share their rows, and larger numbers of training rows contain the smaller ones.

    Where a parameter is varied: ``validation_error`` of the best variant and ``best_<axis>``, its place on
    the axis; as curves over all variants the error and ``detectors``, the number of columns that the varied
    step gives. For numbers of rows: ``test_error`` of the largest, and its curve.

    Raises a ValueError if not exactly one of the settings' ``values`` names a step of the method, or there
    are too few rows.
    """
    settings: SweepSettings = trial.settings
    part = "test" if settings.sizes else "validation"
    errors: list[tuple[int, float]] = []
    widths: list[tuple[int, float]] = []
    fit_seconds = predict_seconds = 0.0
    dimension = None
    for variant in _size_variants(trial) if settings.sizes else _value_variants(trial):
        trained = trial.train(variant.method, variant.train, variant.held_out)
        predict_seconds += trained.predict_seconds
        fit_seconds += trained.fit_seconds
        at = round(variant.value)
        if variant.step is not None:
            at = round(variant.value / settings.unit)
            width = _width(trained.model.feature_map_, variant.step, variant.held_out[0][:1])
            at = width if settings.axis == "detectors" else at
            widths.append((at, width))
        errors.append((at, trained.error))
        dimension = trained.dimension
    axis = "training_rows" if settings.sizes else settings.axis
    curves = {f"{part}_error_by_{axis}": errors}
    if widths and axis != "detectors":
        curves[f"detectors_by_{axis}"] = widths
    if settings.sizes:
        metrics = {"test_error": errors[-1][1]}
    else:
        best_at, best = min(errors, key=itemgetter(1))
        metrics = {"validation_error": best, f"best_{axis}": float(best_at)}
    return Outcome(
        metrics, curves, dimension=dimension, fit_seconds=fit_seconds, predict_seconds=predict_seconds
    )


def _value_variants(trial: Trial) -> Iterator[_Variant]:
    settings: SweepSettings = trial.settings
    steps = trial.build().named_steps
    own = [name for name in settings.values if name.partition("__")[0] in steps]
    if len(own) != 1:
        raise ValueError(
            f"'values' must vary one step of every method: {', '.join(settings.values)} name {len(own)} of "
            f"the steps {', '.join(steps)}"
        )
    data = trial.data()
    order = _drawn(trial, len(data.y_train))
    held_out = np.sort(order[: settings.validation_rows])
    rows = np.sort(order[settings.validation_rows :][: settings.train_rows])
    if len(rows) < 2:
        raise ValueError(f"{len(order)} training rows leave too few beside {len(held_out)} validation rows")
    train = data.X_train[rows], data.y_train[rows]
    validation = data.X_train[held_out], data.y_train[held_out]
    name = own[0]
    for value in settings.values[name]:
        method = trial.build().set_params(**{name: _whole(value)})
        yield _Variant(method, name.partition("__")[0], value, train, validation)


def _size_variants(trial: Trial) -> Iterator[_Variant]:
    settings: SweepSettings = trial.settings
    data = trial.data()
    order = _drawn(trial, len(data.y_train))
    if settings.sizes[-1] > len(order):
        raise ValueError(f"'sizes' go to {settings.sizes[-1]} rows, but there are {len(order)} training rows")
    for size in settings.sizes:
        rows = np.sort(order[:size])
        train = data.X_train[rows], data.y_train[rows]
        yield _Variant(trial.build(), None, size, train, (data.X_test, data.y_test))


def _drawn(trial: Trial, n_rows: int) -> np.ndarray:
    return np.random.default_rng([trial.seed, 0x5357]).permutation(n_rows)


def _width(method: Pipeline, step: str, row: Any) -> int:
    """Return how many columns the output of a step has."""
    names = list(method.named_steps)
    return method[: names.index(step) + 1].transform(row).shape[1]
