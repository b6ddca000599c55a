"""Linear support vector machines with the squared hinge loss, by Newton steps or in the dual."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.exceptions import ConvergenceWarning

#: Bytes of features that one step of a pass reads: they are used twice, so they should stay in the cache.
_BLOCK_BYTES = 2 * 2**20
_SAMPLE_ROWS = 1000
#: Conjugate gradients stop when the residual is this much smaller, in the norm of the preconditioner.
_FORCING = 0.1
_MAX_CONJUGATE_STEPS = 200
_MAX_SEARCH_STEPS = 30


class SquaredHinge:
    r"""The objective of scikit-learn's ``LinearSVC`` for several machines on the same rows.

    For each column t of signs (n, c) it is :math:`\frac12 \|w\|^2 + C \sum_i \max(0, 1 - t_i w^\top (z_i,
    1))^2`: the intercept is the weight of a constant feature and is penalised, as there. It is minimised by
    generalised Newton steps with exact line search (S. S. Keerthi and D. DeCoste, "A modified finite Newton
    method for fast solution of large scale linear SVMs", JMLR 6, 2005). The steps are found by conjugate
    gradients, preconditioned by the second moment of m = 1,000 rows; all machines share every pass over the
    features, which are never copied. A pass costs 4·n·D·c flops and a fit takes some tens; the preconditioner
    2·m²·D flops once and 4·m·D·c in every pass. ``LinearSVC`` makes 16 bytes of every value instead.
    """

    def __init__(self, features: np.ndarray, signs: np.ndarray) -> None:
        self.features = features
        self.signs = np.asarray(signs, dtype=features.dtype)
        self._directions, self._moments = _principal_directions(features)

    def minimise(
        self, C: float, *, start: np.ndarray | None = None, tol: float = 1e-3, max_iter: int = 100
    ) -> np.ndarray:
        """Return the weights (D + 1, c) of least objective; the last row holds the intercepts.

        ``start`` may be the result for a smaller C. It ends when the next Newton step would lower every
        objective by less than ``tol`` of it, or after ``max_iter`` steps, with a ``ConvergenceWarning``.
        """
        signs = self.signs
        if start is None:
            start = np.zeros((self.features.shape[1] + 1, signs.shape[1]))
        weights = start.astype(signs.dtype)
        for _ in range(max_iter):
            pulled, scores = self._passed(
                weights, lambda scores, rows: signs[rows] * np.maximum(1 - signs[rows] * scores, 0)
            )
            gradient = weights - 2 * C * pulled
            margins = 1 - signs * scores
            step, moved = self._newton_step(gradient, margins > 0, C)
            objective = 0.5 * np.sum(weights**2, axis=0) + C * np.sum(np.maximum(margins, 0) ** 2, axis=0)
            decrease = -0.5 * np.sum(gradient * step, axis=0)
            inner, squared = np.sum(weights * step, axis=0), np.sum(step**2, axis=0)
            weights = weights + step * line_search(inner, squared, margins, signs * moved, C)
            if (decrease <= tol * objective).all():
                return weights
        warn_of_limit(C, max_iter, tol)
        return weights

    def _passed(
        self, weights: np.ndarray, weigh: Callable[[np.ndarray, slice], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return Zᵀ weigh(Z w) and Z w, reading the features Z (with their constant) from memory once."""
        n, width = self.features.shape
        step = max(16, _BLOCK_BYTES // (width * self.features.itemsize))
        collected = np.zeros_like(weights)
        scores = np.empty((n, weights.shape[1]), dtype=weights.dtype)
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            block = self.features[rows]
            scores[rows] = decision_values(block, weights)
            weighed = weigh(scores[rows], rows)
            collected[:-1] += block.T @ weighed
            collected[-1] += weighed.sum(axis=0)
        return collected, scores

    def _newton_step(
        self, gradient: np.ndarray, active: np.ndarray, C: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve (I + 2C ZᵀAZ) step = -gradient by conjugate gradients; return the step and Z step."""
        tiny = np.finfo(gradient.dtype).tiny
        stretch = 2 * C * np.count_nonzero(active, axis=0)
        active = active.astype(gradient.dtype)
        step = np.zeros_like(gradient)
        moved = np.zeros_like(active)
        residual = -gradient
        direction = preconditioned = self._preconditioned(residual, stretch)
        product = np.sum(residual * preconditioned, axis=0)
        target = _FORCING**2 * product
        for _ in range(_MAX_CONJUGATE_STEPS):
            collected, along = self._passed(direction, lambda scores, rows: active[rows] * scores)
            curved = direction + 2 * C * collected
            length = product / np.maximum(np.sum(direction * curved, axis=0), tiny)
            length[product <= target] = 0
            step += length * direction
            moved += length * along
            residual -= length * curved
            preconditioned = self._preconditioned(residual, stretch)
            following = np.sum(residual * preconditioned, axis=0)
            if (following <= target).all():
                break
            direction = preconditioned + following / np.maximum(product, tiny) * direction
            product = following
        return step, moved

    def _preconditioned(self, vectors: np.ndarray, stretch: np.ndarray) -> np.ndarray:
        """Apply the inverse of I + stretch · (second moment of the sample) to each column."""
        shrink = 1 / (1 + np.outer(self._moments, stretch)) - 1
        inside = self._directions.T @ vectors
        return vectors + self._directions @ (shrink.astype(vectors.dtype) * inside)


def _principal_directions(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal eigenvectors and eigenvalues of the second moment of sampled rows (z, 1)."""
    sample = features[:: -(-len(features) // _SAMPLE_ROWS)]
    sample = np.column_stack([sample, np.ones(len(sample), dtype=sample.dtype)])
    gram = (sample @ sample.T).astype(np.float64) / len(sample)
    moments, vectors = eigh(gram, overwrite_a=True, check_finite=False)
    # Below this the eigenvectors of a float32 Gram matrix are noise, and a unit penalty rules anyway.
    kept = moments > 1e-6 * moments[-1]
    directions = sample.T @ (vectors[:, kept] / np.sqrt(len(sample) * moments[kept])).astype(sample.dtype)
    return directions, moments[kept]


def decision_values(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the scores (n, c) of rows for weights that `SquaredHinge.minimise` returned."""
    return features @ weights[:-1] + weights[-1]


def warn_of_limit(C: float, max_iter: int, tol: float) -> None:
    """Warn that Newton's method ended at its limit."""
    warnings.warn(
        f"squared hinge, C={C:g}: after {max_iter} Newton steps the next would still lower an objective "
        f"by more than tol={tol:g} of it. Raise max_iter or tol, or lower C.",
        ConvergenceWarning,
        stacklevel=3,
    )


def line_search(
    inner: np.ndarray, squared: np.ndarray, margins: np.ndarray, moved: np.ndarray, C: float
) -> np.ndarray:
    """Return for each machine the length s that minimises its objective at weights + s·step.

    The objective is convex and piecewise quadratic in s: Newton's method on its derivative ends at the
    minimum. ``inner`` is weights·step, ``squared`` step·step; margins fall at the rate ``moved`` (n, c).
    """
    length = np.ones(margins.shape[1], dtype=margins.dtype)
    for _ in range(_MAX_SEARCH_STEPS):
        left = margins - length * moved
        active = left > 0
        slope = inner + length * squared - 2 * C * np.sum(active * left * moved, axis=0)
        curvature = squared + 2 * C * np.sum(active * moved**2, axis=0)
        change = slope / np.maximum(curvature, np.finfo(curvature.dtype).tiny)
        length -= change
        if np.abs(change).max() <= 1e-3:
            break
    return length


#: So many rows are solved for together at the start, as if all were active.
_FEW_ROWS = 500
#: Scores are sums of sums of so many terms, because long sums in single precision lose digits.
_TERMS = 16


def inner_products(features: np.ndarray) -> np.ndarray:
    """Return (z, 1)ᵀ(z', 1) of all pairs of rows, in the type of the features: half of 2·n²·D flops."""
    gram = features @ features.T
    gram += 1
    return gram


class SquaredHingeDual:
    r"""The objective of `eigenbench.methods.classifiers.squared_hinge.SquaredHinge`, in the span of the rows.

    Weights are combinations :math:`\sum_i a_i (z_i, 1)` of the rows, and Newton's step for the machine of
    signs t and active rows A (those of positive margin :math:`1 - t_i w^\top (z_i, 1)`) solves :math:`(G_{AA}
    + I / 2C)\, a_A = t_A`, with zeros elsewhere (O. Chapelle, "Training a support vector machine in the
    primal", Neural Computation 19, 2007, section 4). Only inner products G of the rows with their constant
    are needed. A step costs |A|³/3 + 2·n·|A| flops for each machine and |A|² values; it solves in double
    precision.
    """

    def __init__(self, gram: np.ndarray, signs: np.ndarray) -> None:
        self.gram = np.ascontiguousarray(gram)
        self.signs = np.asarray(signs, dtype=gram.dtype)

    def minimise(
        self, C: float, *, start: np.ndarray | None = None, tol: float = 1e-3, max_iter: int = 100
    ) -> np.ndarray:
        """Return the coefficients (n, c) of the rows at the least objective.

        As for `SquaredHinge.minimise`; the default start is the result for every second row.
        """
        if start is None:
            start = self._start(C, tol, max_iter)
        machines = zip(self.signs.T, start.T, strict=True)
        return np.column_stack([self._machine(signs, a, C, tol, max_iter) for signs, a in machines])

    def _start(self, C: float, tol: float, max_iter: int) -> np.ndarray:
        """Return the result for every second row, which shows most of the others to be inactive."""
        if len(self.gram) <= _FEW_ROWS:
            return _solved(self.gram, self.signs, C)
        start = np.zeros_like(self.signs)
        half = SquaredHingeDual(self.gram[::2, ::2], self.signs[::2])
        start[::2] = half.minimise(C, tol=tol, max_iter=max_iter)
        return start

    def _machine(
        self, signs: np.ndarray, coefficients: np.ndarray, C: float, tol: float, max_iter: int
    ) -> np.ndarray:
        scores = self._scores(coefficients)
        for _ in range(max_iter):
            margins = 1 - signs * scores
            active = np.flatnonzero(margins > 0)
            step = -coefficients
            step[active] += _solved(self.gram[np.ix_(active, active)], signs[active], C)
            moved = self._scores(step)
            gradient = coefficients - 2 * C * signs * np.maximum(margins, 0)
            objective = 0.5 * (coefficients @ scores) + C * np.sum(np.maximum(margins, 0) ** 2)
            inner, squared = np.atleast_1d(coefficients @ moved, step @ moved)
            length = line_search(inner, squared, margins[:, None], (signs * moved)[:, None], C)
            coefficients = coefficients + length * step
            scores = scores + length * moved
            if -0.5 * (gradient @ moved) <= tol * objective:
                return coefficients
        warn_of_limit(C, max_iter, tol)
        return coefficients

    def _scores(self, coefficients: np.ndarray) -> np.ndarray:
        # The sparse product reads only the used rows, and copies none.
        used = np.flatnonzero(coefficients)
        ends = np.append(np.arange(0, used.size, _TERMS), used.size)
        terms = sparse.csr_array((coefficients[used], used, ends), shape=(len(ends) - 1, len(coefficients)))
        return (terms @ self.gram).sum(axis=0)


def _solved(gram: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Return the solution of (gram + I / 2C) a = signs, found in double precision."""
    system = gram.astype(np.float64)
    system.flat[:: len(system) + 1] += 1 / (2 * C)
    # The transpose is in LAPACK's order, so that nothing is copied again.
    factor = cho_factor(system.T, overwrite_a=True, check_finite=False)
    return cho_solve(factor, signs.astype(np.float64), check_finite=False).astype(gram.dtype)
