"""Score a fitted model on labelled rows, in blocks, and keep what it predicted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, r2_score

from eigenbench.bench.jobs.job_spec import JobSpec
from eigenbench.bench.jobs.pipelines import BLOCK_ROWS
from eigenbench.methods.linalg.row_blocks import BLOCK_BYTES, row_slices
from eigenbench.methods.metrics.calibration import expected_calibration_error
from eigenbench.methods.metrics.multilabel import score_multilabel
from eigenbench.methods.metrics.ranking import inverse_propensities

#: Confusion counts are kept for so many classes at most: for 1,000 they would fill 3 MB of every record.
MOST_CONFUSION_CLASSES = 256

#: Probabilities may be negative by so much, as differences in float32 are.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class Scores:
    """Metrics and predictions of a model on some rows.

    ``confusion`` (c, c) has the true classes in rows; None for more than `MOST_CONFUSION_CLASSES`.
    ``thresholds`` are those of decisions on multilabel data. ``predictions`` of classes are ``truth`` and
    ``predicted`` (n,), codes, and ``probability`` (n,) of the true class, float32; of labels the scores of
    each row's best ones as the parts of a CSR array, and those of the indicator of the true ones.
    """

    metrics: dict[str, float]
    predict_seconds: float
    confusion: NDArray[np.int64] | None = None
    thresholds: dict[str, Any] | None = None
    predictions: dict[str, NDArray[Any]] = field(default_factory=dict)


def score_run(
    spec: JobSpec, model: Any, X: Any, y: Any, dataset: Any, thresholds: dict[str, Any] | None = None
) -> Scores:
    """Score a model, from raw inputs to labels, on rows of a dataset with classes, labels or numbers.

    Without ``thresholds`` of the decisions on multilabel data, they are chosen on these very rows.
    """
    if dataset.target == "regression":
        return score_numbers(model, X, y)
    if spec.propensity is None:
        return score_classes(model, X, y, len(dataset.classes))
    train = dataset.y_train
    counts = np.bincount(train.indices, minlength=y.shape[1])
    scores = score_multilabel(
        model,
        X,
        y,
        inverse_propensities=inverse_propensities(counts, train.shape[0], **spec.propensity),
        thresholds=thresholds,
    )
    best = scores.predictions
    arrays = {
        "data": best.data,
        "indices": best.indices,
        "indptr": best.indptr,
        "shape": np.array(best.shape),
        "truth_indices": y.indices.astype(np.min_scalar_type(y.shape[1])),
        "truth_indptr": y.indptr,
    }
    return Scores(scores.metrics, scores.predict_seconds, None, scores.thresholds, arrays)


def score_numbers(model: Any, X: Any, y: NDArray[np.float64]) -> Scores:
    """Predict every row once and compare with the numbers.

    Metrics are ``rmse`` and ``mae``, in the unit of the target, and ``r2``, the share of its variance that is
    explained; predictions are ``target`` and ``estimate`` (n,). Raises where a prediction is not finite.
    """
    started = time.perf_counter()
    blocks = [model.predict(X[rows]) for rows in row_slices(len(y), BLOCK_BYTES // BLOCK_ROWS)]
    estimate = np.concatenate(blocks).astype(np.float64).reshape(len(y))
    seconds = time.perf_counter() - started
    if not np.isfinite(estimate).all():
        raise ValueError(f"row {int(np.argmin(np.isfinite(estimate)))}: the prediction is not finite")
    metrics = {
        "rmse": float(np.sqrt(np.mean((y - estimate) ** 2))),
        "mae": float(np.mean(np.abs(y - estimate))),
        "r2": float(r2_score(y, estimate)),
    }
    return Scores(metrics, seconds, predictions={"target": y, "estimate": estimate})


def score_classes(model: Any, X: Any, y: NDArray[np.int64], n_classes: int) -> Scores:
    """Predict every row once and compare with the labels, codes in ``range(n_classes)`` as the model's.

    Metrics are ``error`` (share), ``errors`` (count), ``balanced_error`` (mean of the class error over the
    classes that occur), and, when the model gives probabilities, ``log_loss`` (nats per row), ``brier``, the
    squared distance to the class's indicator, halved for two classes, and ``calibration_error``, the expected
    calibration error of the predicted class in 15 bins. Probabilities are in memory in blocks of 128 MB.
    """
    has_probabilities = hasattr(model, "predict_proba")
    predicted = np.empty(y.shape[0], dtype=np.int64)
    probability, brier, confidence = np.empty((3, y.shape[0]), dtype=np.float32)
    loss = 0.0
    started = time.perf_counter()
    for rows in row_slices(y.shape[0], max(8 * n_classes, BLOCK_BYTES // BLOCK_ROWS)):
        if has_probabilities:
            block = np.asarray(model.predict_proba(X[rows]))
            _check_probabilities(block, rows, len(model.classes_))
            found = model.classes_[block.argmax(axis=1)]
            share = _share_of_truth(block, model.classes_, y[rows])
            loss += float(-np.log(np.maximum(share, np.finfo(np.float64).eps)).sum())
            probability[rows], confidence[rows] = share, block.max(axis=1)
            squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
            brier[rows] = (squares - 2 * share + 1) / (2 if n_classes == 2 else 1)
        else:
            found = np.asarray(model.predict(X[rows]))
        _check_shape(found, rows)
        if not (known := np.isin(found, np.arange(n_classes))).all():
            first = int(np.argmin(known))
            raise ValueError(f"row {rows.start + first}: predicted {found[first]!r}, which is no class")
        predicted[rows] = found
    seconds = time.perf_counter() - started
    wrong = np.bincount(y[predicted != y], minlength=n_classes)
    occurring = np.bincount(y, minlength=n_classes)
    metrics = {
        "errors": float(wrong.sum()),
        "error": float(wrong.sum() / y.shape[0]),
        "balanced_error": float(np.mean(wrong[occurring > 0] / occurring[occurring > 0])),
    }
    code = np.min_scalar_type(n_classes)
    predictions: dict[str, NDArray[Any]] = {"truth": y.astype(code), "predicted": predicted.astype(code)}
    if has_probabilities:
        metrics |= {"log_loss": loss / y.shape[0], "brier": float(brier.mean(dtype=np.float64))}
        metrics["calibration_error"] = expected_calibration_error(confidence, predicted == y)
        predictions |= {"probability": probability, "brier": brier}
    confusion = None
    if n_classes <= MOST_CONFUSION_CLASSES:
        confusion = confusion_matrix(y, predicted, labels=np.arange(n_classes))
    return Scores(metrics, seconds, confusion, None, predictions)


def _check_shape(found: NDArray[Any], rows: slice, *columns: int) -> None:
    expected = (rows.stop - rows.start, *columns)
    if found.shape != expected:
        raise ValueError(
            f"rows from {rows.start}: the classifier gave an array of shape {found.shape}, not {expected}"
        )


def _check_probabilities(block: NDArray[Any], rows: slice, n_classes: int) -> None:
    """Raise an error that names the first row whose probabilities are none."""
    _check_shape(block, rows, n_classes)
    wrong = ~np.isfinite(block).all(axis=1)
    wrong |= (block < -_ROUNDING).any(axis=1) | (np.abs(block.sum(axis=1, dtype=np.float64) - 1) > 1e-3)
    if wrong.any():
        first = int(np.argmax(wrong))
        shown = ", ".join(f"{value:.4g}" for value in block[first][:5])
        raise ValueError(
            f"row {rows.start + first}: the classifier gave probabilities {shown}, …; "
            "they have to be finite, not negative, and sum to one"
        )


def _share_of_truth(
    probabilities: NDArray[Any], classes: NDArray[np.int64], y: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability of each row's true class; 0 for a class that was not seen in training."""
    column = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    own = np.where(classes[column] == y, probabilities[np.arange(len(y)), column], 0.0)
    return own / probabilities.sum(axis=1, dtype=np.float64)
