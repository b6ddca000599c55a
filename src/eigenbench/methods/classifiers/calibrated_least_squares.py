"""Multiclass least squares with a polynomial link, refitted on its own residual."""

from __future__ import annotations

import logging
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import Interval

from eigenbench.methods.classifiers.partitioned_fit import PartitionedFit, PartitionedRows
from eigenbench.methods.classifiers.score_calibration import ScoreCalibration, fit_calibration
from eigenbench.methods.classifiers.simplex import project_rows_to_simplex
from eigenbench.methods.classifiers.streamed import StreamedClassifier, hold_out
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import FeatureBlocks, row_slices

logger = logging.getLogger(__name__)

#: Penalty of the link regression relative to the mean diagonal of its Gram matrix. The powers of scores are
#: nearly dependent, and without it the link fits noise: 117 held-out errors instead of 102 on MNIST with
#: GEM features, 91 instead of 80 on the digits (five folds).
LINK_RIDGE = 1e-3


class CalibratedLeastSquares(PartitionedFit, StreamedClassifier):
    r"""Least squares rounds on class indicators, each followed by a fitted link and a projection.

    Start from :math:`P = 0`. Every round fits ridge regression from the features to the residual
    :math:`Y - P`, adds its prediction to P, regresses Y on
    :math:`[P, P^2/2, P^3/6, P^4/24]` (the link), and projects the rows on the probability simplex. All
    rounds share one factorisation, so a round costs little more than two products with the features [1]_.

    Parameters
    ----------
    ridge : float, default=10.0
        Penalty λ on the squared weights, in units of the mean variance of a feature; so neither the scale
        of the features nor the number of rows changes its meaning. The intercept is not penalised.
    n_rounds : int, default=7
        Number of rounds T.
    calibrate : bool, default=False
        Whether to calibrate probabilities on held-out rows, for about twice the time. A first fit leaves
        those rows out; the map from its scores of them to probabilities is then used for the fit on all
        rows. The predicted classes and the decision function stay as they are.
    validation_fraction : float, default=0.1
        Share of the rows that is held out to calibrate, of every class; which ones is drawn with a fixed
        seed, so that fits can be repeated.
    feature_map : transformer or None, default=None
        Maps the rows of X to features; a clone is fitted in ``fit``. Wrap a map that is fitted already in
        :class:`sklearn.frozen.FrozenEstimator` to use it as it is. It must treat each row alone.
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    cache_size : float, default=1000
        Memory for feature blocks kept between passes, in MB. Blocks beyond it are computed again in every
        pass; the result does not depend on it.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the loss, which multiply those of their rows; "balanced" makes those of all
        classes add up to the same. The feature map does not get them.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (T, c, D), float32 or float64
        Weights of each round.
    intercept_ : ndarray of shape (T, c), float64
        Intercepts of each round.
    link_ : ndarray of shape (T, 4c, c), float64
        Link of each round.
    penalty_ : float
        The absolute penalty that was used.
    loss_curve_ : ndarray of shape (T,)
        Mean squared error of the training probabilities, summed over classes, after each round.
    error_curve_ : ndarray of shape (T,)
        Training error rate after each round.
    calibration_ : ScoreCalibration or None
        Softness and power of the map from scores to probabilities; None with ``calibrate=False``.
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    By default probabilities are the scores of the last round projected to the simplex, fitted to squared
    error: many are exactly 0, also of some rows' true class, which costs log loss. Use ``calibrate=True``
    where probabilities matter. Measured on standardised inputs, log loss in nats per row by default, with
    ``calibrate=True``, and of :class:`SecondOrderLogistic`, on 600 test rows of the digits: .344, .145, .100,
    and with :class:`GEM` features .338, .057, .053; with 4,000 training and test rows of UCI letter: 1.80,
    .863, .936, and with 100 detectors of GEM .781, .354, .324. The default's zeros are 0.7, 0, 3.3 and 1.5 %
    of the true classes; the loss counts them as 2⁻⁵².

    Time: n·D² + D³/3 flops once, 4·n·D·c per round, and the feature map in every pass over blocks that are
    not kept (2T passes). Memory: 4·D² bytes (float32 features), ``cache_size``, some row blocks, and
    8·n·c bytes. ``fit_partitions`` keeps nothing of a row: 2T + 2 passes, of which those of round t take the
    products of all t rounds.

    References
    ----------
    .. [1] A. Agarwal, S. Kakade, N. Karampatziakis, L. Song and G. Valiant, "Least squares revisited:
       scalable approaches for multi-class prediction", ICML 2014, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenbench import CalibratedLeastSquares
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(CalibratedLeastSquares().fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamedClassifier._parameter_constraints,
        "ridge": [Interval(Real, 0, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "calibrate": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        ridge: float = 10.0,
        n_rounds: int = 7,
        *,
        calibrate: bool = False,
        validation_fraction: float = 0.1,
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float = 1000,
        class_weight: Any = None,
    ) -> None:
        self.ridge = ridge
        self.n_rounds = n_rounds
        self.calibrate = calibrate
        self.validation_fraction = validation_fraction
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        self.calibration_ = self._calibrated(X, codes, weights) if self.calibrate else None
        self._learn(X, codes, weights)

    def _calibrated(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> ScoreCalibration:
        """Learn from a part of the rows, and find probabilities for its scores of the others."""
        held_out = hold_out(codes, self.validation_fraction, np.random.RandomState(0))
        if not held_out.any():
            raise ValueError(
                f"calibrate=True: validation_fraction={self.validation_fraction} of {len(codes)} rows is none"
                " beside one of each class: give more rows, or use calibrate=False."
            )
        seen, unseen = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        self._learn(X[seen], codes[seen], None if weights is None else weights[seen])
        scores = np.concatenate([scores for _, scores in self._score_blocks(X[unseen])])
        weights = self._weighed(codes, weights)
        return fit_calibration(scores, codes[unseen], None if weights is None else weights[unseen])

    def _learn(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Fit the feature map, then the rounds."""
        self._fit_map(X, self.classes_[codes], weights)
        weights = self._weighed(codes, weights)
        blocks = FeatureBlocks(X, self.feature_map_, cache_size=self.cache_size)
        residual = np.zeros((len(codes), len(self.classes_)), dtype=blocks.dtype)
        residual[np.arange(len(codes)), codes] = 1
        start = partial(
            _NormalEquations, blocks.n_features, blocks.dtype, residual.shape[1], self.fit_intercept
        )
        label = f"Gram matrix ({blocks.n_features} features)"
        equations = accumulate(blocks, start, *_given(residual, weights), label=label)
        system = equations.system.factor(self.ridge)
        self.penalty_ = system.penalty
        self._fit_rounds(blocks, codes, weights, system, residual, equations.cross.total)

    def _fit_rounds(
        self,
        blocks: FeatureBlocks,
        codes: np.ndarray,
        weights: np.ndarray | None,
        system: RidgeSystem,
        residual: np.ndarray,
        cross: np.ndarray,
    ) -> None:
        """Run the rounds; ``residual`` is the indicator matrix and is overwritten, ``cross`` is Fᵀ of it."""
        scores = np.zeros_like(residual)
        coefs, intercepts, links, losses, errors = [], [], [], [], []
        for round_ in range(1, self.n_rounds + 1):
            total = residual.sum(axis=0, dtype=np.float64) if weights is None else weights @ residual
            coef, intercept = system.solve(cross, total)
            typed = coef.astype(blocks.dtype)
            moved = accumulate(blocks, partial(_Scores, typed, intercept.astype(blocks.dtype)), scores)
            moved.write_to(scores)
            link = _fit_link(scores, codes, weights)
            for rows in row_slices(len(codes), 4 * scores.shape[1] * 8):
                scores[rows] = project_rows_to_simplex(_powers(scores[rows]) @ link)
            np.negative(scores, out=residual)
            residual[np.arange(len(codes)), codes] += 1
            coefs.append(np.ascontiguousarray(typed.T))
            intercepts.append(intercept)
            links.append(link)
            losses.append(_mean_square(residual, weights))
            errors.append(float(np.average(scores.argmax(axis=1) != codes, weights=weights)))
            logger.info("round %d/%d: training error %.4f", round_, self.n_rounds, errors[-1])
            if round_ < self.n_rounds:
                start = partial(_CrossProduct, *coef.shape)
                cross = accumulate(blocks, start, *_given(residual, weights)).total
        self.coef_, self.intercept_, self.link_ = np.stack(coefs), np.stack(intercepts), np.stack(links)
        self.loss_curve_, self.error_curve_ = np.array(losses), np.array(errors)

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        return _linked_scores(features, self.coef_, self.intercept_, self.link_)

    def _fit_sums(self, rows: PartitionedRows) -> None:
        self.calibration_ = None
        n_classes = len(rows.classes)
        start = partial(_IndicatorEquations, rows.n_features, rows.dtype, n_classes, self.fit_intercept)
        found = rows.sum(start, label=f"Gram matrix ({rows.n_features} features)")
        system = found.equations.system.factor(self.ridge)
        self.penalty_ = system.penalty
        cross, total = found.equations.cross.total, found.total
        coefs, intercepts, losses, errors = [], [], [], []
        links: list[np.ndarray] = []
        for round_ in range(1, self.n_rounds + 1):
            coef, intercept = system.solve(cross, total)
            coefs.append(np.ascontiguousarray(coef.astype(rows.dtype).T))
            intercepts.append(intercept)
            linear = np.stack(coefs), np.stack(intercepts)
            powers = rows.sum(partial(_LinkEquations, *linear, np.array(links)))
            links.append(powers.link())
            left = rows.sum(partial(_Residuals, *linear, np.stack(links)))
            cross, total = left.cross.total, left.total
            losses.append(left.loss / rows.n_rows)
            errors.append(left.n_wrong / rows.n_rows)
            logger.info("round %d/%d: training error %.4f", round_, self.n_rounds, errors[-1])
        self.coef_, self.intercept_, self.link_ = np.stack(coefs), np.stack(intercepts), np.stack(links)
        self.loss_curve_, self.error_curve_ = np.array(losses), np.array(errors)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        if self.calibration_ is None:
            return project_rows_to_simplex(scores)
        return np.exp(self.calibration_.log_probabilities(scores))


