"""Error of predicting real-valued targets from features: columns of the data, from the other columns."""

from __future__ import annotations

import time
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Several, Trial


class RealTargetsSettings(ProtocolSettings):
    """The columns to predict, counted from 0, and the penalties among which ridge regression chooses."""

    headline: ClassVar[str] = "unexplained_variance"

    targets: Annotated[Several[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    alphas: Annotated[Several[Annotated[float, Field(gt=0)]], Field(min_length=1)] = tuple(
        10.0**power for power in range(-2, 4)
    )

    def metrics(self) -> tuple[str, ...]:
        """Return the names of the error, over all targets and for each."""
        return ("unexplained_variance", *(f"unexplained_variance_of_{column}" for column in self.targets))


def measure(trial: Trial) -> Outcome:
    """Fit the features to the targets, and ridge regression to the features.

    The method sees all columns but the targets, scaled, and the targets, scaled and centred. Each target has
    its own penalty, chosen by leaving out each training row in turn.

    ``unexplained_variance``, the mean over the targets of the mean squared error on the test rows in units of
    the variance of the target there, and ``unexplained_variance_of_<column>`` for each.

    Raises a ValueError if a target is not a column of the data or has one value, or no column is left.
    """
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    settings: RealTargetsSettings = trial.settings
    dataset = trial.data()
    X, Y = _split(dataset.X_train, settings.targets)
    X_test, Y_test = _split(dataset.X_test, settings.targets)
    scaler = StandardScaler().fit(Y)
    if (scaler.var_ == 0).any():
        raise ValueError(f"column {settings.targets[int(np.argmin(scaler.var_))]} has one value")
    Y, Y_test = scaler.transform(Y), scaler.transform(Y_test)
    started = time.perf_counter()
    features = make_pipeline(StandardScaler(), trial.build(), StandardScaler()).fit(X, Y)
    regression = RidgeCV(settings.alphas, alpha_per_target=True).fit(features.transform(X), Y)
    fitted = time.perf_counter()
    predicted = regression.predict(features.transform(X_test)).reshape(Y_test.shape)
    seconds = time.perf_counter() - fitted
    unexplained = np.mean((Y_test - predicted) ** 2, axis=0) / Y_test.var(axis=0)
    metrics = {"unexplained_variance": float(unexplained.mean())}
    for column, share in zip(settings.targets, unexplained, strict=True):
        metrics[f"unexplained_variance_of_{column}"] = float(share)
    return Outcome(
        metrics, dimension=regression.n_features_in_, fit_seconds=fitted - started, predict_seconds=seconds
    )


def _split(rows: Any, targets: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the other columns and the targets, as float64."""
    rows = np.asarray(rows, dtype=np.float64)
    outside = [column for column in targets if column >= rows.shape[1]]
    if outside:
        raise ValueError(f"there is no column {outside[0]}: the data have {rows.shape[1]}, counted from 0")
    if len(set(targets)) == rows.shape[1]:
        raise ValueError("all columns are targets: none is left to predict from")
    return np.delete(rows, targets, axis=1), rows[:, targets]
