"""Multinomial logistic regression by L-BFGS, preconditioned by the second moment of the features."""

from __future__ import annotations

import logging
import warnings
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot

from eigenbench.methods.classifiers.logistic_objective import (
    SAMPLE_RIDGE,
    Descent,
    Evaluation,
    LogisticObjective,
    descend,
)
from eigenbench.methods.classifiers.partitioned_fit import (
    HeldOut,
    PartitionedFit,
    PartitionedRows,
    SampledGram,
)
from eigenbench.methods.classifiers.streamed import (
    EarlyStopping,
    StreamedClassifier,
    climb,
    hold_out,
    stratified_folds,
)
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.ridge_system import gram_system
from eigenbench.methods.linalg.row_blocks import FeatureBlocks
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER, Interval, StrOptions

logger = logging.getLogger(__name__)

#: Rows of the preconditioner's sample, where there are not more for each feature.
SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE = 10_000, 2

#: Values of C to choose from, in units of one over the mean variance of a feature, and the first one tried;
#: with fewer rows than so many for each feature, how many of them; and the tolerance of descents until then.
PATH, FIRST_C, ROWS_PER_FEATURE, WIDE_PATH, PATH_TOL = tuple(10.0**k for k in range(-5, 4)), 4, 10, 6, 1e-4

#: Up to so many rows C is chosen on as many folds, and beyond on the share that is held out; with more rows
#: than ROWS_TO_STOP and few for each feature these also say when to stop.
FEW_ROWS, N_FOLDS, ROWS_TO_STOP = 500, 5, 1000


