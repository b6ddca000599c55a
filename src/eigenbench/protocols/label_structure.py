"""How a label embedding arranges the labels: siblings among nearest neighbours, and its spectrum."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from eigenbench.metrics.label_graph import (
    most_fraternal_fraction,
    parent_matrix,
    rcv1_edges,
    sibling_fraction,
)
from eigenbench.protocols.base import Outcome, Trial
from eigenbench.protocols.settings.label_structure import Settings


def measure(trial: Trial) -> Outcome:
    """Fit the embedding to the training rows and look at its rows.

    The last step of the method is a label embedding, with ``embedding_`` of shape (c, k).

    Returns
    -------
    Outcome
        ``sibling_fraction``, the share of labels whose nearest neighbour is a sibling, by Euclidean distance
        between rows of the embedding, ``cosine_sibling_fraction``, by the angle between them, and
        ``most_fraternal_fraction``, the same share when everybody's neighbour is the label with most
        siblings; ``labels``, how many there are. The curve ``eigenvalues`` has the squared singular values
        that the embedding found, divided by the number of rows: for PLST the spectrum of the label
        covariance.

    Raises
    ------
    ValueError
        If the dataset has no graph of its labels, or their names do not spell one.
    """
    settings: Settings = trial.settings
    dataset = trial.data()
    labels = np.flatnonzero(
        np.bincount(dataset.y_train.indices, minlength=len(dataset.classes)) >= settings.min_rows
    )
    parents = parent_matrix(_edges(dataset, settings), len(dataset.classes))[labels]
    pipeline = trial.build()
    started = time.perf_counter()
    pipeline.fit(dataset.X_train, dataset.y_train[:, labels])
    seconds = time.perf_counter() - started
    fitted = pipeline[-1]
    metrics = {
        "sibling_fraction": sibling_fraction(fitted.embedding_, parents),
        "cosine_sibling_fraction": sibling_fraction(fitted.embedding_, parents, metric="cosine"),
        "most_fraternal_fraction": most_fraternal_fraction(parents),
        "labels": float(len(labels)),
    }
    eigenvalues = np.square(getattr(fitted, "singular_values_", ())) / dataset.X_train.shape[0]
    curves = {"eigenvalues": [(i, float(value)) for i, value in enumerate(eigenvalues, 1)]}
    return Outcome(
        metrics,
        curves if len(eigenvalues) else {},
        dimension=fitted.embedding_.shape[1],
        fit_seconds=seconds,
    )


def _edges(dataset: Any, settings: Settings) -> Any:
    if settings.hierarchy == "rcv1_codes":
        return rcv1_edges(dataset.classes)
    if dataset.label_edges is None:
        raise ValueError(
            f"{dataset.name} has no graph of its labels; for Reuters' topics set hierarchy: rcv1_codes"
        )
    return dataset.label_edges