class _CrossProduct:
    """Fᵀ · target in float64, (D, c), of weighted rows."""

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.total = np.zeros((n_features, n_targets))

    def add(self, block: np.ndarray, target: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.total += block.T @ (target if weights is None else _scaled(target, weights))

    def merge(self, other: _CrossProduct) -> None:
        self.total += other.total


class _NormalEquations:
    """The Gram matrix of the features and their products with a target, in one pass."""

    def __init__(self, n_features: int, dtype: np.dtype, n_targets: int, fit_intercept: bool) -> None:
        self.system = RidgeSystem(n_features, dtype, fit_intercept=fit_intercept)
        self.cross = _CrossProduct(n_features, n_targets)

    def add(self, block: np.ndarray, target: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.system.add(block, weights)
        self.cross.add(block, target, weights)

    def merge(self, other: _NormalEquations) -> None:
        self.system.merge(other.system)
        self.cross.merge(other.cross)


class _Scores:
    """Adds the linear function of each row to its scores, where they lie."""

    def __init__(self, weights: np.ndarray, intercept: np.ndarray) -> None:
        self._weights, self._intercept = weights, intercept
        self._parts: list[np.ndarray] = []

    def add(self, block: np.ndarray, scores: np.ndarray) -> None:
        scores += block @ self._weights + self._intercept
        self._parts.append(scores)

    def merge(self, other: _Scores) -> None:
        self._parts += other._parts

    def write_to(self, scores: np.ndarray) -> None:
        """Copy the parts that other processes have changed into ``scores``."""
        stop = 0
        for part in self._parts:
            start, stop = stop, stop + len(part)
            if not np.may_share_memory(part, scores):
                scores[start:stop] = part


def _powers(scores: np.ndarray) -> np.ndarray:
    """Return [s, s²/2, s³/6, s⁴/24] side by side in float64, (n, c) → (n, 4c)."""
    n_classes = scores.shape[1]
    out = np.empty((len(scores), 4 * n_classes))
    out[:, :n_classes] = scores
    for power in (2, 3, 4):
        done = out[:, (power - 2) * n_classes : (power - 1) * n_classes]
        column = (power - 1) * n_classes
        np.multiply(done, scores, out=out[:, column : column + n_classes])
        out[:, column : column + n_classes] /= power
    return out


def _given(target: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """Return a target with the weights of its rows if there are any."""
    return (target,) if weights is None else (target, weights)


def _scaled(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return rows times their weights, in the type of the rows."""
    return rows * weights.astype(rows.dtype)[:, None]


def _mean_square(residual: np.ndarray, weights: np.ndarray | None) -> float:
    """Return the weighted mean over rows of their squared length."""
    if weights is None:
        return float(np.einsum("ij,ij->", residual, residual, dtype=np.float64)) / len(residual)
    return float(np.average(np.einsum("ij,ij->i", residual, residual, dtype=np.float64), weights=weights))


def _fit_link(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Regress the class indicators on the powers of the scores; return the (4c, c) coefficients."""
    n_classes = scores.shape[1]
    gram = np.zeros((4 * n_classes, 4 * n_classes))
    cross = np.zeros((4 * n_classes, n_classes))
    for rows in row_slices(len(codes), 4 * n_classes * 8):
        powers = _powers(scores[rows])
        weighed = powers if weights is None else _scaled(powers, weights[rows])
        gram += powers.T @ weighed
        cross += weighed.T @ np.eye(n_classes)[codes[rows]]
    return _solve_link(gram, cross)


def _solve_link(gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    gram.flat[:: len(gram) + 1] += LINK_RIDGE * np.trace(gram) / len(gram)
    return linalg.solve(gram, cross, assume_a="pos", overwrite_a=True, overwrite_b=True)


def _linked_scores(
    features: np.ndarray, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray
) -> np.ndarray:
    """Return the scores after the last round, (b, c); those before its link without one."""
    n_rounds, n_classes = intercept.shape
    stacked = coef.reshape(-1, features.shape[1])
    linear = features @ stacked.T.astype(features.dtype, copy=False) + intercept.ravel()
    scores = np.zeros((len(features), n_classes))
    for round_ in range(n_rounds):
        if round_:
            project_rows_to_simplex(scores)
        scores += linear[:, round_ * n_classes : (round_ + 1) * n_classes]
        if round_ < len(link):
            scores = _powers(scores) @ link[round_]
    return scores


class _IndicatorEquations:
    """Normal equations for the class indicators of partitions."""

    def __init__(self, n_features: int, dtype: np.dtype, n_classes: int, fit_intercept: bool) -> None:
        self.equations = _NormalEquations(n_features, dtype, n_classes, fit_intercept)
        self.total = np.zeros(n_classes)

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        target = np.eye(len(self.total), dtype=block.dtype)[codes]
        self.equations.add(block, target)
        self.total += target.sum(axis=0, dtype=np.float64)

    def merge(self, other: _IndicatorEquations) -> None:
        self.equations.merge(other.equations)
        self.total += other.total


class _LinkEquations:
    """Normal equations of a round's link, from the linear functions up to it and the links before it."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray) -> None:
        self._rounds = coef, intercept, link
        n_classes = intercept.shape[1]
        self.gram = np.zeros((4 * n_classes, 4 * n_classes))
        self.cross = np.zeros((4 * n_classes, n_classes))

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        powers = _powers(_linked_scores(block, *self._rounds))
        self.gram += powers.T @ powers
        self.cross += powers.T @ np.eye(self.cross.shape[1])[codes]

    def merge(self, other: _LinkEquations) -> None:
        self.gram += other.gram
        self.cross += other.cross

    def link(self) -> np.ndarray:
        return _solve_link(self.gram, self.cross)


class _Residuals:
    """What the rounds so far leave of the class indicators: products with the features, and how much."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray) -> None:
        self._rounds = coef, intercept, link
        n_classes = intercept.shape[1]
        self.cross, self.total = _CrossProduct(coef.shape[2], n_classes), np.zeros(n_classes)
        self.loss, self.n_wrong = 0.0, 0

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        residual = -project_rows_to_simplex(_linked_scores(block, *self._rounds))
        self.n_wrong += int(np.sum(residual.argmin(axis=1) != codes))
        residual[np.arange(len(codes)), codes] += 1
        self.loss += float(np.vdot(residual, residual))
        self.total += residual.sum(axis=0)
        self.cross.add(block, residual.astype(block.dtype))

    def merge(self, other: _Residuals) -> None:
        self.cross.merge(other.cross)
        self.total += other.total
        self.loss += other.loss
        self.n_wrong += other.n_wrong
