"""Multiclass least squares with a polynomial link, refitted on its own residual, and calibrated."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from eigenbench.methods.classifiers.least_squares_rounds import (
    CollectedRows,
    Equations,
    NormalEquations,
    StatefulSums,
    SumRows,
    linked_scores,
    run_rounds,
)
from eigenbench.methods.classifiers.out_of_fold_rounds import (
    CALIBRATION_PRODUCTS,
    CHOICE_PRODUCTS,
    N_FOLDS,
    RIDGES,
    OutOfFoldRounds,
    affordable_rows,
)
from eigenbench.methods.classifiers.partitioned_fit import PartitionedFit, PartitionedRows
from eigenbench.methods.classifiers.preconditioned_features import mapped_rows
from eigenbench.methods.classifiers.score_calibration import (
    ScoreCalibration,
    fit_calibration,
    fit_temperature,
)
from eigenbench.methods.classifiers.streamed import StreamedClassifier, hold_out
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.row_blocks import FeatureBlocks
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER, StrOptions

#: From so many classes on the rounds are passes of stochastic steps: a link has 16 numbers for each pair of
#: classes, and one for each class alone is worse (see the notes).
MANY_CLASSES = 50

#: Share of many rows that is held out to calibrate, and how many these are at least and at most.
CALIBRATION_SHARE, CALIBRATION_ROWS = 0.1, (250, 5000)

#: Logits of held-out rows by which many classes are calibrated, at most.
CALIBRATION_LOGITS = 2_000_000


class CalibratedLeastSquares(PartitionedFit, StreamedClassifier):
    r"""Least squares rounds on class indicators, each followed by a fitted link and a projection.

    Start from :math:`P = 0`. Every round fits ridge regression from the features to the residual
    :math:`Y - P`, adds its prediction to P, regresses Y on
    :math:`[P, P^2/2, P^3/6, P^4/24]` (the link), and projects the rows on the probability simplex. All
    rounds share one factorisation, so a round costs little more than two products with the features [1]_.
    Probabilities are a monotone map of the scores, fitted to scores of rows that the rounds did not see.

    Parameters
    ----------
    ridge : float or "auto", default="auto"
        Penalty λ on the squared weights, in units of the mean variance of a feature; so neither the scale
        of the features nor the number of rows changes its meaning. The intercept is not penalised. "auto"
        takes the power of ten between 0.1 and 100,000 whose rounds have the least squared error out of five
        folds. Where that would take too long, it is the error on a fifth of some rows: 4,000 for up to 920
        features, 1,500 for more.
    n_rounds : int, default=7
        Number of rounds T; from 50 classes on, passes over the rows.
    feature_map : transformer or None, default=None
        Maps the rows of X to features; a clone is fitted in ``fit``, once on all rows. Wrap a map that is
        fitted already in :class:`sklearn.frozen.FrozenEstimator` to use it as it is. It must treat each row
        alone. Where it learns from labels, ridge and calibration are somewhat optimistic.
    fit_intercept, cache_size, class_weight
        As for :class:`~eigenbench.SecondOrderLogistic`.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (T, c, D), float32 or float64
        Weights of each round; T is 1 from 50 classes on.
    intercept_ : ndarray of shape (T, c)
        Intercepts of each round.
    link_ : ndarray of shape (T, 4c, c)
        Link of each round; none from 50 classes on.
    ridge_, penalty_ : float
        The ridge that was used, and the absolute penalty.
    loss_curve_ : ndarray of shape (T,)
        Mean squared error of the training probabilities, summed over classes, after each round; from 50
        classes on the mean log loss in each pass.
    error_curve_ : ndarray of shape (T,)
        Training error rate after each round; empty from 50 classes on.
    calibration_ : ScoreCalibration or None
        Softness and power of the map from scores to probabilities. None from 50 classes on: probabilities
        are the softmax of the scores, whose scale is fitted.
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    *Calibration.* Scores out of five folds, up to 4,000 rows and n·min(n, D)² = 10⁹; beyond, those of a
    tenth of the rows, at least 250 and at most 5,000, by rounds on the others; then all rows are used. Equal
    rows are in one fold: integer weights give the model of repeated rows. No probability is zero.

    *Many classes.* A link has 16 numbers for each pair of classes. From 50 classes on the rounds are passes
    of :class:`StochasticLogistic`, linear in the classes. A ridge is then no penalty but bounds the steps:
    with 260 classes of ALOI, 0.3 has twice the error of "auto".

    Time: n·D² + D³/3 flops once, 4·n·D·c + 32·n·c² per round, and the feature map in every pass over blocks
    that are not kept (2T passes); twice where rows are held out. Folds: 4·min(n, D)³ + 20·T·n·min(n, D)·c for
    each ridge tried.
    Memory: 8·D² bytes (float32 features), ``cache_size``, some row blocks, 4·n·c bytes and the features
    of a sample. ``fit_partitions`` keeps nothing of other rows: its passes of round t take the
    products of all t rounds. Of the model: 28·D·c bytes; 4·D·c from 50 classes on.

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
        "ridge": [NOT_NEGATIVE, StrOptions({"auto"})],
        "n_rounds": [POSITIVE_INTEGER],
    }

    calibration_: ScoreCalibration | None

    def __init__(
        self,
        ridge: float | str = "auto",
        n_rounds: int = 7,
        *,
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float | str = "auto",
        class_weight: Any = None,
    ) -> None:
        self.ridge = ridge
        self.n_rounds = n_rounds
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        if len(self.classes_) >= MANY_CLASSES:
            passes = self._passes(self.feature_map, len(codes)).fit(X, self.classes_[codes], weights)
            unseen = np.flatnonzero(hold_out(codes, passes.validation_fraction, np.random.RandomState(0)))
            unseen = unseen[:: 1 + len(unseen) * len(self.classes_) // CALIBRATION_LOGITS]
            self.feature_map_ = passes.feature_map_
            self._take(passes, mapped_rows(X[unseen], self.feature_map_), codes[unseen], len(codes))
            return
        self.ridge_: Any = self.ridge
        self._fit_map(X, self.classes_[codes], weights)
        weights = self._weighed(codes, weights)
        blocks = FeatureBlocks(X, self.feature_map_, cache_size=self._cache_megabytes())
        n_rows, rng, none = len(codes), np.random.RandomState(0), np.zeros(len(codes), dtype=bool)
        held_out = none
        if n_rows <= affordable_rows(blocks.n_features, CALIBRATION_PRODUCTS):
            features = np.concatenate([block for _, block in blocks])
            self._calibrate(self._choose_ridge(features, codes, weights), codes, weights)
        else:
            if self.ridge == "auto":
                sample = np.flatnonzero(hold_out(codes, _choice_share(n_rows, blocks.n_features), rng))
                features = mapped_rows(X[sample], self.feature_map_)
                some = None if weights is None else weights[sample]
                self._choose_ridge(features, codes[sample], some, n_parts=1)
            held_out = hold_out(codes, _held_out_share(n_rows), rng)
        start = partial(self._equations, blocks.n_features, blocks.dtype)
        rows: Any = (codes, held_out) if weights is None else (codes, held_out, weights)
        label = f"Gram matrix ({blocks.n_features} features)"
        kept, everything = accumulate(blocks, start, *rows, label=label).kept_and_all()
        if held_out.any():
            sums = StatefulSums(blocks, codes, held_out, weights, len(self.classes_))
            self._run(sums, kept, blocks.dtype)
            unseen_weights = None if weights is None else weights[held_out]
            self._calibrate(sums.scores[held_out], codes[held_out], unseen_weights)
        sums = StatefulSums(blocks, codes, none, weights, len(self.classes_))
        self._run(sums, everything, blocks.dtype)

    def _fit_sums(self, rows: PartitionedRows) -> None:
        marked = partial(CollectedRows, held_out_only=True)
        if len(self.classes_) >= MANY_CLASSES:
            self._take_passes_over(rows)
            return
        self.ridge_ = self.ridge
        held_out: tuple[float, int] | None = None
        if rows.n_rows <= affordable_rows(rows.n_features, CALIBRATION_PRODUCTS):
            features, codes = rows.sum(CollectedRows).joined()
            self._calibrate(self._choose_ridge(features, codes), codes)
        else:
            if self.ridge == "auto":
                share = _choice_share(rows.n_rows, rows.n_features)
                features, codes = rows.sum(marked, held_out=(share, 0)).joined()
                self._choose_ridge(features, codes, n_parts=1)
            held_out = _held_out_share(rows.n_rows), 1
        start = partial(self._equations, rows.n_features, rows.dtype)
        label = f"Gram matrix ({rows.n_features} features)"
        kept, everything = rows.sum(start, label=label, held_out=held_out).kept_and_all()
        if held_out is not None:
            self._run(partial(rows.sum, held_out=held_out), kept, rows.dtype)
            scores = partial(marked, function=self._block_scores)
            self._calibrate(*rows.sum(scores, held_out=held_out).joined())
        self._run(rows.sum, everything, rows.dtype)

    def _take_passes_over(self, rows: PartitionedRows) -> None:
        passes = self._passes(self.feature_map_, rows.n_rows)
        passes._set_classes(self.classes_)
        passes._fit_sums(rows)
        # The rows that the passes held out, or every so many of them: the first number of the same seed.
        share = passes.validation_fraction
        share /= 1 + share * rows.n_rows * len(self.classes_) // CALIBRATION_LOGITS
        held_out = share, int(np.random.RandomState(0).randint(2**31))
        unseen, codes = rows.sum(partial(CollectedRows, held_out_only=True), held_out=held_out).joined()
        self._take(passes, unseen, codes, rows.n_rows)

    def _equations(self, n_features: int, dtype: np.dtype) -> NormalEquations:
        return NormalEquations(n_features, dtype, len(self.classes_), self.fit_intercept)

    def _choose_ridge(
        self,
        features: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None = None,
        n_parts: int = N_FOLDS,
    ) -> np.ndarray:
        """Set ``ridge_`` if it is not known yet, and return the scores out of fold with it."""
        folds = OutOfFoldRounds(
            features,
            codes,
            weights,
            len(self.classes_),
            n_rounds=self.n_rounds,
            fit_intercept=self.fit_intercept,
            n_parts=n_parts,
        )
        self.ridge_, scores = folds.best(RIDGES if self.ridge_ == "auto" else (self.ridge_,))
        return scores

    def _calibrate(self, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.calibration_ = fit_calibration(scores, codes, weights)

    def _run(self, sum_rows: SumRows, equations: Equations, dtype: np.dtype) -> None:
        found = run_rounds(sum_rows, equations, self.ridge_, self.n_rounds, dtype)
        self.coef_, self.intercept_, self.link_, self.loss_curve_, self.error_curve_ = found
        self.penalty_ = equations.system.penalty

    def _passes(self, feature_map: Any, n_rows: int) -> Any:
        """Return the stochastic passes that stand for the rounds of many classes."""
        from eigenbench.methods.classifiers.stochastic_logistic import StochasticLogistic

        passes = StochasticLogistic(
            self.n_rounds,
            few_rows=0,
            ridge="auto" if self.ridge == "auto" else max(float(self.ridge) / n_rows, 1e-9),
            feature_map=feature_map,
            fit_intercept=self.fit_intercept,
            cache_size=self.cache_size,
            class_weight=self.class_weight,
            random_state=0,
        )
        passes._warns = False
        return passes

    def _take(self, passes: Any, unseen: np.ndarray, codes: np.ndarray, n_rows: int) -> None:
        """Have its map for the only one, scaled by the temperature of rows that it held out."""
        n_classes, dtype = len(self.classes_), unseen.dtype
        self.coef_, self.intercept_ = passes.coef_[None].astype(dtype), passes.intercept_[None].astype(dtype)
        self.link_ = np.empty((0, 4 * n_classes, n_classes), dtype=dtype)
        if len(codes):
            temperature = fit_temperature(self._block_scores(unseen), codes)
            self.coef_, self.intercept_ = self.coef_ / temperature, self.intercept_ / temperature
        self.loss_curve_, self.error_curve_ = passes.loss_curve_, np.empty(0)
        self.calibration_, self.ridge_, self.penalty_ = None, passes.ridge_ * n_rows, passes.penalty_
        if passes.n_iter_ == 1 < self.n_rounds:
            warnings.warn(
                "CalibratedLeastSquares: the held-out loss is smallest after the first of"
                f" n_rounds={self.n_rounds} passes, with ridge={self.ridge_:g}. Scale the features, or set a"
                " larger ridge where features are many for the rows.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _block_scores(self, features: np.ndarray) -> np.ndarray:
        return linked_scores(features, self.coef_, self.intercept_, self.link_)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        if self.calibration_ is None:
            return super()._probabilities(scores)
        return self.calibration_.probabilities(scores)


def _choice_share(n_rows: int, n_features: int) -> float:
    """Return the share of many rows on which the ridge is chosen."""
    return min(1.0, affordable_rows(n_features, CHOICE_PRODUCTS) / n_rows)


def _held_out_share(n_rows: int) -> float:
    """Return the share of many rows that is held out to calibrate."""
    return float(np.clip(CALIBRATION_SHARE * n_rows, *CALIBRATION_ROWS)) / n_rows
