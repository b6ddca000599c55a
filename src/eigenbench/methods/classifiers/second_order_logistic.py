"""Multinomial logistic regression by L-BFGS, preconditioned by the second moment of the features."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from eigenbench.methods.classifiers.partitioned_fit import PartitionedFit, PartitionedRows
from eigenbench.methods.classifiers.streamed import EarlyStopping, StreamedClassifier
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import FeatureBlocks

logger = logging.getLogger(__name__)


#: Pairs of steps and gradient differences that L-BFGS remembers.
MEMORY = 10

#: Rows of the preconditioner's sample, where there are not more for each feature.
SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE = 10_000, 2

#: Penalty of a sampled second moment relative to the mean variance of a feature: it bounds what the rows that
#: are not in the sample can have along directions that are almost constant in it.
SAMPLE_RIDGE = 1e-3


class _Evaluation(NamedTuple):
    """One point and what a pass over the data says of it; the gradient is in whitened coordinates."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    held_out_loss: float
    gradient: np.ndarray


class SecondOrderLogistic(PartitionedFit, EarlyStopping, StreamedClassifier):
    r"""Multinomial logistic regression by L-BFGS on whitened features.

    Minimises :math:`C \sum_i \ell(y_i, f_i) + \frac12 \|W\|^2`, the objective of scikit-learn's
    ``LogisticRegression``. The Hessian is at most ½ Σ for every class, with Σ the second moment of the
    features (Böhning's bound), so one Cholesky factor of it, or of that of a sample of rows, preconditions
    all steps, as in [1]_. Where the bound is loose, for rows that are classified with confidence, the
    quasi-Newton steps of L-BFGS-B [2]_ make up for it. A stratified part of the rows is held out to choose
    the iterate.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, as in ``LogisticRegression``; the intercept is not penalised.
    max_iter : int, default=100
        Largest number of passes over the data after the first.
    tol : float, default=1e-6
        Stop when the bound on the Hessian says that no step lowers the mean loss by more than this, in nats.
    early_stopping : bool, default=True
        Whether to hold out rows, return the iterate of smallest held-out loss, and stop when it no longer
        improves. When no class has two rows to share, nothing is held out.
    validation_fraction : float, default=0.1
        Share of the rows that is held out.
    n_iter_no_change : int, default=10
        Stop after this many iterations without a better held-out loss.
    preconditioner_rows : int or "auto", default="auto"
        Rows of the sample, drawn at random, whose second moment is the preconditioner; all rows if there are
        fewer. "auto" takes two for each feature, but at least 10,000.
    feature_map : transformer or None, default=None
        Maps the rows of X to features; a clone is fitted in ``fit``, on the rows that are not held out.
        Wrap a map that is fitted already in :class:`sklearn.frozen.FrozenEstimator` to use it as it is; if
        it saw the labels of rows that are held out here, their loss is optimistic and the fit stops late.
        It must treat each row alone.
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    cache_size : float, default=1000
        Memory for feature blocks kept between passes, in MB. Blocks beyond it are computed again in every
        pass; the result does not depend on it.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the loss, which multiply those of their rows; "balanced" makes those of all
        classes add up to the same. The feature map does not get them.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out rows and of the sample.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (c, D), float64
        Weights.
    intercept_ : ndarray of shape (c,), float64
        Intercepts.
    n_iter_ : int
        Number of points evaluated, one pass over the data each.
    best_iter_ : int
        Position in the curves of the point that was kept.
    loss_curve_ : ndarray of shape (n_iter,)
        Mean log loss plus penalty on the rows trained on, in nats, at each point.
    validation_curve_ : ndarray of shape (n_iter,)
        Mean log loss on the held-out rows; NaN when nothing is held out.
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time: m·D² + D³/3 flops once, with m the rows of the preconditioner, then per iteration 4·n·D·c + 2·D²·c
    and the feature map over blocks that are not kept. Memory: 4·D² bytes (float32 features), ``cache_size``,
    some row blocks, and 200·D·c bytes. The preconditioner takes in held-out rows too, without labels; this
    only changes the path. In ``fit_partitions`` it is of all rows, and the held-out rows are drawn from each
    block for itself; nothing is kept between passes.

    With weights w the objective is :math:`C \sum_i w_i \ell(y_i, f_i) + \frac12 \|W\|^2`, and rows are held
    out as without: whole weights give the result of repeated rows, to rounding, if nothing is held out.

    References
    ----------
    .. [1] A. Agarwal, S. Kakade, N. Karampatziakis, L. Song and G. Valiant, "Least squares revisited:
       scalable approaches for multi-class prediction", ICML 2014.
    .. [2] C. Zhu, R. H. Byrd, P. Lu and J. Nocedal, "Algorithm 778: L-BFGS-B", ACM Transactions on
       Mathematical Software 23, 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenbench import SecondOrderLogistic
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SecondOrderLogistic(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamedClassifier._parameter_constraints,
        **EarlyStopping._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "preconditioner_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        preconditioner_rows: int | str = "auto",
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float = 1000,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.preconditioner_rows = preconditioner_rows
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        rng = check_random_state(self.random_state)
        held_out = self._held_out(codes, rng)
        if held_out.any() and self.feature_map is not None:
            seen = None if weights is None else weights[~held_out]
            self._fit_map(X[~held_out], self.classes_[codes[~held_out]], seen)
        else:
            self._fit_map(X, self.classes_[codes], weights)
        blocks = FeatureBlocks(X, self.feature_map_, cache_size=self.cache_size)
        weighed = self._weighed(codes, weights)
        rows = (codes, held_out) if weighed is None else (codes, held_out, weighed)
        ones = np.ones(len(codes), dtype=np.int64) if weighed is None else weighed
        objective = _Objective(
            lambda start: accumulate(blocks, start, *rows),
            (blocks.n_features, len(self.classes_)),
            blocks.dtype,
            (ones[~held_out].sum(), ones[held_out].sum()),
            self.C,
            self.fit_intercept,
        )
        sample, *sample_weights = self._sampled(blocks, weighed, rng)
        start = partial(RidgeSystem, sample.n_features, sample.dtype, fit_intercept=self.fit_intercept)
        label = f"Gram matrix ({sample.n_features} features)"
        system = accumulate(sample, start, *sample_weights, label=label)
        objective.precondition(system, ridge=0.0 if sample is blocks else SAMPLE_RIDGE)
        self._minimise(objective)

    def _fit_sums(self, rows: PartitionedRows) -> None:
        held_out = None
        if self.early_stopping:
            seed = check_random_state(self.random_state).randint(2**31)
            held_out = self.validation_fraction, int(seed)
        start = partial(_CountedGram, rows.n_features, rows.dtype, fit_intercept=self.fit_intercept)
        found = rows.sum(start, label=f"Gram matrix ({rows.n_features} features)", held_out=held_out)
        objective = _Objective(
            partial(rows.sum, held_out=held_out),
            (rows.n_features, len(rows.classes)),
            rows.dtype,
            (rows.n_rows - found.n_held_out, found.n_held_out),
            self.C,
            self.fit_intercept,
        )
        objective.precondition(found.system, ridge=0.0)
        self._minimise(objective)

    def _sampled(
        self, blocks: FeatureBlocks, weights: np.ndarray | None, rng: np.random.RandomState
    ) -> tuple[Any, ...]:
        """Return the features that make the preconditioner, and the weights of their rows, if any."""
        size = self.preconditioner_rows
        if size == "auto":
            size = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE * blocks.n_features)
        if size >= blocks.n_rows:
            return (blocks,) if weights is None else (blocks, weights)
        rows = np.sort(rng.permutation(blocks.n_rows)[: int(size)])
        sample = FeatureBlocks(blocks.X[rows], self.feature_map_)
        return (sample,) if weights is None else (sample, weights[rows])

    def _minimise(self, objective: _Objective) -> None:
        """Follow L-BFGS and keep the best point that it evaluates."""
        best = np.inf
        losses: list[float] = []
        held_out_losses: list[float] = []

        def evaluate(flat: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            here, iteration = objective.evaluate(flat.reshape(objective.shape)), len(losses)
            losses.append(here.objective)
            held_out_losses.append(here.held_out_loss)
            logger.info(
                "iteration %d: loss %.5f, held-out loss %.5f", iteration, here.objective, here.held_out_loss
            )
            score = here.held_out_loss if objective.holds_out else here.objective
            if score < best:
                best, self.best_iter_ = score, iteration
                self.coef_, self.intercept_ = here.coef.T.astype(np.float64), here.intercept
            waited = objective.holds_out and iteration - self.best_iter_ >= self.n_iter_no_change
            if waited or iteration == self.max_iter or np.vdot(here.gradient, here.gradient) <= self.tol:
                raise _Ended
            return here.objective, here.gradient.ravel()

        limits = {
            "maxiter": self.max_iter,
            "maxfun": self.max_iter + 1,
            "maxcor": MEMORY,
            "ftol": 0,
            "gtol": 0,
        }
        with suppress(_Ended):
            minimize(evaluate, np.zeros(objective.shape).ravel(), jac=True, method="L-BFGS-B", options=limits)
        self.n_iter_ = len(losses)
        self.loss_curve_, self.validation_curve_ = np.array(losses), np.array(held_out_losses)


class _Ended(Exception):
    """No further point is to be evaluated."""


class _Objective:
    """Penalised weighted mean log loss over the rows that are not held out, on whitened features.

    There the Hessian is at most about ½ I, for the weights and for the intercept.
    """

    def __init__(
        self,
        sum_rows: Callable[[Callable[[], _LossAndGradient]], _LossAndGradient],
        shape: tuple[int, int],
        dtype: np.dtype,
        row_weights: tuple[float, float],
        C: float,
        fit_intercept: bool,
    ) -> None:
        self._sum_rows, self._dtype = sum_rows, dtype
        n_features, n_classes = shape
        self.shape = (n_features + 1, n_classes)
        self._n_train, self._n_held_out = row_weights
        self._fit_intercept = fit_intercept
        self.holds_out = self._n_held_out > 0
        # Two classes share one weight vector in LogisticRegression: ½‖w‖² is ‖W‖² for W = [−w/2, w/2].
        self._alpha = (2 if n_classes == 2 else 1) / (C * self._n_train)

    def precondition(self, system: RidgeSystem, *, ridge: float) -> None:
        """Whiten by the second moment of all rows or of a sample of them."""
        self._system = system.factor(ridge * system.n_rows, absolute=2 * self._alpha * system.n_rows)

    def evaluate(self, weights: np.ndarray) -> _Evaluation:
        """Return losses and gradient at weights (D + 1, c) of whitened features and a constant."""
        coef, shift = self._system.unwhiten(weights[:-1])
        intercept = weights[-1] + shift if self._fit_intercept else np.zeros(self.shape[1])
        start = partial(_LossAndGradient, coef.astype(self._dtype), intercept)
        found = self._sum_rows(start)
        total = found.total / self._n_train
        gradient = self._system.whitened_cross(found.cross / self._n_train + self._alpha * coef, total)
        constant = total if self._fit_intercept else np.zeros_like(total)
        return _Evaluation(
            coef=coef,
            intercept=intercept,
            objective=found.losses[0] / self._n_train + 0.5 * self._alpha * float(np.vdot(coef, coef)),
            held_out_loss=found.losses[1] / self._n_held_out if self.holds_out else np.nan,
            gradient=np.vstack([gradient, constant]).astype(np.float64),
        )


class _CountedGram:
    """The Gram matrix of all rows of partitions, and how many are held out."""

    def __init__(self, n_features: int, dtype: np.dtype, *, fit_intercept: bool) -> None:
        self.system = RidgeSystem(n_features, dtype, fit_intercept=fit_intercept)
        self.n_held_out = 0

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        self.system.add(block)
        self.n_held_out += int(held_out.sum())

    def merge(self, other: _CountedGram) -> None:
        self.system.merge(other.system)
        self.n_held_out += other.n_held_out


class _LossAndGradient:
    """Sums over rows: the log loss (training, held out), and its gradient over the training rows."""

    def __init__(self, weights: np.ndarray, shift: np.ndarray) -> None:
        self._weights, self._shift = weights, shift
        self.cross, self.total, self.losses = np.zeros(weights.shape), np.zeros(len(shift)), np.zeros(2)

    def add(
        self,
        block: np.ndarray,
        codes: np.ndarray,
        held_out: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> None:
        row_losses, residual = _log_losses(block @ self._weights + self._shift, codes)
        if weights is not None:
            row_losses *= weights
            residual *= weights[:, None]
        self.losses += row_losses[~held_out].sum(), row_losses[held_out].sum()
        residual[held_out] = 0
        self.cross += block.T @ residual.astype(block.dtype)
        self.total += residual.sum(axis=0)

    def merge(self, other: _LossAndGradient) -> None:
        self.cross += other.cross
        self.total += other.total
        self.losses += other.losses


def _log_losses(logits: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log loss of each row and its gradient in the logits, which are overwritten."""
    own = np.arange(len(codes)), codes
    logits -= logits.max(axis=1, keepdims=True)
    own_logits = logits[own]
    gradient = np.exp(logits, out=logits)
    total = gradient.sum(axis=1)
    gradient /= total[:, None]
    gradient[own] -= 1
    return np.log(total) - own_logits, gradient
