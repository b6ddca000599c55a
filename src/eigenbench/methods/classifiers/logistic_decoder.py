"""Linear models of logits, trained by stochastic gradients on all labels or a sample."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.special import expit

from eigenbench.methods.classifiers.row_weights import mean_one
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import dense_block, row_slices

logger = logging.getLogger(__name__)

#: Bytes of the logits of one block at prediction: a fraction of a last-level cache, times the cores.
LOGIT_BYTES = 2**24

#: Decay of the running means of the gradient and of its square.
_MOMENTUM, _SCALE_MEMORY = 0.9, 0.99

#: Logits so far below the largest count as this: products with subnormal numbers take several times as long.
_LOWEST_LOGIT = -70

#: Bytes of the weights that a step changes at once: four arrays of them fit into a second-level cache.
_STEP_BYTES = 2**18


class Labels(NamedTuple):
    """Places of the stored elements of a CSR array (n, c): indices (m,), indptr (n + 1,)."""

    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]


@dataclass(frozen=True)
class Targets:
    """The labels of rows, stored elements of (n, c), and the rows' weights, None where all are one."""

    labels: sparse.csr_array | Labels
    weights: np.ndarray | None = None

    def __getitem__(self, rows: Any) -> Targets:
        """Return the targets of some rows; to index a `csr_array` takes longer than a step."""
        first = self.labels.indptr[:-1][rows]
        counts = self.labels.indptr[1:][rows] - first
        indptr = np.append(0, np.cumsum(counts))
        indices = self.labels.indices[np.repeat(first - indptr[:-1], counts) + np.arange(indptr[-1])]
        labels = Labels(indices, indptr, (len(counts), self.labels.shape[1]))
        return Targets(labels, None if self.weights is None else self.weights[rows])

    def normalised(self) -> Targets:
        """Return them with weights of mean one, so that sums over n rows divided by n are weighted means."""
        return Targets(self.labels, mean_one(self.weights))


class LabelledPart(NamedTuple):
    """Rows with labels and weights as they are given (for the embedding) and as they count in the loss."""

    X: Any
    Y: Any
    weights: np.ndarray | None
    targets: Targets

    def at(self, rows: np.ndarray) -> LabelledPart:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledPart(self.X[rows], self.Y[rows], weights, self.targets[rows])


def class_targets(codes: np.ndarray, n_classes: int) -> Targets:
    """Return class codes as targets."""
    return Targets(Labels(codes, np.arange(len(codes) + 1), (len(codes), n_classes)))


#: Returns the weighted sum of the losses of all rows and overwrites the logits (b, c) with its gradient.
LabelLoss = Callable[[np.ndarray, Targets], float]


def multinomial_loss(logits: np.ndarray, targets: Targets) -> float:
    r"""Return :math:`\sum_i w_i (\log \sum_j e^{f_{ij}} - f_{i y_i})`; overwrite f with its gradient."""
    labels, weights = targets.labels, targets.weights
    own = np.arange(len(logits)), labels.indices
    logits -= logits.max(axis=1, keepdims=True)
    own_logits = logits[own]
    np.maximum(logits, _LOWEST_LOGIT, out=logits)
    np.exp(logits, out=logits)
    totals = logits.sum(axis=1)
    logits /= totals[:, None]
    logits[own] -= 1
    if weights is None:
        return float(np.log(totals).sum(dtype=np.float64) - own_logits.sum(dtype=np.float64))
    logits *= weights.astype(logits.dtype)[:, None]
    return float(weights @ (np.log(totals) - own_logits))


def independent_loss(logits: np.ndarray, targets: Targets) -> float:
    r"""Return :math:`\sum_{ij} w_i (\log(1 + e^{f_{ij}}) - y_{ij} f_{ij})`; overwrite f with its gradient."""
    labels, weights = targets.labels, targets.weights
    own = np.repeat(np.arange(len(logits)), np.diff(labels.indptr)), labels.indices
    # log(1 + e^f) is log(1 + e^-|f|) and the positive part of f: several times as fast as `logaddexp`.
    part = np.abs(logits)
    np.log1p(np.exp(np.negative(part, out=part), out=part), out=part)
    losses = part.sum(axis=1, dtype=np.float64)
    losses += np.maximum(logits, 0, out=part).sum(axis=1, dtype=np.float64)
    factors = np.ones(len(logits)) if weights is None else weights
    loss = factors @ losses - factors[own[0]] @ logits[own]
    expit(logits, out=logits)
    logits[own] -= 1
    if weights is not None:
        logits *= weights.astype(logits.dtype)[:, None]
    return float(loss)


LOSSES: dict[str, LabelLoss] = {"multinomial": multinomial_loss, "independent": independent_loss}


class Features(Protocol):
    """Features of rows; those of some rows are a matrix that multiplies dense ones, as does its transpose."""

    n_rows: int
    n_features: int

    def __getitem__(self, rows: Any) -> Any:
        """Return the matrix of some rows, (b, D + 1), with a constant one at the end."""


