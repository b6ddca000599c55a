"""Linear support vector machines with squared hinge loss on fewer rows than features, from inner products."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve

from eigenbench.methods.classifiers.squared_hinge import line_search, warn_of_limit

#: So many rows are solved for together at the start, as if all were active.
_FEW_ROWS = 500


def inner_products(features: np.ndarray) -> np.ndarray:
    """Return (z, 1)ᵀ(z', 1) of all pairs of rows, in the type of the features: half of 2·n²·D flops."""
    gram = features @ features.T
    gram += 1
    return gram


class SquaredHingeDual:
    r"""The objective of `eigenbench.methods.classifiers.squared_hinge.SquaredHinge`, in the span of the rows.

    Weights are combinations :math:`\sum_i a_i (z_i, 1)` of the rows, and Newton's step for the machine of
    signs t and active rows A (those of positive margin :math:`1 - t_i w^\top (z_i, 1)`) solves
    :math:`(G_{AA} + I / 2C)\, a_A = t_A`, with zeros elsewhere [1]_. Only inner products G are needed.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Inner products of the rows with their constant, float32 or float64; never copied as a whole.
    signs : ndarray of shape (n, c)
        Targets -1 and 1 of c machines.

    Notes
    -----
    A step costs |A|³/3 + 2·n·|A| flops for each machine and takes |A|² values of memory; it solves in double
    precision. The width of the features does not matter.

    References
    ----------
    .. [1] O. Chapelle, "Training a support vector machine in the primal", Neural Computation 19, 2007,
       section 4.

    Examples
    --------
    >>> import numpy as np
    >>> rows = signs = np.array([[-1.0], [1.0]])
    >>> coefficients = SquaredHingeDual(inner_products(rows), signs).minimise(C=1.0)
    >>> (rows.T @ coefficients).round(3).tolist()
    [[0.8]]
    """

    def __init__(self, gram: np.ndarray, signs: np.ndarray) -> None:
        self.gram = gram
        self.signs = np.asarray(signs, dtype=gram.dtype)

    def minimise(
        self, C: float, *, start: np.ndarray | None = None, tol: float = 1e-3, max_iter: int = 100
    ) -> np.ndarray:
        """Return the coefficients of the rows at the least objective.

        Parameters
        ----------
        C : float
            Weight of the loss.
        start : ndarray of shape (n, c), optional
            Where to start, for example the result for a smaller C; by default the result for every second
            row, found in the same way.
        tol : float, default=1e-3
            Stop when the next Newton step would lower the objective by less than this share of it.
        max_iter : int, default=100
            Largest number of Newton steps of a machine; when it is reached there is a ``ConvergenceWarning``.

        Returns
        -------
        ndarray of shape (n, c)
            Coefficients a of the rows, in the type of the inner products.
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
            length = line_search(
                np.atleast_1d(coefficients @ moved),
                np.atleast_1d(step @ moved),
                margins[:, None],
                (signs * moved)[:, None],
                C,
            )
            coefficients = coefficients + length * step
            scores = scores + length * moved
            if -0.5 * (gradient @ moved) <= tol * objective:
                return coefficients
        warn_of_limit(C, max_iter, tol)
        return coefficients

    def _scores(self, coefficients: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(coefficients)
        return coefficients[used] @ self.gram[used]


def _solved(gram: np.ndarray, signs: np.ndarray, C: float) -> np.ndarray:
    """Return the solution of (gram + I / 2C) a = signs, found in double precision."""
    system = gram.astype(np.float64)
    system.flat[:: len(system) + 1] += 1 / (2 * C)
    # The transpose is in LAPACK's order, so that nothing is copied again.
    solution = solve(system.T, signs.astype(np.float64), assume_a="pos", overwrite_a=True, check_finite=False)
    return solution.astype(gram.dtype)
