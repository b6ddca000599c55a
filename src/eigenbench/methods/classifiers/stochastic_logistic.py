"""Multinomial logistic regression by preconditioned stochastic steps, on features made on the fly."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state

from eigenbench.methods.classifiers.logistic_decoder import (
    Descended,
    StochasticDescent,
    Targets,
    class_targets,
    descend,
    mean_loss,
    multinomial_loss,
    prior_logits,
)
from eigenbench.methods.classifiers.partitioned_fit import (
    HeldOut,
    HeldOutLoss,
    PartitionedFit,
    PartitionedRows,
    SampledGram,
    shuffled_chunks,
)
from eigenbench.methods.classifiers.preconditioned_features import PreconditionedFeatures
from eigenbench.methods.classifiers.second_order_logistic import hand_over, has_defaults
from eigenbench.methods.classifiers.streamed import EarlyStopping, StreamedClassifier
from eigenbench.methods.linalg.ridge_system import RidgeSystem, gram_system
from eigenbench.methods.linalg.row_blocks import FeatureBlocks
from eigenbench.methods.parameter_constraints import POSITIVE, POSITIVE_INTEGER, Interval, StrOptions

#: Rows of a minibatch for many rows: enough for the two triangular solves of a step to cost little.
LARGEST_BATCH = 2048

#: The first step length by default; it is too long if the best pass is among the first so many; restarts.
FIRST_STEP, EARLY_PASSES, RESTARTS = 0.01, 2, 3

#: The ridges for many rows; with fewer rows for each feature than so many the second, times features a row.
MANY_ROWS_RIDGE, FEW_ROWS_RIDGE, ROWS_PER_FEATURE = 1e-3, 10.0, 20

#: Descends with a first step length.
Descents = Callable[[float], Descended]

#: Fewer steps in all than this may be too short to arrive.
FEW_STEPS = 200

#: Parameters that say how to take steps: who sets one wants the steps.
_OF_STEPS = (
    *("max_iter", "learning_rate", "batch_size", "preconditioner_rows", "ridge"),
    *("early_stopping", "n_iter_no_change"),
)


class StochasticLogistic(EarlyStopping, PartitionedFit, StreamedClassifier):
    r"""Multinomial logistic regression by stochastic gradients in whitened coordinates.

    As for :class:`SecondOrderLogistic`, a Cholesky factor L of the second moment of the features is the
    preconditioner; but the moment is that of a sample of the rows, and steps are taken on minibatches (Adam,
    with lengths that fall linearly to zero), so that a few passes over the data do what takes full gradients
    many times as many. Few rows are left to :class:`SecondOrderLogistic`, which is as fast for them and has a
    penalty. Where whitened rows fit into the cache, and minibatches are small, all rows are
    whitened once; else the weights and their gradients are carried over by two triangular solves for each
    minibatch. Stochastic steps have no penalty: passes end when the loss on held-out rows no longer improves.

    Parameters
    ----------
    max_iter : int, default=20
        Largest number of passes over the data; the steps shrink over as many.
    learning_rate : float or "auto", default="auto"
        First step length, in coordinates where the features of the sample have unit second moment. "auto"
        starts with 0.01; where rows are held out and their loss is smallest after one of the first two
        passes it starts again with a quarter of the length; where it still falls in the last one, of fewer
        than 200 steps, with four times the length; up to three times while that lowers the loss.
    batch_size : int or "auto", default="auto"
        Rows of a minibatch; "auto" takes 1/200 of the rows, but at least 32 and at most 2,048.
    preconditioner_rows : int, default=50000
        Rows of the sample, drawn at random; all rows if there are fewer.
    ridge : float or "auto", default="auto"
        Added to the second moment of the sample, in units of the mean variance of a feature. It bounds
        the steps along features that are almost or quite constant in the sample: where features are many,
        that is what keeps the few passes from fitting noise. "auto" takes 0.001; where the held-out loss
        then ends the passes, 10 if that makes it smaller; with n < 20·D rows for D features 10·D/n, or 10
        if that is less.
    few_rows : int, default=5000
        ``fit`` hands up to so many rows over to :class:`SecondOrderLogistic` with its defaults, if no
        ``feature_map`` has to be fitted (see there) and no parameter of the steps above or of early stopping
        is set. 0 for never.
    early_stopping : bool, default=True
        Whether to hold out rows, and keep the weights of the pass after which their loss was smallest.
    validation_fraction : float, default=0.1
        Share of the rows that is held out.
    n_iter_no_change : int, default=5
        Stop after this many passes without a better held-out loss.
    feature_map : transformer or None, default=None
        Maps the rows of X to features; a clone is fitted in ``fit``, on the rows that are not held out.
        Wrap a map that is fitted already in :class:`sklearn.frozen.FrozenEstimator` to use it as it is. It
        must treat each row alone, and several threads call its ``transform`` at once where BLAS may have
        several (see the notes).
    fit_intercept, class_weight
        As for :class:`SecondOrderLogistic`.
    cache_size : float or "auto", default="auto"
        Memory for features kept between passes, in MB. Those of the other rows are made again in every
        pass; the result does not depend on it but for rounding. "auto" as for :class:`SecondOrderLogistic`.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out rows, the sample, and the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (c, D), or (1, D) for two classes
        Weights.
    intercept_ : ndarray of shape (c,), or (1,), float64
        Intercepts.
    C_ : float or None
        That of :class:`SecondOrderLogistic` where it was fitted; the curves are its own, too.
    ridge_, penalty_ : float
        The ridge that was used, and the absolute penalty; NaN where ``C_`` is set.
    n_iter_ : int
        The pass after which the weights were kept, or that of :class:`SecondOrderLogistic`.
    loss_curve_, validation_curve_ : ndarray
        Mean log loss in nats in each pass, of the rows as they were met, and after it, of the held-out rows
        (NaN without any).
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time: m·D² + D³/3 flops for a sample of m rows; n·D² where rows are whitened, else 4·D²·c for each
    minibatch; then in each pass 4·n·D·c, and the feature map for rows that are not kept. Memory: 4·D² bytes,
    or 8·D² where two ridges may be tried, ``cache_size``, the features of a minibatch, and 40·D·c bytes.
    Rows with weights w are drawn as rows without, and a row's gradient is multiplied by its weight, so that
    the objective is the weighted mean of the losses, that of repeated rows; the steps are others.

    ``fit_partitions`` reads the partitions in random order, and puts as many rows into random order as
    ``cache_size`` holds; of files that are sorted by class, that should be rows of many. A pass is one
    reading, with held-out rows two, in this process; features are not kept.

    See Also
    --------
    SecondOrderLogistic : The same model with a penalty, to convergence.
    LabelEmbeddingClassifier : For very many classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenbench import StochasticLogistic
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(StochasticLogistic(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StreamedClassifier._parameter_constraints,
        **EarlyStopping._parameter_constraints,
        "max_iter": [POSITIVE_INTEGER],
        "learning_rate": [POSITIVE, StrOptions({"auto"})],
        "batch_size": [POSITIVE_INTEGER, StrOptions({"auto"})],
        "preconditioner_rows": [POSITIVE_INTEGER],
        "ridge": [POSITIVE, StrOptions({"auto"})],
        "few_rows": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    _warns: bool = True  # False as a part of another estimator, which warns for itself

    def __init__(
        self,
        max_iter: int = 20,
        *,
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        preconditioner_rows: int = 50_000,
        ridge: float | str = "auto",
        few_rows: int = 5000,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.preconditioner_rows = preconditioner_rows
        self.ridge = ridge
        self.few_rows = few_rows
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        # A map that is fitted here may learn the labels of rows that C is chosen on.
        no_leak = self.feature_map is None or isinstance(self.feature_map, FrozenEstimator)
        adapts = no_leak and has_defaults(self, *_OF_STEPS)
        if adapts and len(codes) <= self.few_rows:
            self._hand_over(X, codes, weights)
            return
        rng = check_random_state(self.random_state)
        held_out = self._held_out(codes, rng)
        rows = np.flatnonzero(~held_out)
        seen = None if weights is None else weights[rows]
        self._fit_map(X if len(rows) == len(codes) else X[rows], self.classes_[codes[rows]], seen)
        weights = self._weighed(codes, weights)
        moment = self._moment(X, rows, weights, rng)
        targets = Targets(class_targets(codes, len(self.classes_)).labels, weights)
        megabytes = self._cache_megabytes()
        n_products = 4 * len(self.classes_) * self.max_iter / self._rows_at_once(len(rows))

        def descents(system: RidgeSystem) -> Descents:
            whitened = partial(PreconditionedFeatures, X, self.feature_map_, system, n_products=n_products)
            features = whitened(rows, cache_size=megabytes)
            watched = None
            if held_out.any():
                unseen = np.flatnonzero(held_out)
                kept = max(0.0, megabytes - features.kept_megabytes)
                watched = whitened(unseen, cache_size=kept), targets[unseen].normalised()
            return partial(self._descended, features, targets[rows].normalised(), watched, rng)

        self._descend(descents, moment, len(rows), watched=bool(held_out.any()))

    def _hand_over(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Fit the model by full gradients, with a penalty that held-out rows choose."""
        names = "feature_map", "fit_intercept", "cache_size", "class_weight"
        shared = {name: getattr(self, name) for name in names}
        model = hand_over(self, X, codes, weights, **shared)
        self.coef_, self.intercept_, self.feature_map_ = model.coef_, model.intercept_, model.feature_map_
        self.C_: float | None = model.C_
        self.ridge_ = self.penalty_ = np.nan

    def _fit_sums(self, rows: PartitionedRows) -> None:
        rng = check_random_state(self.random_state)
        held_out = (self.validation_fraction, int(rng.randint(2**31))) if self.early_stopping else None
        share = min(1.0, self.preconditioner_rows / rows.n_rows)
        start = partial(SampledGram, rows, share, fit_intercept=self.fit_intercept)
        found = rows.sum(start, label=f"Gram matrix ({rows.n_features} features)", held_out=held_out)
        n_rows = int(found.counts.sum())

        def descents(system: RidgeSystem) -> Descents:
            return partial(self._descended_in_partitions, rows, held_out, system, found.counts, rng)

        self._descend(descents, found.system, n_rows, watched=n_rows < rows.n_rows)

    def _moment(
        self, X: Any, rows: np.ndarray, weights: np.ndarray | None, rng: np.random.RandomState
    ) -> RidgeSystem:
        """Return the second moment of the features of some of the rows."""
        sample = rows
        if len(rows) > self.preconditioner_rows:
            sample = np.sort(rng.choice(rows, self.preconditioner_rows, replace=False))
        blocks = FeatureBlocks(X if len(sample) == X.shape[0] else X[sample], self.feature_map_)
        some = None if weights is None else weights[sample]
        return gram_system(blocks, some, fit_intercept=self.fit_intercept)

    def _ridges(self, n_features: int, n_rows: int) -> tuple[float, ...]:
        """Return the ridges to try in turn for so many training rows, while passes end early."""
        if self.ridge != "auto":
            return (float(self.ridge),)
        if n_rows >= ROWS_PER_FEATURE * n_features:
            return MANY_ROWS_RIDGE, FEW_ROWS_RIDGE
        return (FEW_ROWS_RIDGE * min(1.0, n_features / n_rows),)

    def _descend(
        self, descents: Callable[[RidgeSystem], Descents], moment: RidgeSystem, n_rows: int, *, watched: bool
    ) -> None:
        """Descend with the ridge and the step length given or found, and set the fitted attributes."""
        tried: list[tuple[Descended, RidgeSystem, float, float]] = []
        ridges = self._ridges(len(moment.mean), n_rows)[: None if watched else 1]
        for ridge in ridges:
            system = (moment if ridge == ridges[-1] else copy.deepcopy(moment)).factor(ridge * moment.n_rows)
            found, length = self._with_length(descents(system), n_rows, watched=watched)
            tried.append((found, system, ridge, length))
            if len(found.losses) == self.max_iter:
                break
        found, system, self.ridge_, length = min(tried, key=lambda one: one[0].held_out_losses.min())
        if watched and found.best_epoch == 1 < self.max_iter and self._warns:
            warnings.warn(
                "StochasticLogistic: the held-out loss is smallest after the first pass, with"
                f" learning_rate={self.learning_rate!r} and ridge={self.ridge_:g}. Use a learning_rate of"
                f" {length / 10:g}, or a larger ridge where features are many for the rows.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coef, shift = system.unwhiten(found.weights[:-1])
        intercept = found.weights[-1] + shift if self.fit_intercept else np.zeros(len(self.classes_))
        self._set_maps(coef, intercept)
        self.C_, self.penalty_ = None, system.penalty
        self.n_iter_ = found.best_epoch
        self.loss_curve_, self.validation_curve_ = found.losses, found.held_out_losses

    def _with_length(self, descended: Descents, n_rows: int, *, watched: bool) -> tuple[Descended, float]:
        """Descend with the step length given or found; return it, too."""
        adapts = self.learning_rate == "auto"
        length = FIRST_STEP if adapts else float(self.learning_rate)
        found = descended(length)
        few = n_rows * self.max_iter < FEW_STEPS * self._rows_at_once(n_rows)
        for _ in range(RESTARTS if adapts and watched else 0):
            short = few and found.best_epoch == self.max_iter
            if not short and found.best_epoch > EARLY_PASSES:
                break
            length *= 4 if short else 1 / 4
            again = descended(length)
            if again.held_out_losses.min() >= found.held_out_losses.min():
                break
            found = again
        return found, length

    def _rows_at_once(self, n_rows: int) -> int:
        auto = min(max(n_rows // 200, 32), LARGEST_BATCH)
        return auto if self.batch_size == "auto" else int(self.batch_size)

    def _descended(
        self,
        features: PreconditionedFeatures,
        targets: Targets,
        watched: tuple[PreconditionedFeatures, Targets] | None,
        rng: np.random.RandomState,
        length: float,
    ) -> Descended:
        """Descend from the label frequencies with this first step length."""
        descent = self._descent(length, features, prior_logits(targets, multinomial=True))
        loss = partial(mean_loss, multinomial_loss, descent.weights, *watched) if watched else None
        return descend(
            descent,
            descent.epochs(features, targets, rng),
            n_epochs=self.max_iter,
            held_out_loss=loss,
            patience=self.n_iter_no_change,
        )

    def _descended_in_partitions(
        self,
        rows: PartitionedRows,
        held_out: HeldOut,
        system: RidgeSystem,
        counts: np.ndarray,
        rng: np.random.RandomState,
        length: float,
    ) -> Descended:
        """Descend over rows in partitions, of which ``counts`` of each class are not held out."""
        n_rows, n_classes = int(counts.sum()), len(counts)
        prior = np.log((counts + 0.5) / (n_rows + 0.5 * n_classes))
        descent = self._descent(length, rows, prior, n_rows)

        def minibatches() -> Iterator[tuple[LinearOperator, Targets]]:
            chunks = shuffled_chunks(rows, held_out, descent.batch_size, self._cache_megabytes(), rng)
            for X, codes, places in chunks:
                every = np.arange(len(codes))
                features = PreconditionedFeatures(X, rows.feature_map, system, every, cache_size=0)
                for start in range(0, len(places), descent.batch_size):
                    batch = places[start : start + descent.batch_size]
                    yield features[batch], class_targets(codes[batch], n_classes)

        def held_out_loss() -> float:
            coef, shift = system.unwhiten(descent.weights[:-1])
            start = partial(
                HeldOutLoss, coef.astype(rows.dtype), (shift + descent.weights[-1]).astype(rows.dtype)
            )
            found = rows.sum(start, held_out=held_out)
            return float(found.total / found.n_rows)

        return descend(
            descent,
            descent.passes(minibatches, n_rows),
            n_epochs=self.max_iter,
            held_out_loss=held_out_loss if n_rows < rows.n_rows else None,
            patience=self.n_iter_no_change,
        )

    def _descent(
        self,
        length: float,
        features: PreconditionedFeatures | PartitionedRows,
        prior: np.ndarray,
        n_rows: int | None = None,
    ) -> StochasticDescent:
        weights = np.zeros((features.n_features + 1, len(self.classes_)), dtype=features.dtype)
        if self.fit_intercept:
            weights[-1] = prior
        batch_size = self._rows_at_once(n_rows or features.n_rows)
        return StochasticDescent(multinomial_loss, length, batch_size, self.max_iter, weights)
