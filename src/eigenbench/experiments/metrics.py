"""Score a fitted model on labelled rows, in blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, log_loss

from eigenbench.experiments.pipelines import row_slices


@dataclass(frozen=True)
class Scores:
    """Metrics by name, the confusion counts (rows true, columns predicted), and the time to predict."""

    metrics: dict[str, float]
    confusion: NDArray[np.int64]
    predict_seconds: float


def score(model: Any, X: Any, y: NDArray[np.int64], n_classes: int) -> Scores:
    """Predict every row once and compare with the labels.

    Parameters
    ----------
    model : classifier
        Fitted; its ``classes_`` are codes in ``range(n_classes)``.
    X : array of shape (n, d)
        The rows.
    y : array of int, shape (n,)
        Their class codes.
    n_classes : int
        Number of classes of the dataset.

    Returns
    -------
    Scores
        ``error`` (share), ``errors`` (count), ``balanced_error`` (mean over classes of the class error),
        and, when the model gives probabilities, ``log_loss`` (nats per row).
    """
    has_probabilities = hasattr(model, "predict_proba")
    predicted = np.empty(y.shape[0], dtype=np.int64)
    probabilities = np.zeros((y.shape[0], n_classes)) if has_probabilities else None
    started = time.perf_counter()
    for rows in row_slices(X.shape[0]):
        if probabilities is None:
            predicted[rows] = model.predict(X[rows])
        else:
            block = model.predict_proba(X[rows])
            probabilities[rows, model.classes_] = block
            predicted[rows] = model.classes_[block.argmax(axis=1)]
    seconds = time.perf_counter() - started
    wrong = int(np.count_nonzero(predicted != y))
    metrics = {
        "errors": float(wrong),
        "error": wrong / y.shape[0],
        "balanced_error": 1.0 - float(balanced_accuracy_score(y, predicted)),
    }
    if probabilities is not None:
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        metrics["log_loss"] = float(log_loss(y, probabilities, labels=np.arange(n_classes)))
    return Scores(metrics, confusion_matrix(y, predicted, labels=np.arange(n_classes)), seconds)