class SecondOrderLogistic(PartitionedFit, EarlyStopping, StreamedClassifier):
    r"""Multinomial logistic regression by L-BFGS on whitened features.

    Minimises :math:`C \sum_i \ell(y_i, f_i) + \frac12 \|W\|^2`, the objective of scikit-learn's
    ``LogisticRegression``. The Hessian is at most ½ Σ for every class, with Σ the second moment of the
    features (Böhning's bound), so one Cholesky factor of it, or of that of a sample of rows, preconditions
    all steps, as in [1]_. Where the bound is loose, for rows that are classified with confidence, the
    quasi-Newton steps of L-BFGS-B [2]_ make up for it.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the penalty, as in ``LogisticRegression``; infinite for none. The intercept is
        not penalised. "auto" climbs over powers of ten, in units of one over the mean variance of a feature,
        to the least held-out loss; then all rows are used. With fewer than 10·D rows for D features C is at
        most one of these units, and beyond 1,000 rows the number of steps is chosen too.
    max_iter : int, default=100
        Largest number of passes over the data after the first, in each descent.
    tol : float, default=1e-6
        Stop when the bound on the Hessian says that no step lowers the mean loss by more than this, in nats.
    early_stopping : bool or "auto", default="auto"
        Whether to hold out rows, return the iterate of smallest held-out loss, and stop when it no longer
        improves, where C is a number; "auto" does. With ``C="auto"`` rows are held out to choose C alone.
        When no class has two rows to share, nothing is held out, and C is 1.
    validation_fraction : float, default=0.1
        Share of the rows that is held out; up to 500 rows C is chosen on five folds.
    n_iter_no_change : int, default=10
        Stop after this many iterations without a better held-out loss.
    feature_map : transformer or None, default=None
        Maps the rows of X to features; a clone is fitted in ``fit``: on the rows that are not held out where
        C is a number, on all rows with ``C="auto"``. Wrap a map that is fitted already in
        :class:`sklearn.frozen.FrozenEstimator` to use it as it is. If a map saw the labels of rows that are
        held out here, their loss is optimistic: the fit stops late, and C is large. It must treat each row
        alone.
    fit_intercept : bool, default=True
        Whether to add a constant feature.
    cache_size : float or "auto", default="auto"
        Memory for feature blocks kept between passes, in MB. Blocks beyond it are computed again in every
        pass; the result does not depend on it. "auto" takes half of this job's part of the free memory.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes in the loss, which multiply those of their rows; "balanced" makes those of all
        classes add up to the same. The feature map does not get them.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of held-out rows and of the sample.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coef_ : ndarray of shape (c, D), or (1, D) for two classes, float64
        Weights.
    intercept_ : ndarray of shape (c,), or (1,), float64
        Intercepts.
    C_ : float
        The C that was used.
    n_iter_ : int
        Number of points evaluated, one pass over the data each.
    best_iter_ : int
        Position in the curves of the point that was kept.
    loss_curve_ : ndarray of shape (n_iter,)
        Mean log loss plus penalty on the rows trained on, in nats, at each point.
    validation_curve_ : ndarray of shape (n_iter,)
        Mean log loss on the held-out rows; NaN when nothing is held out of this descent.
    feature_map_ : transformer or None
        The fitted map.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Time: m·D² + D³/3 flops once, with m the rows of the preconditioner (two drawn at random for each feature,
    but at least 10,000, or all), then per iteration 4·n·D·c + 2·D²·c
    and the feature map over blocks that are not kept; with more features than rows and ``C="auto"`` n stands
    for D, after 2·n²·D + 9·n³ flops. Memory: 4·D² bytes (float32 features), ``cache_size``,
    some row blocks, and 200·D·c bytes. The preconditioner takes in held-out rows too, without labels; this
    only changes the path. In ``fit_partitions`` it is of the other rows, all of them, and held-out rows are
    drawn from each block for itself; nothing is kept between passes.

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
        "C": [Interval(Real, 0, None, closed="right"), StrOptions({"auto"})],
        "max_iter": [POSITIVE_INTEGER],
        "tol": [NOT_NEGATIVE],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "random_state": ["random_state"],
    }

    # The estimator that a user fits, and the remedy that it offers.
    _warns_as: tuple[str, str] = "SecondOrderLogistic", "Raise max_iter or tol, or lower C."

    def __init__(
        self,
        C: float | str = "auto",
        *,
        max_iter: int = 100,
        tol: float = 1e-6,
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        feature_map: Any = None,
        fit_intercept: bool = True,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping: Any = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.random_state = random_state

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        rng = check_random_state(self.random_state)
        none = np.zeros(len(codes), dtype=bool)
        held_out = hold_out(codes, self.validation_fraction, rng) if self._holds_out() else none
        stops = held_out.any() and self.C != "auto"
        if stops and self.feature_map is not None:
            seen = None if weights is None else weights[~held_out]
            self._fit_map(X[~held_out], self.classes_[codes[~held_out]], seen)
        else:
            self._fit_map(X, self.classes_[codes], weights)
        blocks = FeatureBlocks(X, self.feature_map_, cache_size=self._cache_megabytes())
        n_features, space = blocks.n_features, None
        if self.C == "auto" and n_features > len(codes):
            space = _RowSpace(blocks)
            blocks = FeatureBlocks(space.rows, None)
        weighed = self._weighed(codes, weights)
        ones = np.ones(len(codes), dtype=np.int64) if weighed is None else weighed
        sample, sample_weights = self._sampled(blocks, weighed, rng)
        moment = gram_system(sample, sample_weights, fit_intercept=self.fit_intercept)

        def objective(out: np.ndarray) -> LogisticObjective:
            rows = (codes, out) if weighed is None else (codes, out, weighed)
            return LogisticObjective(
                lambda start: accumulate(blocks, start, *rows),
                (blocks.n_features, len(self.classes_)),
                blocks.dtype,
                (ones[~out].sum(), ones[out].sum()),
                moment,
                0.0 if sample is blocks else SAMPLE_RIDGE,
            )

        where: tuple[Evaluation | None, int | None] = None, None
        if self.C == "auto":
            folds = [held_out]
            if held_out.any() and len(codes) <= FEW_ROWS:
                fold_of = stratified_folds(codes, N_FOLDS, rng)
                folds = [fold_of == fold for fold in range(N_FOLDS)]
            variance = moment.mean_variance() * sample.n_features / n_features
            if space is not None and variance < np.finfo(np.float64).eps * np.mean(space.rows**2):
                variance = 0.0  # constant rows but for rounding
            where = self._choose_C([objective(fold) for fold in folds if fold.any()], variance, n_features)
        best = self._minimise(objective(held_out if stops else none), *where)
        self._set_maps(best.coef if space is None else space.weights(best.coef), best.intercept)

    def _fit_sums(self, rows: PartitionedRows) -> None:
        held_out = None
        if self._holds_out():
            seed = check_random_state(self.random_state).randint(2**31)
            held_out = self.validation_fraction, int(seed)
        start = partial(SampledGram, rows, 1.0, fit_intercept=self.fit_intercept)
        found = rows.sum(start, label=f"Gram matrix ({rows.n_features} features)", held_out=held_out)

        n_rows = int(found.counts.sum())

        def objective(out: HeldOut, n_held_out: int) -> LogisticObjective:
            return LogisticObjective(
                partial(rows.sum, held_out=out),
                (rows.n_features, len(rows.classes)),
                rows.dtype,
                (rows.n_rows - n_held_out, n_held_out),
                found.system,
                0.0,
            )

        if self.C != "auto":
            best = self._minimise(objective(held_out, rows.n_rows - n_rows))
        else:
            watched = [objective(held_out, rows.n_rows - n_rows)] if n_rows < rows.n_rows else []
            where = self._choose_C(watched, found.system.mean_variance(), rows.n_features)
            best = self._minimise(objective(None, 0), *where)
        self._set_maps(best.coef, best.intercept)

    def _holds_out(self) -> bool:
        return self.C == "auto" or self.early_stopping is not False

    def _choose_C(
        self, objectives: list[LogisticObjective], variance: float, n_features: int
    ) -> tuple[Evaluation | None, int | None]:
        """Set ``C_`` to one of smallest held-out loss; return where to start with all rows, and for how long.

        Descents start where the one before ended and go to the optimum. Where rows are many, but few for each
        feature, held-out rows also say when to stop, and the last descent, on all rows, takes as many steps.
        Targets are smoothed as by Platt: where held-out rows are few and all are classified rightly, their
        loss falls with C for ever. So it does for features that were fitted to the labels of all rows;
        therefore C is bounded where features are many.
        """
        if not objectives:
            self.C_ = 1.0
            return None, None
        unit, n_rows = variance or 1.0, objectives[0].n_rows
        wide = n_rows < ROWS_PER_FEATURE * (n_features + 1)
        stops = wide and n_rows > ROWS_TO_STOP
        patience = self.n_iter_no_change if stops else None
        last: list[Evaluation | None] = [None] * len(objectives)
        first: dict[int, Descent] = {}
        miss = 1 / (sum(objective.n_held_out for objective in objectives) + 2)

        def error(position: int) -> float:
            total = 0.0
            for place, objective in enumerate(objectives):
                here, start = objective.at(PATH[position] / unit), None if stops else last[place]
                found = descend(here, start, self.max_iter, max(self.tol, PATH_TOL), patience)
                best = last[place] = found.best
                loss = (1 - miss) * best.held_out_loss + miss * best.uniform_loss
                total += loss * objective.n_held_out
                first.setdefault(position, found)
            logger.info("C=%.3g: held-out loss %.5f", PATH[position] / unit, total)
            return total

        position = climb(error, WIDE_PATH if wide else len(PATH), FIRST_C)
        self.C_, found = PATH[position] / unit, first[position]
        return (None, max(1, found.best_iter)) if stops else (found.best, None)

    def _sampled(
        self, blocks: FeatureBlocks, weights: np.ndarray | None, rng: np.random.RandomState
    ) -> tuple[FeatureBlocks, np.ndarray | None]:
        """Return the features that make the preconditioner, and the weights of their rows, if any."""
        size = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_FEATURE * blocks.n_features)
        if size >= blocks.n_rows:
            return blocks, weights
        rows = np.sort(rng.permutation(blocks.n_rows)[:size])
        sample = FeatureBlocks(blocks.X[rows], blocks.feature_map)
        return sample, None if weights is None else weights[rows]

    def _minimise(
        self, objective: LogisticObjective, start: Evaluation | None = None, n_steps: int | None = None
    ) -> Evaluation:
        """Follow L-BFGS, for some steps if not to the end, and return the best point."""
        if self.C != "auto":
            self.C_ = float(self.C)
        found = descend(
            objective.at(self.C_), start, n_steps or self.max_iter, self.tol, self.n_iter_no_change
        )
        self.best_iter_, self.n_iter_ = found.best_iter, len(found.losses)
        self.loss_curve_, self.validation_curve_ = np.array(found.losses), np.array(found.held_out_losses)
        if n_steps is None and not found.converged:
            name, cure = self._warns_as
            warnings.warn(
                f"{name}: max_iter={self.max_iter} passes did not come within tol={self.tol:g}"
                f" of the optimum for C={self.C_:.3g}. {cure}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found.best


def has_defaults(model: Any, *names: str) -> bool:
    """Say whether parameters of an estimator have the values of its constructor."""
    defaults = type(model)()
    return all(getattr(model, name) == getattr(defaults, name) for name in names)


def hand_over(owner: Any, X: Any, codes: np.ndarray, weights: Any, **parameters: Any) -> SecondOrderLogistic:
    """Return the model of few rows for a stochastic classifier, which gets the curves of the model."""
    model = SecondOrderLogistic(
        validation_fraction=owner.validation_fraction, random_state=owner.random_state, **parameters
    )
    model._warns_as = type(owner).__name__, "Scale the features."
    model._set_classes(owner.classes_)
    model._fit_codes(X, codes, weights)
    owner.n_iter_ = model.n_iter_
    owner.loss_curve_, owner.validation_curve_ = model.loss_curve_, model.validation_curve_
    return model


class _RowSpace:
    """Coordinates in the span of few rows (n, D), for which a penalised model is the same: (n, r), r ≤ n."""

    def __init__(self, blocks: FeatureBlocks) -> None:
        mapped = blocks.feature_map is not None
        self._features = np.concatenate([block for _, block in blocks]) if mapped else blocks.X
        features = self._features.astype(np.float64)
        gram = np.asarray_chkfinite(safe_sparse_dot(features, features.T, dense_output=True))
        packed, order, rank, _ = linalg.lapack.dpstrf(gram.T, lower=True)
        factor = np.tril(packed[:, : max(1, rank)])  # of zero rows a column of zeros
        self.rows = np.empty_like(factor, order="C")
        self.rows[order - 1] = factor
        self._factor, self._pivots = factor[:rank, :rank], order[:rank] - 1

    def weights(self, coef: np.ndarray) -> np.ndarray:
        """Return the weights (D, c) of features for weights (r, c) of coordinates."""
        dual = linalg.solve_triangular(self._factor, coef[: len(self._pivots)], lower=True, trans="T")
        return safe_sparse_dot(self._features[self._pivots].T, dual, dense_output=True)
