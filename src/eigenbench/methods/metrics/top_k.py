"""The best-scored labels of each row, whatever the model offers, without an n x c array of scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

_SCORES_AT_ONCE = 1 << 24
_MOST_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class TopK:
    """Labels of some rows, the best first.

    Attributes
    ----------
    labels : ndarray of int, shape (n, k)
        Column numbers; -1 fills rows for which a model named fewer labels.
    scores : ndarray of float, shape (n, k)
        Falling along each row.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.floating]


def top_k(scores: NDArray[np.floating], k: int) -> TopK:
    """Return the k largest scores of each row; among equal ones the lower column comes first.

    Costs O(n c + n k log k) time.
    """
    n_labels = scores.shape[1]
    k = min(k, n_labels)
    if k < n_labels:
        least = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None].copy()
        kept = scores >= least
        # Of the labels at the smallest score that is kept, as many as there is room for, from the left.
        for row in np.flatnonzero(kept.sum(axis=1) > k):
            tied = np.flatnonzero(scores[row] == least[row])
            kept[row, tied[k - kept[row].sum() :]] = False
        labels = np.nonzero(kept)[1].reshape(-1, k)
    else:
        labels = np.broadcast_to(np.arange(n_labels), scores.shape)
    values = np.take_along_axis(scores, labels, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return TopK(np.take_along_axis(labels, order, axis=1), np.take_along_axis(values, order, axis=1))


def predict_top_k(model: Any, X: Any, k: int, n_labels: int) -> Iterator[tuple[slice, TopK]]:
    """Predict block by block.

    Parameters
    ----------
    model : classifier
        With ``predict_top_k(X, k)`` that gives labels and falling scores, both of shape (n, k), or else
        with ``predict_proba`` or ``decision_function`` that give scores of shape (n, n_labels).
    X : array or sparse array of shape (n, d)
        The rows.
    k : int
        How many labels for each row.
    n_labels : int
        Number of labels c.

    Yields
    ------
    tuple of slice and TopK
        Consecutive blocks of rows; one block's scores take at most 128 MB or one row.
    """
    own = getattr(model, "predict_top_k", None)
    width = k if own is not None else n_labels
    size = max(1, min(_MOST_ROWS_AT_ONCE, _SCORES_AT_ONCE // width))
    for rows in gen_batches(X.shape[0], size):
        if own is not None:
            yield rows, TopK(*own(X[rows], k))
        else:
            yield rows, top_k(_scores(model, X[rows], n_labels), k)


def _scores(model: Any, X: Any, n_labels: int) -> NDArray[np.floating]:
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    scores = np.asarray(getattr(model, method)(X))
    if scores.shape != (X.shape[0], n_labels):
        raise ValueError(
            f"{type(model).__name__}.{method} gave an array of shape {scores.shape} for {X.shape[0]} rows "
            f"and {n_labels} labels; a multilabel classifier gives one column for each label"
        )
    return scores
