"""Multinomial logistic regression on a stream of rows with a growing number of random features."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.classifiers.row_weights import CLASS_WEIGHTS, mean_one, with_class_weights
from eigenbench.methods.classifiers.score_classifier import OneLabelClassifier
from eigenbench.methods.linalg.row_blocks import FLOAT_TYPES, checked_weights, row_slices, validated
from eigenbench.methods.parameter_constraints import (
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    HasMethods,
    Interval,
)

_MAX_SEED = np.iinfo(np.int32).max


class DoublyStochasticLogistic(OneLabelClassifier):
    r"""Kernel logistic regression by doubly stochastic gradients.

    The functional gradient of the logistic loss is estimated with two independent samples, a batch of rows
    and a block of random features [1]_. The model is :math:`f(x) = \sum_k \theta_k^\top z_k(x)`: block k
    maps rows by its own draw of ``feature_map``. A step computes f for a batch from all blocks, and changes
    the coefficients of one:

    .. math:: \theta_k \leftarrow \theta_k - \gamma_m \left(\tfrac12 \Sigma_k + \delta I\right)^{-1}
              \left(\tfrac1b Z_k^\top (P - Y) + \alpha \theta_k\right).

    Every step draws a new block until there are ``n_components`` features; from then on the blocks take
    turns in random order. Σ_k is the mean second moment of the block's features over the batches of its
    steps; with weights of rows Σ_k and the gradient are weighted means, so that the objective is that of
    repeated rows, of which other batches are drawn. ½Σ_k bounds the Hessian of the loss (Böhning), as in
    [2]_. Steps shrink with the number m of earlier steps of the block,
    :math:`\gamma_m = \gamma / (1 + m / h)`.

    Parameters
    ----------
    feature_map : transformer or None, default=None
        The unfitted random map with parameters ``n_components`` and ``random_state``; clones of it are
        fitted for the blocks. None stands for scikit-learn's ``RBFSampler(gamma="scale")``.
    n_components : int, default=2048
        Number of random features D, at least; it may be raised between calls of ``partial_fit``.
    block_size : int, default=256
        Features r drawn in one step.
    batch_size : int, default=1024
        Rows b of one step.
    step_size : float, default=1.0
        γ, the length of a block's first step; 1 minimises the bound on the loss of the batch.
    halving : float, default=10.0
        h, the number of steps of a block after which its step is halved.
    damping : float, default=0.1
        δ as a multiple of the mean of the diagonal of ½Σ_k; it must be larger where b is not much larger
        than r.
    alpha : float, default=1e-6
        Weight of the penalty ½α‖θ‖² beside the mean loss. The inner products of every block estimate the
        whole kernel, so with B blocks this is the penalty (α/2B)‖f‖² in the kernel's function space.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply those of the rows; "balanced", for ``fit`` only, makes all
        classes weigh the same.
    max_iter : int, default=20
        Passes over the rows in ``fit``.
    random_state : int, RandomState instance or None, default=None
        Seed of the blocks, of their order, and of the order of rows in ``fit``.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        Class labels.
    coefs_ : list of ndarray of shape (r, c)
        Coefficients θ of every block, in the type of the rows first seen.
    seeds_ : list of int
        The ``random_state`` of every block's map.
    t_ : int
        Number of steps taken.
    error_curve_ : list of float
        Share of the rows of each step that were misclassified before the step: progressive validation
        where rows do not come twice.
    n_iter_ : int
        Passes over the rows made by ``fit``.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    A step costs the features of b rows, 2·b·D·c flops for f, b·r² for Σ_k and r³/3 to factor it.
    Memory: r·c + r² values for each block, the fitted maps, and b·r features.

    References
    ----------
    .. [1] B. Dai, B. Xie, N. He, Y. Liang, A. Raj, M.-F. Balcan and L. Song, "Scalable kernel methods via
       doubly stochastic gradients", NIPS 2014, Algorithms 1 and 2.
    .. [2] A. Agarwal, S. Kakade, N. Karampatziakis, L. Song and G. Valiant, "Least squares revisited:
       scalable approaches for multi-class prediction", ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenbench import DoublyStochasticLogistic
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(DoublyStochasticLogistic(n_components=256, random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    _row_checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": FLOAT_TYPES}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "feature_map": [HasMethods(["fit", "transform"]), None],
        "n_components": [POSITIVE_INTEGER],
        "block_size": [POSITIVE_INTEGER],
        "batch_size": [POSITIVE_INTEGER],
        "step_size": [Interval(Real, 0, 2, closed="neither")],
        "halving": [POSITIVE],
        "damping": [POSITIVE],
        "alpha": [NOT_NEGATIVE],
        "class_weight": CLASS_WEIGHTS,
        "max_iter": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        feature_map: Any = None,
        *,
        n_components: int = 2048,
        block_size: int = 256,
        batch_size: int = 1024,
        step_size: float = 1.0,
        halving: float = 10.0,
        damping: float = 0.1,
        alpha: float = 1e-6,
        class_weight: Any = None,
        max_iter: int = 20,
        random_state: Any = None,
    ) -> None:
        self.feature_map = feature_map
        self.n_components = n_components
        self.block_size = block_size
        self.batch_size = batch_size
        self.step_size = step_size
        self.halving = halving
        self.damping = damping
        self.alpha = alpha
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit_codes(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        self._start(X)
        weights = mean_one(with_class_weights(self.class_weight, self.classes_, codes, weights))
        for _ in range(self.max_iter):
            self._learn(X, codes, weights, self._rng.permutation(len(codes)))
        self.n_iter_ = self.max_iter

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> DoublyStochasticLogistic:
        """Learn from further rows: one step for every ``batch_size`` of them, in the given order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (c,), optional
            All labels that will occur; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0, which multiply the losses of the rows; they should be about one in the mean over all
            calls, as the penalty ``alpha`` stands beside the mean loss.

        Returns
        -------
        self : DoublyStochasticLogistic

        Raises
        ------
        ValueError
            If ``classes`` is missing in the first call or differs from it later, if y holds another label,
            if a weight is negative, or if ``class_weight="balanced"``, which needs all rows at once.
        """
        self._validate_params()
        if self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" needs all rows at once: give a dict to partial_fit.')
        first = not hasattr(self, "coefs_")
        X, y = validated(self, X, y, **self._row_checks, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._set_classes(np.unique(classes))
            self._start(X)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"classes={classes!r} is not the same as in the first call: {self.classes_!r}.")
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(f"y holds labels that are not in classes: {unknown[:5].tolist()}.")
        codes = np.searchsorted(self.classes_, y)
        weights = checked_weights(sample_weight, X)
        weights = with_class_weights(self.class_weight, self.classes_, codes, weights)
        self._learn(X, codes, weights, np.arange(len(y)))
        return self

    def _start(self, X: Any) -> None:
        """Forget everything learned; keep some rows for the maps to be fitted on."""
        self._rng = check_random_state(self.random_state)
        self._reference = X[: self.batch_size].copy()
        self._maps: list[Any] = []
        self._moments: list[np.ndarray] = []
        self._visits: list[int] = []
        self._turns: list[int] = []
        self.coefs_: list[np.ndarray] = []
        self.seeds_: list[int] = []
        self.error_curve_: list[float] = []
        self.t_ = 0

    def _learn(self, X: Any, codes: np.ndarray, weights: np.ndarray | None, order: np.ndarray) -> None:
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            self._step(X[rows], codes[rows], None if weights is None else weights[rows].astype(X.dtype))

    def _step(self, X: Any, codes: np.ndarray, weights: np.ndarray | None) -> None:
        """Move the coefficients of one block down the gradient of the loss of one batch."""
        chosen = self._next_block()
        scores = np.zeros((len(codes), len(self.classes_)), dtype=X.dtype)
        for block, coef in enumerate(self.coefs_):
            mapped = self._maps[block].transform(X)
            scores += mapped @ coef
            if block == chosen:
                features = mapped
        self.error_curve_.append(float(np.mean(scores.argmax(axis=1) != codes)))
        residual = softmax(scores, axis=1)
        residual[np.arange(len(codes)), codes] -= 1
        weighed = features
        if weights is not None:
            residual *= weights[:, None]
            weighed = features * weights[:, None]
        coef, moment = self.coefs_[chosen], self._moments[chosen]
        gradient = features.T @ residual / coef.dtype.type(len(codes)) + self.alpha * coef
        visits = self._visits[chosen]
        moment += (features.T @ weighed / len(codes) - moment) / (visits + 1)
        coef -= self.step_size / (1 + visits / self.halving) * self._precondition(moment, gradient)
        self._visits[chosen] += 1
        self.t_ += 1

    def _next_block(self) -> int:
        """Draw a new block, or, when there are enough, take the next one of the round."""
        if len(self.coefs_) * self.block_size < self.n_components:
            self.seeds_.append(int(self._rng.randint(_MAX_SEED)))
            dtype = self._reference.dtype
            self.coefs_.append(np.zeros((self.block_size, len(self.classes_)), dtype=dtype))
            self._moments.append(np.zeros((self.block_size, self.block_size), dtype=dtype))
            self._visits.append(0)
            self._turns = []
            self._maps.append(self._draw(self.seeds_[-1]))
            return len(self.coefs_) - 1
        if not self._turns:
            self._turns = self._rng.permutation(len(self.coefs_)).tolist()
        return self._turns.pop()

    def _precondition(self, moment: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        bound = 0.5 * moment
        bound.flat[:: self.block_size + 1] += self.damping * np.trace(bound) / self.block_size
        # A block of zero features has no gradient either; any positive bound keeps its coefficients zero.
        if not bound.any():
            return gradient
        return cho_solve(cho_factor(bound, overwrite_a=True, check_finite=False), gradient)

    def _draw(self, seed: int) -> Any:
        prototype = RBFSampler(gamma="scale") if self.feature_map is None else clone(self.feature_map)
        prototype.set_params(n_components=self.block_size, random_state=seed)
        return prototype.fit(self._reference)

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        scores = np.zeros((X.shape[0], len(self.classes_)), dtype=X.dtype)
        for block, coef in enumerate(self.coefs_):
            drawn = self._maps[block]
            for rows in row_slices(X.shape[0], self.block_size * X.dtype.itemsize):
                scores[rows] += drawn.transform(X[rows]) @ coef
        yield slice(0, X.shape[0]), scores
