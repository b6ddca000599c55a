"""Test error and seconds against the number of training rows, or of classes, with parameters chosen once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from eigenbench.bench.protocols.base import (
    ClassifierSettings,
    ImageSize,
    Outcome,
    RunSizes,
    Several,
    Trial,
    at_sizes,
    by_size,
    candidates_of,
)
from eigenbench.datasets.splits import holdout_split, nested_order

#: A search compares at most so many candidates, the same for every method.
MAX_CANDIDATES = 24
#: A method that cannot be fitted to rows, as one with more components than a class has rows.
_FAILURES = (ValueError, np.linalg.LinAlgError)


class LearningCurveSettings(ClassifierSettings):
    """The training sets of a curve, and the rows that parameters are chosen on.

    The run with ``first_seed`` chooses the parameters, and all seeds take them. Its split is that of all.

    - ``train_rows``: Numbers of training rows, ascending. Each training set contains the smaller ones, with
      its share of each class.
    - ``classes``: In place of ``train_rows``: numbers of classes, ascending, with ``rows_per_class`` rows of
      each. Training and test rows of other classes are left out.
    - ``test_rows``: Most test rows.
    - ``search_rows``: Most training rows of the search: parameters given as ``{choose: [...]}`` are chosen on
      a quarter of them, held out, and kept for all sizes and seeds.
    - ``first_seed``: The seed whose run has the search, and whose split gives the test rows.
    - ``seeds_per_size``: For each size the number of seeds, counted from 0, that measure it; descending.
    - ``image``, ``block``: Height and width of images, in pixels, and the side of the squares of pixels whose
      means are the inputs.
    """

    headline: ClassVar[str] = "test_error_at_1000"
    optional: ClassVar[tuple[str, ...]] = ("image", "block")
    takes_sizes: ClassVar[bool] = True

    train_rows: RunSizes = ()
    classes: RunSizes = ()
    rows_per_class: int | None = Field(default=None, ge=2)
    test_rows: int = Field(default=10_000, ge=1)
    search_rows: int = Field(default=4_000, ge=8)
    first_seed: int = Field(default=0, ge=0)
    seeds_per_size: Several[Annotated[int, Field(ge=1)]] = ()
    image: ImageSize | None = None
    block: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _one_axis(self) -> LearningCurveSettings:
        if bool(self.train_rows) == bool(self.classes):
            raise ValueError("give either 'train_rows' or 'classes'")
        if bool(self.classes) != (self.rows_per_class is not None):
            raise ValueError("'rows_per_class' belongs to 'classes', and 'classes' needs it")
        if self.block > 1 and (self.image is None or any(side % self.block for side in self.image)):
            raise ValueError("'block' needs an 'image' whose height and width it divides")
        seeds = self.seeds_per_size
        if seeds and (len(seeds) != len(self.sizes) or any(a < b for a, b in pairwise(seeds))):
            raise ValueError(
                f"'seeds_per_size' needs {len(self.sizes)} descending numbers, one for each size"
            )
        return self

    @property
    def sizes(self) -> tuple[int, ...]:
        """The places on the axis."""
        return self.train_rows or self.classes

    @property
    def axis(self) -> str:
        """The name of the axis."""
        return "training_rows" if self.train_rows else "classes"

    def chosen_by(self) -> int:
        """Return the first seed."""
        return self.first_seed

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: four passes for each fit and candidate."""
        fitted = sum(self.train_rows or [n * (self.rows_per_class or 0) for n in self.classes])
        return 4 * (fitted + min(rows, self.search_rows)) * max(features, 1_000)

    def metrics(self) -> tuple[str, ...]:
        """Return the names of errors and seconds at every size, and the pattern of chosen parameters."""
        return (
            *at_sizes(("test_error", "seconds", "failed"), self.sizes),
            "search_error",
            "search_seconds",
            "candidates",
            "chosen_*",
        )


def measure(trial: Trial) -> Outcome:
    """Choose the parameters of a method, or take those of the first seed; train on every set and test.

    All seeds share the test rows, and methods of one seed the training sets. A method that ends with a
    classifier is trained as it is; any other gets the classifier of the settings.

    ``test_error_at_N`` and ``seconds_at_N``, of fitting features and classifier on N rows or classes,
    both also curves over N; ``chosen_<parameter>``; and of the first seed ``search_error`` of the chosen
    parameters on the rows held out, and ``search_seconds`` of all ``candidates``. A size at which the
    method cannot be fitted has ``failed_at_N`` and a warning that says why.

    Raises a ValueError if there are fewer training rows, or rows of a class, than the settings name;
    there are more than 24 candidates; or the first seed has chosen no parameters; and the last error if
    the method can be fitted at no size.
    """
    settings: LearningCurveSettings = trial.settings
    rows = _NestedRows.of(trial)
    started = time.perf_counter()
    chosen, metrics = _search(trial, rows)
    search_seconds = time.perf_counter() - started
    measured: dict[int, dict[str, float]] = {}
    failed: dict[int, Exception] = {}
    predict_seconds, dimension = 0.0, None
    for place, size in enumerate(settings.sizes):
        if settings.seeds_per_size and trial.seed >= settings.seeds_per_size[place]:
            break
        train, test = rows.training(size), rows.test(size, settings.test_rows)
        try:
            method = trial.build().set_params(**chosen)
            trained = trial.train(method, train, test, allow_classifiers=True)
        except _FAILURES as reason:
            failed[size] = reason
            continue
        measured[size] = {"test_error": trained.error, "seconds": trained.fit_seconds}
        predict_seconds += trained.predict_seconds
        dimension = trained.dimension
    if failed and not measured:
        raise failed.popitem()[1]
    of_sizes, curves = by_size(measured, settings.axis)
    return Outcome(
        of_sizes | metrics | {f"failed_at_{size}": 1.0 for size in failed},
        curves,
        warnings=[f"no result at {size:,}: {reason}" for size, reason in failed.items()],
        search_seconds=search_seconds if "candidates" in metrics else None,
        dimension=dimension,
        fit_seconds=sum(values["seconds"] for values in measured.values()),
        predict_seconds=predict_seconds,
    )


