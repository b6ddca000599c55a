"""Penalised log loss on whitened features, and its minimisation by L-BFGS."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from eigenbench.methods.linalg.ridge_system import RidgeSystem

logger = logging.getLogger(__name__)

#: Pairs of steps and gradient differences that L-BFGS remembers.
MEMORY = 10

#: Penalty of a sampled second moment relative to the mean variance of a feature: it bounds what the rows that
#: are not in the sample can have along directions that are almost constant in it.
SAMPLE_RIDGE = 1e-3


class Evaluation(NamedTuple):
    """One point and what a pass over the data says of it; the gradient is in whitened coordinates."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    held_out_loss: float
    uniform_loss: float
    gradient: np.ndarray


class Descent(NamedTuple):
    """The best point of a descent, its position, and the losses of all."""

    best: Evaluation
    best_iter: int
    losses: list[float]
    held_out_losses: list[float]
    converged: bool


def descend(
    objective: LogisticObjective,
    start: Evaluation | None,
    max_iter: int,
    tol: float,
    patience: int | None = None,
) -> Descent:
    """Follow L-BFGS from weights and intercepts, or from zero, to the optimum.

    With ``patience`` and held-out rows the best point is that of the smallest held-out loss, and so many
    points without a better one end the descent; else it is the last one.
    """
    points: list[Evaluation] = []
    losses: list[float] = []
    held_out_losses: list[float] = []
    best_iter, converged = 0, False
    watches = patience is not None and objective.n_held_out > 0

    def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best_iter, converged
        here, iteration = objective.evaluate(flat.reshape(objective.shape)), len(losses)
        losses.append(here.objective)
        held_out_losses.append(here.held_out_loss)
        logger.info(
            "iteration %d: loss %.5f, held-out loss %.5f", iteration, here.objective, here.held_out_loss
        )
        scores = held_out_losses if watches else losses
        if scores[-1] < scores[best_iter] or not points:
            points[:], best_iter = [here], iteration
        waited = watches and iteration - best_iter >= (patience or 0)
        converged = waited or np.vdot(here.gradient, here.gradient) <= tol
        if converged or iteration == max_iter:
            raise _Ended
        return here.objective, here.gradient.ravel()

    limits = {"maxiter": max_iter, "maxfun": max_iter + 1, "maxcor": MEMORY, "ftol": 0, "gtol": 0}
    with suppress(_Ended):
        minimize(evaluate, objective.start(start).ravel(), jac=True, method="L-BFGS-B", options=limits)
        converged = True
    return Descent(points[0], best_iter, losses, held_out_losses, bool(converged))


class _Ended(Exception):
    """No further point is to be evaluated."""


class LogisticObjective:
    """Penalised weighted mean log loss over the rows that are not held out, on whitened features.

    There the Hessian is at most about ½ I, for the weights and for the intercept.
    """

    def __init__(
        self,
        sum_rows: Callable[[Callable[[], _LossAndGradient]], _LossAndGradient],
        shape: tuple[int, int],
        dtype: np.dtype,
        row_weights: tuple[float, float],
        moment: RidgeSystem,
        ridge: float,
    ) -> None:
        self._sum_rows, self._dtype = sum_rows, dtype
        n_features, self._n_classes = shape
        self.shape = (n_features + 1, self._n_classes)
        self._n_train, self.n_held_out = row_weights
        self._moment, self._ridge, self._fit_intercept = moment, ridge, moment.fit_intercept
        self._alpha, self._system = 0.0, moment

    @property
    def n_rows(self) -> float:
        """Rows in all, or the sum of their weights."""
        return self._n_train + self.n_held_out

    def at(self, C: float) -> LogisticObjective:
        """Return it with a penalty, whitened by the second moment of all rows or of a sample of them."""
        found = copy.copy(self)
        # Two classes share one weight vector in LogisticRegression: ½‖w‖² is ‖W‖² for W = [−w/2, w/2].
        found._alpha = (2 if self._n_classes == 2 else 1) / (C * self._n_train)
        ridge = SAMPLE_RIDGE if np.isinf(C) else self._ridge
        n_rows = self._moment.n_rows
        found._system = copy.deepcopy(self._moment).factor(ridge * n_rows, absolute=2 * found._alpha * n_rows)
        return found

    def start(self, point: Evaluation | None) -> np.ndarray:
        """Return the weights and intercepts of a point in whitened coordinates; zeros without any."""
        if point is None:
            return np.zeros(self.shape)
        coef, intercept = point.coef, point.intercept
        constant = intercept + self._system.mean @ coef if self._fit_intercept else np.zeros_like(intercept)
        return np.vstack([self._system.whitened_coef(coef), constant]).astype(np.float64)

    def evaluate(self, weights: np.ndarray) -> Evaluation:
        """Return losses and gradient at weights (D + 1, c) of whitened features and a constant."""
        coef, shift = self._system.unwhiten(weights[:-1])
        intercept = weights[-1] + shift if self._fit_intercept else np.zeros(self.shape[1])
        start = partial(_LossAndGradient, coef.astype(self._dtype), intercept)
        found = self._sum_rows(start)
        total = found.total / self._n_train
        gradient = self._system.whitened_cross(found.cross / self._n_train + self._alpha * coef, total)
        constant = total if self._fit_intercept else np.zeros_like(total)
        return Evaluation(
            coef=coef,
            intercept=intercept,
            objective=found.losses[0] / self._n_train + 0.5 * self._alpha * float(np.vdot(coef, coef)),
            held_out_loss=found.losses[1] / self.n_held_out if self.n_held_out else np.nan,
            uniform_loss=found.losses[2] / self.n_held_out if self.n_held_out else np.nan,
            gradient=np.vstack([gradient, constant]).astype(np.float64),
        )


class _LossAndGradient:
    """Sums over rows: the log loss (training, held out), and its gradient over the training rows."""

    def __init__(self, weights: np.ndarray, shift: np.ndarray) -> None:
        self._weights, self._shift = weights, shift
        self.cross, self.total, self.losses = np.zeros(weights.shape), np.zeros(len(shift)), np.zeros(3)

    def add(
        self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray, weights: np.ndarray | None = None
    ) -> None:
        row_losses, uniform, residual = _log_losses(block @ self._weights + self._shift, codes)
        if weights is not None:
            row_losses *= weights
            uniform *= weights
            residual *= weights[:, None]
        self.losses += row_losses[~held_out].sum(), row_losses[held_out].sum(), uniform[held_out].sum()
        residual[held_out] = 0
        self.cross += block.T @ residual.astype(block.dtype)
        self.total += residual.sum(axis=0)

    def merge(self, other: _LossAndGradient) -> None:
        self.cross += other.cross
        self.total += other.total
        self.losses += other.losses


def _log_losses(logits: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log loss of each row, its mean over all classes, and the gradient of the former.

    The logits are overwritten with the gradient.
    """
    own = np.arange(len(codes)), codes
    logits -= logits.max(axis=1, keepdims=True)
    own_logits, mean = logits[own], logits.mean(axis=1)
    gradient = np.exp(logits, out=logits)
    total = gradient.sum(axis=1)
    gradient /= total[:, None]
    gradient[own] -= 1
    log_total = np.log(total)
    return log_total - own_logits, log_total - mean, gradient
