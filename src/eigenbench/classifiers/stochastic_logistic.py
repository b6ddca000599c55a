"""Multinomial logistic regression by preconditioned stochastic steps, on features made on the fly."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from eigenbench.classifiers.early_stopping import EarlyStopping
from eigenbench.classifiers.label_losses import Targets, multinomial_loss
from eigenbench.classifiers.logistic_decoder import (
    Descended,
    StochasticDescent,
    descend,
    mean_loss,
    prior_logits,
)
from eigenbench.classifiers.streamed import StreamedClassifier
from eigenbench.linalg.ridge_system import RidgeSystem
from eigenbench.linalg.row_blocks import BLOCK_BYTES, dense_block, row_slices
from eigenbench.linalg.row_threads import RowThreads, row_threads

#: Rows of a minibatch for many rows: enough for the two triangular solves of a step to cost little.
LARGEST_BATCH = 2048

#: The first step length by default; it is too long if the best pass is among the first so many; restarts.
FIRST_STEP, EARLY_PASSES, RESTARTS = 0.01, 2, 3

#: Fewer steps in all than this may be too short to arrive.
FEW_STEPS = 200

#: Fewer rows than this are not worth a thread.
SMALLEST_SHARE = 128

#: Places in a minibatch and the features of the rows there.
_Parts = list[tuple[np.ndarray, np.ndarray]]


class StochasticLogistic(EarlyStopping, StreamedClassifier):
    r"""Multinomial logistic regression by stochastic gradients in whitened coordinates.

    As for :class:`SecondOrderLogistic`, a Cholesky factor L of the second moment of the features is the
    preconditioner; but the moment is that of a sample of the rows, and steps are taken on minibatches (Adam,
    with lengths that fall linearly to zero), so that a few passes over the data do what takes full gradients
    many times as many. The rows are never whitened: with few classes it is cheaper to carry the weights and
    their gradients over, by two triangular solves for each minibatch. There is no penalty: passes end when
    the loss on held-out rows no longer improves.

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
    ridge : float, default=1e-3
        Added to the second moment of the sample, in units of the mean variance of a feature. It also bounds
        the steps along features that are almost or quite constant in the sample.
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
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    cache_size : float, default=1000
        Memory for features kept between passes, in MB. Those of the other rows are made again in every
        pass; the result does not depend on it but for rounding.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the loss, which multiply those of their rows; "balanced" makes those of all
        classes add up to the same. The feature map does not get them.
    random_state : int, RandomState instance or None, default=None
        Seed of the held-out rows, the sample, and the order of rows.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (c, D), float64
        Weights.
    intercept_ : ndarray of shape (c,), float64
        Intercepts.
    n_iter_ : int
        The pass after which the weights were kept.
    loss_curve_, validation_curve_ : ndarray
        Mean log loss in nats in each pass, of the rows as they were met, and after it, of the held-out rows
        (NaN without any).
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time: m·D² + D³/3 flops for a sample of m rows; then in each pass 4·n·D·c, 4·D²·c for each
    minibatch, and the feature map for rows that are not kept. Memory: 4·D² bytes, ``cache_size``, the
    features of a minibatch, and 40·D·c bytes. Rows with weights w are drawn as rows without, and a row's
    gradient is multiplied by its weight, so that the objective is the weighted mean of the losses, that of
    repeated rows; the steps are others. Features are made in as many threads as BLAS may have, each
    with a share of the rows and with one thread of BLAS.

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
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "preconditioner_rows": [Interval(Integral, 1, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        max_iter: int = 20,
        *,
        learning_rate: float | str = "auto",
        batch_size: int | str = "auto",
        preconditioner_rows: int = 50_000,
        ridge: float = 1e-3,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float = 1000,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.preconditioner_rows = preconditioner_rows
        self.ridge = ridge
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        rng = check_random_state(self.random_state)
        held_out = self._held_out(codes, rng)
        rows = np.flatnonzero(~held_out)
        everything = len(rows) == len(codes)
        seen = None if weights is None else weights[rows]
        self._fit_map(X if everything else X[rows], self.classes_[codes[rows]], seen)
        weights = self._weighed(codes, weights)
        system = self._preconditioner(X, rows, weights, rng)
        targets = Targets(self._indicator(codes), weights)
        with row_threads() as threads:
            whitened = partial(_PreconditionedFeatures, X, self.feature_map_, system, threads)
            features = whitened(rows, cache_size=self.cache_size)
            watched = None
            if held_out.any():
                unseen = np.flatnonzero(held_out)
                kept = max(0.0, self.cache_size - features.kept_megabytes)
                watched = whitened(unseen, cache_size=kept), targets[unseen].normalised()
            self._descend(features, targets[rows].normalised(), watched, rng)

    def _preconditioner(
        self, X: Any, rows: np.ndarray, weights: np.ndarray | None, rng: np.random.RandomState
    ) -> RidgeSystem:
        """Return the factored second moment of the features of some of the rows."""
        sample = rows
        if len(rows) > self.preconditioner_rows:
            sample = np.sort(rng.choice(rows, self.preconditioner_rows, replace=False))
        first = _features(X[sample[:1]], self.feature_map_)
        system = RidgeSystem(first.shape[1], first.dtype, fit_intercept=self.fit_intercept)
        for here in row_slices(len(sample), first.nbytes):
            some = None if weights is None else weights[sample[here]]
            system.add(_features(X[sample[here]], self.feature_map_), some)
        return system.factor(self.ridge * system.n_rows)

    def _indicator(self, codes: np.ndarray) -> sparse.csr_array:
        shape = (len(codes), len(self.classes_))
        return sparse.csr_array((np.ones(shape[0], np.float32), (np.arange(shape[0]), codes)), shape=shape)

    def _descend(
        self,
        features: _PreconditionedFeatures,
        targets: Targets,
        watched: tuple[_PreconditionedFeatures, Targets] | None,
        rng: np.random.RandomState,
    ) -> None:
        adapts = self.learning_rate == "auto"
        length = FIRST_STEP if adapts else float(self.learning_rate)
        found = self._descended(length, features, targets, watched, rng)
        few = features.n_rows * self.max_iter < FEW_STEPS * self._rows_at_once(features.n_rows)
        for _ in range(RESTARTS if adapts and watched else 0):
            short = few and found.best_epoch == self.max_iter
            if not short and found.best_epoch > EARLY_PASSES:
                break
            length *= 4 if short else 1 / 4
            again = self._descended(length, features, targets, watched, rng)
            if again.held_out_losses.min() >= found.held_out_losses.min():
                break
            found = again
        if watched and found.best_epoch == 1 < self.max_iter:
            warnings.warn(
                "the held-out loss of StochasticLogistic is smallest after the first pass: its steps are too"
                f" long for these data (learning_rate={self.learning_rate!r}), or its features too many.",
                ConvergenceWarning,
                stacklevel=4,
            )
        coef, shift = features.system.unwhiten(found.weights[:-1])
        self.coef_ = np.ascontiguousarray(coef.T, dtype=np.float64)
        self.intercept_ = found.weights[-1] + shift if self.fit_intercept else np.zeros(len(self.classes_))
        self.n_iter_ = found.best_epoch
        self.loss_curve_, self.validation_curve_ = found.losses, found.held_out_losses

    def _rows_at_once(self, n_rows: int) -> int:
        auto = min(max(n_rows // 200, 32), LARGEST_BATCH)
        return auto if self.batch_size == "auto" else int(self.batch_size)

    def _descended(
        self,
        length: float,
        features: _PreconditionedFeatures,
        targets: Targets,
        watched: tuple[_PreconditionedFeatures, Targets] | None,
        rng: np.random.RandomState,
    ) -> Descended:
        """Descend from the label frequencies with this first step length."""
        weights = np.zeros((features.n_features + 1, len(self.classes_)), dtype=features.dtype)
        if self.fit_intercept:
            weights[-1] = prior_logits(targets, multinomial=True)
        batch_size = self._rows_at_once(features.n_rows)
        return descend(
            StochasticDescent(multinomial_loss, length, batch_size, self.max_iter, weights),
            features,
            targets,
            rng,
            n_epochs=self.max_iter,
            held_out_loss=partial(mean_loss, multinomial_loss, weights, *watched) if watched else None,
            patience=self.n_iter_no_change,
        )


def _features(X: Any, feature_map: Any) -> np.ndarray:
    return dense_block(X if feature_map is None else feature_map.transform(X))


class _PreconditionedFeatures:
    """Features of some rows of X in whitened coordinates, as operators; the first ones are kept in memory."""

    def __init__(
        self,
        X: Any,
        feature_map: Any,
        system: RidgeSystem,
        threads: RowThreads,
        rows: np.ndarray,
        *,
        cache_size: float,
    ) -> None:
        self._X, self._rows, self._feature_map, self.system = X, rows, feature_map, system
        self._threads = threads
        first = _features(X[rows[:1]], feature_map)
        self.n_rows, self.n_features, self.dtype = len(rows), first.shape[1], first.dtype
        self._with_intercept = system.fit_intercept
        n_kept = 0 if feature_map is None else int(min(self.n_rows, cache_size * 2**20 // first.nbytes))
        self._kept = np.empty((n_kept, self.n_features), dtype=self.dtype)
        slices = row_slices(n_kept, first.nbytes, BLOCK_BYTES // threads.n_threads)
        for _ in threads.map(self._keep, slices):
            pass
        self.kept_megabytes = self._kept.nbytes / 2**20

    def _keep(self, here: slice) -> None:
        self._kept[here] = self._made(np.arange(here.start, here.stop))

    def _made(self, positions: np.ndarray) -> np.ndarray:
        return _features(self._X[self._rows[positions]], self._feature_map)

    def _part(self, positions: np.ndarray) -> np.ndarray:
        """Return the features at some positions, all of them kept or none."""
        return self._kept[positions] if positions[0] < len(self._kept) else self._made(positions)

    def __getitem__(self, positions: Any) -> LinearOperator:
        """Return the operator (b, D + 1) of the rows at some positions."""
        if isinstance(positions, slice):
            positions = np.arange(self.n_rows)[positions]
        kept = positions < len(self._kept)
        groups = np.flatnonzero(kept), np.flatnonzero(~kept)
        places = [share for group in groups for share in self._threads.shares(group, SMALLEST_SHARE)]
        features = self._threads.map(self._part, (positions[place] for place in places))
        parts = list(zip(places, features, strict=True))
        return LinearOperator(
            (len(positions), self.n_features + 1),
            matvec=partial(self._logits, parts),
            matmat=partial(self._logits, parts),
            rmatmat=partial(self._gradient, parts),
            dtype=self.dtype,
        )

    def _logits(self, parts: _Parts, weights: np.ndarray) -> np.ndarray:
        coef, shift = self.system.unwhiten(weights[:-1])
        coef = coef.astype(self.dtype, copy=False)
        logits = np.empty((sum(len(place) for place, _ in parts), *coef.shape[1:]), dtype=self.dtype)
        products = self._threads.map(lambda part: part[1] @ coef, parts)
        for (place, _), product in zip(parts, products, strict=True):
            logits[place] = product
        logits += (shift + weights[-1]).astype(self.dtype)
        return logits

    def _gradient(self, parts: _Parts, residual: np.ndarray) -> np.ndarray:
        total = residual.sum(axis=0)
        cross = sum(self._threads.map(lambda part: part[1].T @ residual[part[0]], parts))
        cross = self.system.whitened_cross(cross, total)
        constant = total if self._with_intercept else np.zeros_like(total)
        return np.vstack([cross, constant]).astype(self.dtype, copy=False)
