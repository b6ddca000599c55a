"""Decoder of label embeddings: stochastic steps on the log loss, whose length held-out rows find."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from eigenbench.methods.classifiers.logistic_decoder import (
    LOSSES,
    Descended,
    Targets,
    WhitenedFeatures,
    descend,
    descent_on_labels,
    mean_loss,
    prior_logits,
)
from eigenbench.methods.classifiers.stochastic_logistic import (
    EARLY_PASSES,
    FEW_ROWS_RIDGE,
    MANY_ROWS_RIDGE,
    RESTARTS,
    ROWS_PER_FEATURE,
)

#: By default: the first step length, and twice the least length of all steps together, which few rows need.
FIRST_STEP, FEW_STEPS_LENGTH = 0.03, 5.0

#: Rows of a minibatch for many rows; step lengths are given for it.
LARGEST_BATCH = 512

#: Features of rows, and their labels.
Rows = tuple[WhitenedFeatures, Targets]


class Choice(NamedTuple):
    """The ridge of the whitening, the part of the first step length to begin with, and the epochs."""

    ridge: float
    part: float
    n_epochs: int


@dataclass(frozen=True)
class LabelDecoder:
    """Settings of a descent; see `eigenbench.LabelEmbeddingClassifier`."""

    loss: str
    max_iter: int
    learning_rate: float | str
    batch_size: int | str
    sampled_labels: int | None
    n_iter_no_change: int

    def chosen(self, rows: Rows, held_out: Rows, seed: int) -> tuple[Descended, float]:
        """Descend, again with a quarter of the length while the least held-out loss is early and falls.

        Returns also the part of the first step length that it began with.
        """
        part = 1.0
        found = self.descended(rows, held_out, self.max_iter, seed)
        for _ in range(RESTARTS if self.learning_rate == "auto" else 0):
            if found.best_epoch > EARLY_PASSES:
                break
            again = self.descended(rows, held_out, self.max_iter, seed, part / 4)
            if not _least_loss(again) < _least_loss(found):
                break
            found, part = again, part / 4
        return found, part

    def descended(
        self, rows: Rows, held_out: Rows | None, n_epochs: int, seed: int, part: float = 1.0
    ) -> Descended:
        """Descend from the label frequencies with this part of the first step length."""
        features, targets = rows
        auto = min(max(features.n_rows // 200, 32), LARGEST_BATCH)
        batch_size = auto if self.batch_size == "auto" else int(self.batch_size)
        shrinkage = (batch_size / LARGEST_BATCH) ** 0.5
        least = FEW_STEPS_LENGTH / (self.max_iter * -(-features.n_rows // batch_size))
        auto_length = max(FIRST_STEP * shrinkage, least)
        length = auto_length if self.learning_rate == "auto" else float(self.learning_rate) * shrinkage
        loss = LOSSES[self.loss]
        weights = np.zeros((features.n_features + 1, targets.labels.shape[1]), dtype=np.float32)
        weights[-1] = prior_logits(targets, multinomial=self.loss == "multinomial")
        steps = (part * length, batch_size, self.max_iter)
        descent = descent_on_labels(loss, *steps, weights, targets, self.sampled_labels)
        return descend(
            descent,
            descent.epochs(features, targets, np.random.RandomState(seed)),
            n_epochs=n_epochs,
            held_out_loss=partial(mean_loss, loss, descent.weights, *held_out) if held_out else None,
            patience=self.n_iter_no_change,
        )


def _least_loss(found: Descended) -> float:
    return float(found.held_out_losses[found.best_epoch - 1])


def whitening_ridge(n_rows: int, n_features: int) -> float:
    """Return the ridge of the whitening, in units of the mean variance of a feature.

    Directions of small variance are mostly noise and are not blown up, nor are most where features are many
    for the rows.
    """
    if n_rows >= ROWS_PER_FEATURE * n_features:
        return MANY_ROWS_RIDGE
    return FEW_ROWS_RIDGE * min(1.0, n_features / n_rows)