class WhitenedFeatures:
    """Features (n, D) of rows in coordinates of about unit second moment, with a constant one at the end.

    They are kept if they fit into ``cache_size`` MB, else made again whenever they are asked for.
    """

    def __init__(self, X: Any, feature_map: Any, system: RidgeSystem, *, cache_size: float) -> None:
        self.X, self.feature_map, self.system = X, feature_map, system
        self.n_rows, self.n_features = X.shape[0], len(system.mean)
        self._kept: np.ndarray | None = None
        if 4 * self.n_rows * (self.n_features + 1) <= cache_size * 2**20:
            kept = np.empty((self.n_rows, self.n_features + 1), dtype=np.float32)
            for here in row_slices(self.n_rows, 8 * self.n_features, 2 * LOGIT_BYTES):
                kept[here] = self[here]
            self._kept = kept

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return the features of some rows, (b, D + 1), float32."""
        if self._kept is not None:
            return self._kept[rows]
        features = dense_block(self.feature_map.transform(self.X[rows]))
        out = np.ones((len(features), self.n_features + 1), dtype=np.float32)
        out[:, :-1] = self.system.whiten(features)
        return out


@dataclass
class StochasticDescent:
    """Adam with linearly decaying steps on the mean loss of minibatches, whose rows may have weights.

    In whitened coordinates the Hessian is that of the loss alone; scaling by the running size of each
    gradient entry makes up for labels of different frequency. Lengths fall linearly to zero over ``max_iter``
    epochs; the last row of ``weights`` (D + 1, c) holds the intercepts.
    """

    loss: LabelLoss
    learning_rate: float
    batch_size: int
    max_iter: int
    weights: np.ndarray
    _mean: np.ndarray = field(init=False)
    _square: np.ndarray = field(init=False)
    _step: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._mean, self._square = np.zeros_like(self.weights), np.zeros_like(self.weights)

    def epochs(self, features: Features, targets: Targets, rng: np.random.RandomState) -> Iterator[float]:
        """Go over the rows in random order up to ``max_iter`` times, yielding the mean loss seen."""

        def minibatches() -> Iterator[tuple[Any, Targets]]:
            order = rng.permutation(features.n_rows)
            shuffled = targets[order]
            for start in range(0, features.n_rows, self.batch_size):
                batch = slice(start, start + self.batch_size)
                yield features[order[batch]], shuffled[batch]

        return self.passes(minibatches, features.n_rows)

    def passes(
        self, minibatches: Callable[[], Iterable[tuple[Any, Targets]]], n_rows: int
    ) -> Iterator[float]:
        """Take a step for each minibatch of a pass, in ``max_iter`` passes; yield the mean loss of each."""
        n_steps = self.max_iter * -(-n_rows // self.batch_size)
        for _ in range(self.max_iter):
            total = 0.0
            for features, targets in minibatches():
                total += self._step_on(features, targets, self.learning_rate * (1 - self._step / n_steps))
            yield total / n_rows

    def _step_on(self, features: Any, targets: Targets, length: float) -> float:
        """Take a step of this length on a minibatch, and return the sum of its losses before it."""
        residual = features @ self.weights
        loss = self.loss(residual, targets)
        gradient = features.T @ residual
        gradient /= len(residual)
        self._step += 1
        adam_step(self._mean, self._square, gradient, self._step, length)
        self.weights -= gradient
        return loss


def adam_step(mean: np.ndarray, square: np.ndarray, gradient: np.ndarray, step: int, length: float) -> None:
    """Turn a gradient into the change of the weights, and bring the running means up to date, all in place.

    Adam (Kingma and Ba, ICLR 2015, Algorithm 1): the mean over the root of the mean square, both corrected
    for having begun at zero ``step`` steps ago.
    """
    length *= np.sqrt(1 - _SCALE_MEMORY**step) / (1 - _MOMENTUM**step)
    for rows in row_slices(len(mean), gradient.itemsize * gradient.shape[1], _STEP_BYTES):
        first, second, change = mean[rows], square[rows], gradient[rows]
        first *= _MOMENTUM
        first += (1 - _MOMENTUM) * change
        change *= change
        second *= _SCALE_MEMORY
        second += (1 - _SCALE_MEMORY) * change
        np.sqrt(second, out=change)
        change += 1e-8
        np.divide(first, change, out=change)
        change *= np.float32(length)


class Descended(NamedTuple):
    """The weights of the best epoch, its number, and the mean losses after each epoch."""

    weights: np.ndarray
    best_epoch: int
    losses: np.ndarray
    held_out_losses: np.ndarray


def descend(
    descent: StochasticDescent,
    epochs: Iterable[float],
    *,
    n_epochs: int,
    held_out_loss: Callable[[], float] | None,
    patience: int,
) -> Descended:
    """Go through ``n_epochs`` epochs, or until ``patience`` have brought no better held-out loss.

    Without ``held_out_loss`` the last epoch is the best, and the held-out losses are NaN.
    """
    losses: list[float] = []
    held_out_losses: list[float] = []
    best, best_epoch = descent.weights, n_epochs
    for epoch, value in enumerate(epochs, 1):
        losses.append(value)
        held_out_losses.append(np.nan if held_out_loss is None else held_out_loss())
        logger.info("epoch %d/%d: loss %.5f, held out %.5f", epoch, n_epochs, value, held_out_losses[-1])
        if held_out_loss is not None and held_out_losses[-1] <= min(held_out_losses):
            best, best_epoch = descent.weights.copy(), epoch
        if epoch == n_epochs or epoch - best_epoch >= patience:
            break
    return Descended(best, best_epoch, np.array(losses), np.array(held_out_losses))


def mean_loss(loss: LabelLoss, weights: np.ndarray, features: Features, targets: Targets) -> float:
    """Return the mean loss of rows, whose logits are made in blocks."""
    total = 0.0
    for here in row_slices(features.n_rows, 4 * max(weights.shape), LOGIT_BYTES):
        total += loss(features[here] @ weights, targets[here])
    return total / features.n_rows


def prior_logits(targets: Targets, *, multinomial: bool) -> np.ndarray:
    """Return the logits (c,) of the label frequencies, each with one half more, where descent starts."""
    labels, (n, c) = targets.labels, targets.labels.shape
    weights = None if targets.weights is None else np.repeat(targets.weights, np.diff(labels.indptr))
    counts = np.bincount(labels.indices, weights, minlength=c)
    others = n + 0.5 * c if multinomial else n - counts + 0.5
    return np.log((counts + 0.5) / others)


@dataclass
class SampledDescent(StochasticDescent):
    r"""As `StochasticDescent`, with one label a row, of whose classes each minibatch sees some.

    A minibatch sees the labels C of its rows and ``n_sampled`` drawn from all c. The sum over all labels
    :math:`\sum_j e^{f_j}` is replaced by :math:`e^{f_y} + \sum_{j \in C, j \ne y} e^{f_j} / \pi_j`, where
    :math:`\pi_j = 1 - (1 - p_j)^b (1 - s / c)` is the chance of label j to be seen; that has the same mean
    (Y. Bengio and J.-S. Senécal, "Adaptive importance sampling to accelerate training of a neural
    probabilistic language model", IEEE Transactions on Neural Networks 19, 2008). The weights of labels that
    are not seen, and the running means of their gradients, stay as they are. ``weights`` are in Fortran
    order.
    """

    n_sampled: int
    label_shares: np.ndarray
    _rng: np.random.RandomState = field(init=False)
    _log_chances: np.ndarray = field(init=False)

    def epochs(self, features: Features, targets: Targets, rng: np.random.RandomState) -> Iterator[float]:
        """Go over the rows in random order up to ``max_iter`` times, yielding the mean estimated loss."""
        self._rng, self._log_chances = rng, self._log_chances_of(min(self.batch_size, features.n_rows))
        return super().epochs(features, targets, rng)

    def _log_chances_of(self, batch_size: int) -> np.ndarray:
        unseen = (1 - self.label_shares) ** batch_size * (1 - self.n_sampled / len(self.label_shares))
        return np.log(1 - unseen).astype(np.float32)

    def _step_on(self, features: Any, targets: Targets, length: float) -> float:
        drawn = self._rng.permutation(len(self.label_shares))[: self.n_sampled]
        codes = targets.labels.indices
        seen = np.union1d(codes, drawn)
        own = np.searchsorted(seen, codes)
        logits = features @ self.weights.T[seen].T
        logits -= self._log_chances[seen]
        logits[np.arange(len(own)), own] += self._log_chances[codes]
        loss = multinomial_loss(logits, Targets(class_targets(own, len(seen)).labels, targets.weights))
        gradient = logits.T @ features
        gradient /= len(features)
        self._step += 1
        mean, square = self._mean.T[seen], self._square.T[seen]
        adam_step(mean, square, gradient, self._step, length)
        self._mean.T[seen], self._square.T[seen] = mean, square
        self.weights.T[seen] -= gradient
        return loss


def descent_on_labels(
    loss: LabelLoss,
    learning_rate: float,
    batch_size: int,
    max_iter: int,
    weights: np.ndarray,
    targets: Targets,
    n_sampled: int | None,
) -> StochasticDescent:
    """Return the descent from some weights on all labels, or on a sample if so many are fewer than all."""
    n_rows, n_labels = targets.labels.shape
    if n_sampled is None or n_sampled >= n_labels:
        return StochasticDescent(loss, learning_rate, batch_size, max_iter, weights)
    shares = np.bincount(targets.labels.indices, minlength=n_labels) / n_rows
    weights = np.asfortranarray(weights)
    return SampledDescent(loss, learning_rate, batch_size, max_iter, weights, n_sampled, shares)
