"""Detectors of pairs of classes as pictures, and how the classes respond to one of them."""

from __future__ import annotations

import time
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eigenbench.bench.exhibits import Boxes, Images, rounded
from eigenbench.bench.protocols.base import ImageSize, Outcome, ProtocolSettings, Several, Trial


class DetectorsSettings(ProtocolSettings):
    """The detectors that are shown, as pictures and by their projections.

    - ``pairs``: Class names, numerator and denominator; the projections on the first pair's leading detector
      are shown class by class.
    - ``pictures``: Detectors of each pair that are shown, those of largest eigenvalue.
    - ``image``: Height and width of the inputs.
    """

    headline: ClassVar[str] = "test_response_ratio"

    pairs: Several[Annotated[tuple[str, str], Field(strict=False)]] = Field(min_length=1)
    pictures: int = Field(default=5, ge=1)
    image: ImageSize

    @model_validator(mode="after")
    def _different(self) -> DetectorsSettings:
        if any(numerator == denominator for numerator, denominator in self.pairs):
            raise ValueError("numerator and denominator of a pair are different classes")
        return self

    def metrics(self) -> tuple[str, ...]:
        """Return the names of the ratios on test and on training rows."""
        return ("test_response_ratio", "train_response_ratio")


def measure(trial: Trial) -> Outcome:
    """Fit the method on all training rows and show the leading detectors of the pairs.

    The method is one step with ``detectors_`` and ``pairs_``, such as GEM, on the inputs as they are.

    ``train_response_ratio`` and ``test_response_ratio``: the mean square of the response in the numerator
    class over that in the denominator class, geometric means over the detectors shown; how much the second
    falls short of the first is how much of the eigenvalues is chance. Exhibits are the detectors, and box
    plots by class of the projections of the training rows on the leading one of the first pair.

    Raises a ValueError if the inputs are no images of the declared size, a class name is unknown, or the
    method has another step, no detectors, or none of a pair.
    """
    settings: DetectorsSettings = trial.settings
    data = trial.data()
    height, width = settings.image
    if data.X_train.shape[1] != height * width:
        raise ValueError(f"rows of {data.X_train.shape[1]} values are no images of {height} x {width} pixels")
    started = time.perf_counter()
    pipeline = trial.build()
    if len(pipeline) > 1:
        raise ValueError("the detectors are shown on the inputs as they are: give the method one step")
    method = pipeline.fit(data.X_train, data.y_train)[0]
    fitted = time.perf_counter()
    if not hasattr(method, "detectors_"):
        raise ValueError(f"{type(method).__name__} has no detectors_ to show: use GEM")
    names = [str(name) for name in data.classes]
    shown = {pair: _leading(method, pair, names, settings.pictures) for pair in settings.pairs}
    train, test = [], []
    for pair, columns in shown.items():
        codes = [names.index(name) for name in pair]
        V = method.detectors_[:, columns]
        train.append(_log_ratios(data.X_train, data.y_train, V, codes))
        test.append(_log_ratios(data.X_test, data.y_test, V, codes))
    first = settings.pairs[0]
    responses = data.X_train @ method.detectors_[:, shown[first][0]]
    return Outcome(
        {
            "train_response_ratio": float(np.exp(np.mean(np.concatenate(train)))),
            "test_response_ratio": float(np.exp(np.mean(np.concatenate(test)))),
        },
        exhibits=[
            Images(
                title="Leading detectors of pairs of classes",
                height=height,
                width=width,
                rows={
                    _name(pair): [rounded(method.detectors_[:, column], 3) for column in columns]
                    for pair, columns in shown.items()
                },
            ),
            Boxes(
                title=f"Projections on the leading detector of {_name(first)}",
                groups={name: _box(responses[data.y_train == code]) for code, name in enumerate(names)},
                y_label="projection",
            ),
        ],
        dimension=method.detectors_.shape[1],
        fit_seconds=fitted - started,
    )


def _name(pair: tuple[str, str]) -> str:
    return f"{pair[0]} over {pair[1]}"


def _leading(method: Any, pair: tuple[str, str], names: list[str], count: int) -> np.ndarray:
    """Return the columns of a pair's detectors of largest eigenvalue, descending."""
    if unknown := set(pair) - set(names):
        raise ValueError(f"no class is named {sorted(unknown)[0]!r}; the classes are {', '.join(names)}")
    codes = [names.index(name) for name in pair]
    columns = np.flatnonzero((method.pairs_ == codes).all(axis=1))
    if not columns.size:
        raise ValueError(f"the method has no detector of {_name(pair)}: use pairs: all and a lower theta")
    order = np.argsort(-method.eigenvalues_[columns], kind="stable")
    return columns[order[:count]]


def _log_ratios(X: np.ndarray, y: np.ndarray, V: np.ndarray, codes: list[int]) -> np.ndarray:
    """Return the log of E[(vᵀx)²] in the first class over that in the second for each column of V."""
    squares = [np.mean((X[y == code] @ V) ** 2, axis=0) for code in codes]
    return np.log(squares[0]) - np.log(squares[1])


def _box(values: np.ndarray) -> tuple[float, float, float, float, float]:
    low, first, median, third, high = rounded(np.percentile(values, (5, 25, 50, 75, 95)), 3)
    return low, first, median, third, high
