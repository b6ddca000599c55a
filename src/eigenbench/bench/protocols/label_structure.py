"""Arrangement of the labels by a label embedding: siblings among nearest neighbours, and its spectrum."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from eigenbench.bench.protocols.base import Outcome, ProtocolSettings, Trial


class LabelStructureSettings(ProtocolSettings):
    """The hierarchy, and the labels that are looked at.

    ``hierarchy`` is ``stored`` (the dataset has a graph of its labels) or ``rcv1_codes`` (their names are
    Reuters' topic codes, which spell it). Labels of fewer than ``min_rows`` training rows are left out.
    """

    headline: ClassVar[str] = "sibling_fraction"

    hierarchy: Literal["stored", "rcv1_codes"] = "stored"
    min_rows: int = Field(default=1, ge=1)

    def work(self, rows: int, features: int) -> int:
        """Estimate the numbers that one measurement computes on: those of one pass over the rows."""
        return rows * features

    def metrics(self) -> tuple[str, ...]:
        """Return the names of the shares of siblings, and of the number of labels."""
        return ("sibling_fraction", "cosine_sibling_fraction", "most_fraternal_fraction", "labels")


def measure(trial: Trial) -> Outcome:
    """Fit the embedding to the training rows and look at its rows.

    The last step of the method is a label embedding, with ``embedding_`` of shape (c, k).

    ``sibling_fraction``, the share of labels whose nearest neighbour is a sibling, by Euclidean distance
    between rows of the embedding, ``cosine_sibling_fraction``, by the angle between them, and
    ``most_fraternal_fraction``, the same share when everybody's neighbour is the label with most siblings;
    ``labels``, how many there are. The curve ``eigenvalues`` has the squared singular values that the
    embedding found, divided by the number of rows: for PLST the spectrum of the label covariance.

    Raises a ValueError if the dataset has no graph of its labels, or their names do not spell one.
    """
    from eigenbench.methods.metrics.label_graph import (
        most_fraternal_fraction,
        parent_matrix,
        sibling_fraction,
    )

    settings: LabelStructureSettings = trial.settings
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
        metrics, curves if len(eigenvalues) else {}, dimension=fitted.embedding_.shape[1], fit_seconds=seconds
    )


def _edges(dataset: Any, settings: LabelStructureSettings) -> Any:
    if settings.hierarchy == "rcv1_codes":
        from eigenbench.methods.metrics.label_graph import rcv1_edges

        return rcv1_edges(dataset.classes)
    if dataset.label_edges is None:
        raise ValueError(
            f"{dataset.name} has no graph of its labels; for Reuters' topics set hierarchy: rcv1_codes"
        )
    return dataset.label_edges