@dataclass(frozen=True)
class _NestedRows:
    """Training rows, and classes, in the order of `nested_order`."""

    data: Any
    order: NDArray[np.intp]
    class_order: NDArray[np.intp]
    settings: LearningCurveSettings

    @classmethod
    def of(cls, trial: Trial) -> _NestedRows:
        settings, data = trial.settings, trial.data(seed=trial.settings.first_seed)
        codes = np.asarray(data.y_train)
        counts = np.bincount(codes, minlength=len(data.classes))
        if settings.train_rows and settings.train_rows[-1] > len(codes):
            raise ValueError(
                f"'train_rows' go to {settings.train_rows[-1]}, and there are {len(codes)} training rows"
            )
        if settings.rows_per_class is not None and counts.min() < settings.rows_per_class:
            raise ValueError(
                f"'rows_per_class' is {settings.rows_per_class}, and class "
                f"{data.classes[int(counts.argmin())]!r} has {counts.min()} training rows"
            )
        return cls(data, *nested_order(codes, len(counts), trial.seed), settings)

    def _training_rows(self, size: int) -> NDArray[np.intp]:
        most = self.settings.rows_per_class
        if most is None:
            return self.order[:size]
        codes = np.asarray(self.data.y_train)[self.order]
        taken = [np.flatnonzero(codes == code)[:most] for code in self.class_order[:size]]
        return self.order[np.concatenate(taken)]

    def _inputs(self, X: Any) -> Any:
        """Return the inputs of rows: as they are, or the means of blocks of pixels."""
        image, block = self.settings.image, self.settings.block
        if image is None or block == 1:
            return X
        height, width = image
        if X.shape[1] != height * width:
            raise ValueError(f"'image' has {height * width} pixels, and rows have {X.shape[1]} inputs")
        blocks = np.asarray(X).reshape(len(X), height // block, block, width // block, block)
        return blocks.mean(axis=(2, 4)).reshape(len(X), -1)

    def training(self, size: int) -> tuple[Any, Any]:
        """Return (X, y) of a training set."""
        rows = np.sort(self._training_rows(size))
        return self._inputs(self.data.X_train[rows]), np.asarray(self.data.y_train)[rows]

    def test(self, size: int, most: int) -> tuple[Any, Any]:
        """Return (X, y) of the first test rows; where classes are varied, of those of the training set."""
        codes = np.asarray(self.data.y_test)
        known = np.ones(len(codes), dtype=bool)
        if self.settings.rows_per_class is not None:
            known = np.isin(codes, self.class_order[:size])
        rows = np.flatnonzero(known)[:most]
        return self._inputs(self.data.X_test[rows]), codes[rows]

    def search(self, most: int, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Return (X, y) to fit candidates on, and (X, y) to choose by; each class has eight rows or more."""
        X, y = self.data.X_train, np.asarray(self.data.y_train)
        searched = self.order[np.isin(y[self.order], self.class_order[: max(2, most // 8)])][:most]
        rows = np.sort(searched)
        fitted, held = (rows[part] for part in holdout_split(y[rows], 0.25, seed))
        return (self._inputs(X[fitted]), y[fitted]), (self._inputs(X[held]), y[held])


def _search(trial: Trial, rows: _NestedRows) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the first seed's parameters of fewest errors on rows held out, and metrics of the search."""
    from sklearn.model_selection import ParameterGrid

    settings: LearningCurveSettings = trial.settings
    candidates: list[dict[str, Any]] = list(ParameterGrid(candidates_of(trial.build())))
    if len(candidates) > MAX_CANDIDATES:
        raise ValueError(f"{len(candidates)} candidates, more than {MAX_CANDIDATES}: shorten the lists")
    if len(candidates) == 1:
        return candidates[0], {}
    if trial.seed != settings.first_seed:
        first = trial.metrics(settings.first_seed)
        for candidate in candidates:
            if (found := _as_metrics(candidate)).items() <= first.items():
                return candidate, found
        raise ValueError(f"seed {settings.first_seed} has chosen no parameters: see its record")
    started = time.perf_counter()
    fit, held_out = rows.search(settings.search_rows, trial.seed)
    errors = []
    for candidate in candidates:
        try:
            method = trial.build().set_params(**candidate)
            errors.append(trial.train(method, fit, held_out, allow_classifiers=True).error)
        except _FAILURES:
            errors.append(np.inf)
    best = int(np.argmin(errors))
    metrics = {"search_seconds": time.perf_counter() - started, "candidates": float(len(candidates))}
    if np.isfinite(errors[best]):
        metrics["search_error"] = errors[best]
    return candidates[best], metrics | _as_metrics(candidates[best])


def _as_metrics(chosen: dict[str, Any]) -> dict[str, float]:
    return {f"chosen_{name}": float(value) for name, value in chosen.items()}
