"""Multinomial logistic regression, preconditioned by the feature second moment and accelerated."""

from __future__ import annotations

import logging
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from eigenbench.accumulation import accumulate
from eigenbench.classifiers.ridge_system import RidgeSystem
from eigenbench.classifiers.streamed import StreamedClassifier
from eigenbench.row_blocks import FeatureBlocks

logger = logging.getLogger(__name__)


class _Evaluation(NamedTuple):
    """Objective, held-out loss and gradients at one point; the result of one pass over the data."""

    objective: float
    held_out_loss: float
    coef_gradient: np.ndarray
    intercept_gradient: np.ndarray


class SecondOrderLogistic(StreamedClassifier):
    r"""Multinomial logistic regression by preconditioned, accelerated gradient steps.

    Minimises :math:`C \sum_i \ell(y_i, f_i) + \frac12 \|W\|^2`, the objective of scikit-learn's
    ``LogisticRegression``. The Hessian is at most ½ Σ for every class, with Σ the second moment of the
    features (Böhning's bound), so one Cholesky factor of it preconditions all steps, as in [1]_; steps of
    length one always descend. Nesterov's momentum is added and restarted whenever it points uphill [2]_.
    A stratified part of the rows is held out to choose the iterate.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, as in ``LogisticRegression``; the intercept is not penalised.
    max_iter : int, default=100
        Largest number of passes over the data after the first.
    tol : float, default=1e-6
        Stop when the predicted decrease of the mean loss by the next step is below this, in nats.
    early_stopping : bool, default=True
        Whether to hold out rows, return the iterate of smallest held-out loss, and stop when it no longer
        improves. When no class has two rows to share, nothing is held out.
    validation_fraction : float, default=0.1
        Share of the rows that is held out.
    n_iter_no_change : int, default=10
        Stop after this many iterations without a better held-out loss.
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
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out rows.

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
    loss_curve_ : ndarray of shape (n_iter_,)
        Mean log loss plus penalty on the rows trained on, in nats, at each point.
    validation_curve_ : ndarray of shape (n_iter_,)
        Mean log loss on the held-out rows; NaN when nothing is held out.
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time: n·D² + D³/3 flops once, then per iteration 4·n·D·c + 2·D²·c and the feature map over blocks that
    are not kept. Memory: 4·D² bytes (float32 features), ``cache_size``, some row blocks, 40·D·c bytes.
    The Gram matrix takes in the held-out rows too, without labels; this only shortens the steps.

    References
    ----------
    .. [1] A. Agarwal, S. Kakade, N. Karampatziakis, L. Song and G. Valiant, "Least squares revisited:
       scalable approaches for multi-class prediction", ICML 2014.
    .. [2] B. O'Donoghue and E. Candès, "Adaptive restart for accelerated gradient schemes", Foundations of
       Computational Mathematics 15, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenbench import SecondOrderLogistic
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SecondOrderLogistic(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        **StreamedClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
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
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float = 1000,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SecondOrderLogistic:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels of any type, at least two different ones.

        Returns
        -------
        SecondOrderLogistic
            The estimator itself.

        Raises
        ------
        ValueError
            If there is one class only, if the data hold NaN or infinity, or if X and y differ in length.
        """
        X, codes = self._validated(X, y)
        held_out = np.zeros(len(codes), dtype=bool)
        if self.early_stopping:
            held_out = hold_out(codes, self.validation_fraction, check_random_state(self.random_state))
        if held_out.any() and self.feature_map is not None:
            self._fit_map(X[~held_out], self.classes_[codes[~held_out]])
        else:
            self._fit_map(X, self.classes_[codes])
        blocks = FeatureBlocks(X, self.feature_map_, cache_size=self.cache_size)
        objective = _Objective(blocks, codes, held_out, len(self.classes_), self.C, self.fit_intercept)
        self._minimise(objective)
        return self

    def _minimise(self, objective: _Objective) -> None:
        """Take accelerated steps and keep the best point evaluated."""
        coef, intercept = objective.start()
        last_coef, last_intercept = coef, intercept
        momentum, best = 1.0, np.inf
        losses: list[float] = []
        held_out_losses: list[float] = []
        for iteration in range(self.max_iter + 1):
            here = objective.evaluate(coef, intercept)
            losses.append(here.objective)
            held_out_losses.append(here.held_out_loss)
            logger.info("iteration %d: loss %.5f, held-out loss %.5f", iteration, *here[:2])
            score = here.objective if np.isnan(here.held_out_loss) else here.held_out_loss
            if score < best:
                best, self.best_iter_ = score, iteration
                self.coef_, self.intercept_ = coef.T.copy(), objective.uncentred(coef, intercept)
            step, intercept_step = objective.precondition(here)
            decrease = 0.5 * (np.vdot(here.coef_gradient, step) + here.intercept_gradient @ intercept_step)
            waited = iteration - self.best_iter_ >= self.n_iter_no_change
            if decrease <= self.tol or (waited and objective.holds_out):
                break
            new_coef, new_intercept = coef - step, intercept - intercept_step
            uphill = np.vdot(here.coef_gradient, new_coef - last_coef)
            uphill += here.intercept_gradient @ (new_intercept - last_intercept)
            if uphill > 0:
                momentum = 1.0
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight = (momentum - 1) / following
            coef = new_coef + weight * (new_coef - last_coef)
            intercept = new_intercept + weight * (new_intercept - last_intercept)
            last_coef, last_intercept, momentum = new_coef, new_intercept, following
        self.n_iter_ = len(losses)
        self.loss_curve_, self.validation_curve_ = np.array(losses), np.array(held_out_losses)

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        return features @ self.coef_.T.astype(features.dtype) + self.intercept_

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores, axis=1)


