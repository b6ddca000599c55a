"""Stochastic descent on the softmax of some labels, which stands for that of very many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eigenbench.methods.classifiers.label_losses import Targets, class_targets, multinomial_loss
from eigenbench.methods.classifiers.logistic_decoder import Features, StochasticDescent, adam_step


@dataclass
class SampledDescent(StochasticDescent):
    r"""As `StochasticDescent`, with one label a row, of whose classes each minibatch sees some.

    A minibatch sees the labels C of its rows and ``n_sampled`` drawn from all c. The sum over all labels
    :math:`\sum_j e^{f_j}` is replaced by :math:`e^{f_y} + \sum_{j \in C, j \ne y} e^{f_j} / \pi_j`, where
    :math:`\pi_j = 1 - (1 - p_j)^b (1 - s / c)` is the chance of label j to be seen; that has the same mean.
    The weights of labels that are not seen, and the running means of their gradients, stay as they are.

    Attributes
    ----------
    weights : ndarray of shape (D + 1, c), float32
        In Fortran order, so that the weights of a label lie together.
    n_sampled : int
        Labels s drawn for each minibatch.
    label_shares : ndarray of shape (c,)
        Shares p of the labels among the rows.

    References
    ----------
    Y. Bengio and J.-S. Senécal, "Adaptive importance sampling to accelerate training of a neural
    probabilistic language model", IEEE Transactions on Neural Networks 19 (2008).
    """

    n_sampled: int
    label_shares: np.ndarray

    def epochs(self, features: Features, targets: Targets, rng: np.random.RandomState) -> Iterator[float]:
        """Go over the rows in random order up to ``max_iter`` times, yielding the mean estimated loss."""
        n_labels = len(self.label_shares)
        log_chances = self._log_chances(min(self.batch_size, features.n_rows))
        n_steps = self.max_iter * -(-features.n_rows // self.batch_size)
        for _ in range(self.max_iter):
            order, total = rng.permutation(features.n_rows), 0.0
            for start in range(0, features.n_rows, self.batch_size):
                batch = order[start : start + self.batch_size]
                drawn = rng.permutation(n_labels)[: self.n_sampled]
                length = self.learning_rate * (1 - self._step / n_steps)
                total += self._step_on(features[batch], targets[batch], drawn, log_chances, length)
            yield total / features.n_rows

    def _log_chances(self, batch_size: int) -> np.ndarray:
        unseen = (1 - self.label_shares) ** batch_size * (1 - self.n_sampled / len(self.label_shares))
        return np.log(1 - unseen).astype(np.float32)

    def _step_on(
        self, F: np.ndarray, targets: Targets, drawn: np.ndarray, log_chances: np.ndarray, length: float
    ) -> float:
        codes = targets.labels.indices
        seen = np.union1d(codes, drawn)
        own = np.searchsorted(seen, codes)
        logits = F @ self.weights.T[seen].T
        logits -= log_chances[seen]
        logits[np.arange(len(own)), own] += log_chances[codes]
        loss = multinomial_loss(logits, Targets(class_targets(own, len(seen)).labels, targets.weights))
        gradient = logits.T @ F
        gradient /= len(F)
        self._update_labels(seen, gradient, length)
        return loss

    def _update_labels(self, seen: np.ndarray, gradient: np.ndarray, length: float) -> None:
        """Take a step of Adam with the weights of some labels; ``gradient`` (s, D + 1) is overwritten."""
        self._step += 1
        mean, square = self._mean.T[seen], self._square.T[seen]
        adam_step(mean, square, gradient, self._step, length)
        self._mean.T[seen], self._square.T[seen] = mean, square
        self.weights.T[seen] -= gradient
