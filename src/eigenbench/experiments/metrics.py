"""Score a fitted model on labelled rows, in blocks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix

from eigenbench.experiments.pipelines import BLOCK_ROWS
from eigenbench.linalg.row_blocks import BLOCK_BYTES, row_slices

#: Confusion counts are kept for so many classes at most: for 1,000 they would fill 3 MB of every record.
MOST_CONFUSION_CLASSES = 256


@dataclass(frozen=True)
class Scores:
    """Metrics by name, the time to predict, and the confusion counts (rows true, columns predicted).

    ``confusion`` is None for more than `MOST_CONFUSION_CLASSES` classes.
    """

    metrics: dict[str, float]
    predict_seconds: float
    confusion: NDArray[np.int64] | None


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
        ``error`` (share), ``errors`` (count), ``balanced_error`` (mean of the class error over the classes
        that occur), and, when the model gives probabilities, ``log_loss`` (nats per row).

    Notes
    -----
    Probabilities of one block of rows are in memory at a time, 128 MB.
    """
    has_probabilities = hasattr(model, "predict_proba")
    predicted = np.empty(y.shape[0], dtype=np.int64)
    loss = 0.0
    started = time.perf_counter()
    for rows in row_slices(y.shape[0], max(8 * n_classes, BLOCK_BYTES // BLOCK_ROWS)):
        if has_probabilities:
            block = model.predict_proba(X[rows])
            predicted[rows] = model.classes_[block.argmax(axis=1)]
            loss += _log_loss(block, model.classes_, y[rows])
        else:
            predicted[rows] = model.predict(X[rows])
    seconds = time.perf_counter() - started
    wrong = np.bincount(y[predicted != y], minlength=n_classes)
    occurring = np.bincount(y, minlength=n_classes)
    metrics = {
        "errors": float(wrong.sum()),
        "error": float(wrong.sum() / y.shape[0]),
        "balanced_error": float(np.mean(wrong[occurring > 0] / occurring[occurring > 0])),
    }
    if has_probabilities:
        metrics["log_loss"] = loss / y.shape[0]
    confusion = None
    if n_classes <= MOST_CONFUSION_CLASSES:
        confusion = confusion_matrix(y, predicted, labels=np.arange(n_classes))
    return Scores(metrics, seconds, confusion)


def _log_loss(probabilities: NDArray[Any], classes: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    """Return the sum over rows of the log loss; probabilities are kept off 0, also of classes not seen."""
    column = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    own = np.where(classes[column] == y, probabilities[np.arange(len(y)), column], 0.0)
    share = own / probabilities.sum(axis=1, dtype=np.float64)
    return float(-np.log(np.maximum(share, np.finfo(np.float64).eps)).sum())