class _Objective:
    """Penalised mean log loss over the rows that are not held out, in coordinates of centred features.

    There the bound on the Hessian has no terms between weights and intercepts: it is ½Σ + αI for the
    weights, with Σ the centred second moment, and ½ for the intercept.
    """

    def __init__(
        self,
        blocks: FeatureBlocks,
        codes: np.ndarray,
        held_out: np.ndarray,
        n_classes: int,
        C: float,
        fit_intercept: bool,
    ) -> None:
        self._blocks, self._codes, self._held_out, self._n_classes = blocks, codes, held_out, n_classes
        self._n_train = int((~held_out).sum())
        self._fit_intercept = fit_intercept
        self.holds_out = bool(held_out.any())
        # Two classes share one weight vector in LogisticRegression: ½‖w‖² is ‖W‖² for W = [−w/2, w/2].
        self._alpha = (2 if n_classes == 2 else 1) / (C * self._n_train)
        start = partial(RidgeSystem, blocks.n_features, blocks.dtype, fit_intercept=fit_intercept)
        label = f"Gram matrix ({blocks.n_features} features)"
        self._system = accumulate(blocks, start, label=label)
        self._system.factor(2 * self._alpha * self._n_train, relative=False)

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Return zero weights and intercepts."""
        return np.zeros((self._blocks.n_features, self._n_classes)), np.zeros(self._n_classes)

    def uncentred(self, coef: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """Return the intercept that goes with features that are not centred."""
        return intercept - self._system.mean @ coef

    def evaluate(self, coef: np.ndarray, intercept: np.ndarray) -> _Evaluation:
        """Return losses and gradients in one pass."""
        start = partial(_LossAndGradient, coef.astype(self._blocks.dtype), self.uncentred(coef, intercept))
        found = accumulate(self._blocks, start, self._codes, self._held_out)
        cross, total, losses = found.cross, found.total, found.losses
        cross -= np.outer(self._system.mean, total)
        n_held_out = len(self._codes) - self._n_train
        return _Evaluation(
            objective=losses[0] / self._n_train + 0.5 * self._alpha * float(np.vdot(coef, coef)),
            held_out_loss=losses[1] / n_held_out if n_held_out else np.nan,
            coef_gradient=cross / self._n_train + self._alpha * coef,
            intercept_gradient=total / self._n_train if self._fit_intercept else np.zeros_like(total),
        )

    def precondition(self, here: _Evaluation) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps that minimise the quadratic upper bound of the objective."""
        scale = 2 * self._n_train
        coef_step = self._system.apply_inverse(scale * here.coef_gradient)
        return coef_step, scale / self._system.n_rows * here.intercept_gradient


class _LossAndGradient:
    """Sums over rows: the log loss (training, held out), and its gradient over the training rows."""

    def __init__(self, weights: np.ndarray, shift: np.ndarray) -> None:
        self._weights, self._shift = weights, shift
        self.cross, self.total, self.losses = np.zeros(weights.shape), np.zeros(len(shift)), np.zeros(2)

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        row_losses, residual = _log_losses(block @ self._weights + self._shift, codes)
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


def hold_out(codes: np.ndarray, fraction: float, rng: np.random.RandomState) -> np.ndarray:
    """Mark a random part of the rows, the same share of every class to within one row.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class position of each row.
    fraction : float
        Share of rows to mark, between 0 and 1.
    rng : RandomState
        Source of the draw.

    Returns
    -------
    ndarray of shape (n,), bool
        At least one row of every class stays unmarked.
    """
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    marks = np.floor(np.arange(1, len(codes) + 1) * fraction) > np.floor(np.arange(len(codes)) * fraction)
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order] = marks
    first_of_class = order[np.unique(codes[order], return_index=True)[1]]
    held_out[first_of_class] = False
    return held_out
