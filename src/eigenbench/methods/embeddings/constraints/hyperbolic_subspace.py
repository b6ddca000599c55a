"""Base of hyperbolic PCA: the subspace found from pairs of rows, wherever the pairs come from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels, rbf_kernel
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.embeddings.constraints.constraint_operators import (
    ConstraintOperators,
    check_pairs,
    incidence_matrix,
    longest_difference,
)
from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances, eta_from_threshold
from eigenbench.methods.embeddings.constraints.positive_eigenspace import (
    PositiveEigenspaces,
    Subspace,
    alternate,
    scan_etas,
)
from eigenbench.methods.embeddings.row_transformer import RowTransformer
from eigenbench.methods.linalg.eigenproblems import make_peaks_positive
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.parameter_constraints import (
    BELOW_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    Interval,
    StrOptions,
)

#: η₋₁ of the linear kernel by default: large enough for directions of little difference between classes.
LINEAR_ETA = 5.0

#: Values of η₋₁ among which the risk on the training pairs decides, and the risk, relative to the smallest,
#: that more directions may cost.
SMALLEST_RISK, ETA_GRID = "risk", tuple(np.geomspace(0.005, 1, 12).round(4).tolist())
RISK_FOR_DIRECTIONS = 1.3

#: Value of ``eta_negative`` for which η₋₁ and the threshold are alternated, and the threshold at the start.
ALTERNATING, FIRST_THRESHOLD = "alternating", 0.3

_KERNELS = {*PAIRWISE_KERNEL_FUNCTIONS, "half_rbf"}


#: Relative size of a squared length, or of a product with the Gram matrix, that counts as rounding.
_TOLERANCE = 1e-6


def kernel_matrix(X: Any, Y: Any, kernel: Any, params: dict[str, Any]) -> np.ndarray:
    """Evaluate a kernel on two sets of rows, (n, p) and (m, p), giving (n, m); `ValueError` unless finite.

    The kernel is a name of :func:`sklearn.metrics.pairwise.pairwise_kernels`, which takes those of ``params``
    that it has, a callable on two rows, or "half_rbf" for ½·exp(−gamma·‖x − y‖²).
    """
    if kernel == "half_rbf":
        values = rbf_kernel(X, Y, gamma=params.get("gamma"))
        values *= 0.5
    else:
        values = np.asarray(
            pairwise_kernels(X, Y, metric=kernel, filter_params=not callable(kernel), **params)
        )
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
        raise ValueError(
            f"kernel {name!r} gives {values[i, j]} for rows {i} and {j}: all its values must be finite. "
            "Scale the inputs or change the kernel's parameters."
        )
    return values


@dataclass(frozen=True)
class GramCoordinates:
    r"""Rows C (n, r) whose inner products are a Gram matrix: :math:`G = C C^\top`.

    ``pivots`` (r,) are numbers of linearly independent points that span the rest, ``factor`` is
    ``rows[pivots]``, lower triangular. Cholesky factorisation with pivoting: n·r² flops; repeated points and
    linear kernels only make r smaller.
    """

    rows: np.ndarray
    pivots: np.ndarray
    factor: np.ndarray

    @classmethod
    def from_gram(cls, G: np.ndarray) -> GramCoordinates:
        """Factor G (n, n), float64; raise `ValueError` if it is zero or not positive semidefinite."""
        if not np.diagonal(G).max() > 0:
            raise ValueError("the kernel is zero for all rows: no direction can be found.")
        packed, order, rank, _ = linalg.lapack.dpstrf(G.T, lower=True)
        order = order - 1
        lower = np.tril(packed[:, :rank])
        rows = np.empty((len(G), rank))
        rows[order] = lower
        probe = np.random.RandomState(0).standard_normal(len(G))
        product = G @ probe
        if np.linalg.norm(product - rows @ (rows.T @ probe)) > _TOLERANCE * np.linalg.norm(product):
            raise ValueError("the kernel is not positive semidefinite on these rows: choose another kernel.")
        return cls(rows, order[:rank], lower[:rank])

    def expansion(self, vectors: np.ndarray) -> np.ndarray:
        """Return the coefficients, over the pivots, of vectors given in the coordinates, (r, d)."""
        return linalg.solve_triangular(self.factor, vectors, lower=True, trans="T", check_finite=False)


class HyperbolicSubspace(ClassNamePrefixFeaturesOutMixin, RowTransformer):
    """Base of the estimators of a hyperbolic subspace; the parameters are those of `HyperbolicPCA`."""

    _supervised: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "kernel": [StrOptions(_KERNELS), callable],
        "gamma": [NOT_NEGATIVE, None],
        "degree": [NOT_NEGATIVE],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "form": [StrOptions({"auto", "kernel", "linear"})],
        "eta_negative": [POSITIVE, "array-like", StrOptions({ALTERNATING, SMALLEST_RISK}), None],
        "threshold": [BELOW_ONE, None],
        "margin": [POSITIVE],
        "balanced": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 20,
        *,
        kernel: Any = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        form: str = "auto",
        eta_negative: Any = None,
        threshold: float | None = None,
        margin: float = 0.01,
        balanced: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.form = form
        self.eta_negative = eta_negative
        self.threshold = threshold
        self.margin = margin
        self.balanced = balanced
        self.random_state = random_state

    def fit_pairs(self, X: Any, pairs: Any, r: Any) -> Any:
        r"""Find the subspace from pairs of rows (:math:`\Gamma D \Gamma \alpha = \lambda \Gamma \alpha`).

        The kernel form costs what it does for the rows that are in a pair.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        pairs : array-like of shape (n_pairs, 2), integers
            Row numbers of each equivalence constraint.
        r : array-like of shape (n_pairs,)
            +1 for a positive constraint (equal), −1 for a negative one; both must occur.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a row number is out of range, if r has other values, if a kernel value is not
            finite, if the kernel is not positive semidefinite, or if T̂ has no positive eigenvalue.
        """
        self._validate_params()
        etas = self._etas()
        X = self._training_rows(X, ensure_min_samples=2)
        pairs, positive = check_pairs(pairs, r, X.shape[0])
        used, flat = np.unique(pairs, return_inverse=True)
        X, pairs = X[used], flat.reshape(pairs.shape)
        self.n_constraints_ = len(pairs)
        incidence = incidence_matrix(pairs, X.shape[0])
        expand: Callable[[np.ndarray], np.ndarray] = np.asarray
        support = None
        if self._uses_input_space(X.shape[0]):
            points = X.astype(np.float64, copy=False)
            self.diameter_ = max(1.0, longest_difference(points, pairs))
        else:
            G = self._kernel(X, X)
            i, j = pairs.T
            self.diameter_ = float(np.sqrt(max(1.0, (G[i, i] + G[j, j] - 2 * G[i, j]).max())))
            coordinates = GramCoordinates.from_gram(G)
            points, support = coordinates.rows, X[coordinates.pivots]

            def expand(V: np.ndarray) -> np.ndarray:
                return np.ascontiguousarray(coordinates.expansion(V))  # products round as in recorded runs

        def distances(V: np.ndarray) -> PairDistances:
            Z = incidence @ (np.asarray(safe_sparse_dot(points, V)) / self.diameter_)
            squares = np.einsum("nd,nd->n", Z, Z)
            return PairDistances(squares[positive], squares[~positive], balanced=self.balanced)

        operators = ConstraintOperators.from_pairs(points, incidence, positive, balanced=self.balanced)
        return self._solve(operators, etas, expand, support, distances)

    def _etas(self) -> np.ndarray:
        """Return the values of η₋₁ to try, or the one to start from."""
        if self.threshold is not None and self.eta_negative is not None and not self._alternates():
            raise ValueError(
                "threshold determines η₋₁: set eta_negative to None or 'alternating', or leave threshold out."
            )
        if self.threshold is not None or self._alternates():
            return np.array([eta_from_threshold(self._first_threshold(), self.margin)])
        given = LINEAR_ETA if self.eta_negative is None else self.eta_negative
        if self._searches():
            given = ETA_GRID
        etas = np.unique(np.atleast_1d(np.asarray(given, dtype=np.float64)))
        if etas.ndim != 1 or etas.size == 0 or not (np.isfinite(etas).all() and etas[0] > 0):
            raise ValueError(f"eta_negative must hold finite numbers above 0, got {self.eta_negative!r}.")
        return etas

    def _alternates(self) -> bool:
        return isinstance(self.eta_negative, str) and self.eta_negative == ALTERNATING

    def _first_threshold(self) -> float:
        return FIRST_THRESHOLD if self.threshold is None else self.threshold

    def _searches(self) -> bool:
        if self.eta_negative is None:
            return self.threshold is None and self.kernel != "linear"
        return isinstance(self.eta_negative, str) and self.eta_negative == SMALLEST_RISK

    def _uses_input_space(self, n_rows: int) -> bool:
        if self.form == "linear" and self.kernel != "linear":
            raise ValueError(f"form='linear' needs kernel='linear', got kernel={self.kernel!r}.")
        if self.kernel != "linear" or self.form == "kernel":
            return False
        return self.form == "linear" or self.n_features_in_ <= n_rows

    def _kernel(self, X: Any, Y: Any) -> np.ndarray:
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        if callable(self.kernel):
            return kernel_matrix(X, Y, self.kernel, {})
        gamma = 1 / self.n_features_in_ if self.gamma is None else self.gamma
        return kernel_matrix(X, Y, self.kernel, {"gamma": gamma, "degree": self.degree, "coef0": self.coef0})

    def _solve(
        self,
        operators: ConstraintOperators,
        etas: np.ndarray,
        expand: Callable[[np.ndarray], np.ndarray],
        support: Any,
        distances: Callable[[np.ndarray], PairDistances] | None,
    ) -> Any:
        """Find the subspace, and keep it in terms of the support or of the inputs."""
        for name in ("components_", "dual_coef_", "support_vectors_", "risk_", "threshold_", "eta_path_"):
            if hasattr(self, name):
                delattr(self, name)
        path, best, free = [], None, self._searches()
        near: list[Subspace] = []
        for found in self._subspaces(operators, etas, distances):
            path.append((found.eta, found.threshold, found.risk))
            if best is None or self._alternates() or found.risk < best.risk:
                best = found
            if free:
                near = [one for one in (*near, found) if one.risk <= RISK_FOR_DIRECTIONS * best.risk]
        if near:
            best = max(near, key=lambda found: (found.eigenvalues.size, -found.risk))
        if best is None:
            raise ValueError(
                f"no direction separates the pairs: T̂ has no positive eigenvalue for η₋₁ ≤ {etas[-1]:g}. "
                "Raise eta_negative (or threshold), or check that rows with different labels differ."
            )
        self.eigenvalues_, self.eta_negative_ = best.eigenvalues, best.eta
        if distances is not None:
            self.eta_path_ = np.array(path) * [1, self.diameter_, 1]
            self.threshold_, self.risk_ = best.threshold * self.diameter_, best.risk
        self._keep(expand(best.vectors), support)
        self.n_components_ = self._n_features_out = self.eigenvalues_.size
        chosen_here = free or (self.eta_negative is None and self.threshold is None)
        if self.n_components_ < self.n_components and not chosen_here:
            warnings.warn(
                f"{type(self).__name__} keeps {self.n_components_} of n_components={self.n_components}: with"
                f" η₋₁={self.eta_negative_:g} no other direction parts different pairs more than equal ones."
                f" Set n_components to {self.n_components_}, or try a larger eta_negative.",
                stacklevel=3,
            )
        return self

    def _subspaces(
        self,
        operators: ConstraintOperators,
        etas: np.ndarray,
        distances: Callable[[np.ndarray], PairDistances] | None,
    ) -> Iterator[Subspace]:
        """Yield the subspaces tried: the last of an alternation is taken, else that of least risk."""

        def risk(vectors: np.ndarray) -> tuple[float, float]:
            return (np.nan, np.nan) if distances is None else distances(vectors).best_threshold(self.margin)

        solve = PositiveEigenspaces(operators, self.n_components)
        if self._alternates():
            return alternate(solve, self._first_threshold(), risk, self.margin)
        return scan_etas(solve, etas, risk)

    def _keep(self, coefficients: np.ndarray, support: Any) -> None:
        if support is not None and self.kernel == "linear":
            coefficients = np.asarray(safe_sparse_dot(support.T, coefficients))
        coefficients = make_peaks_positive(coefficients)
        if self.kernel == "linear":
            self.components_ = np.ascontiguousarray(coefficients.T)
        else:
            self.dual_coef_, self.support_vectors_ = coefficients, support

    def transform(self, X: Any) -> np.ndarray:
        """Give the coordinates of P ψ(x) in the basis of the eigenvectors.

        Distances between rows of the output are the distances ‖P(ψ(x) − ψ(x'))‖.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data, of tasks seen or unseen in training.

        Returns
        -------
        ndarray of shape (n_samples, d)
            float32 for float32 input, else float64. Kernels are evaluated in float64, in row blocks.
        """
        X = self._fitted_rows(X)
        if self.kernel == "linear":
            return np.asarray(safe_sparse_dot(X, self.components_.T.astype(X.dtype, copy=False)))
        coordinates = np.empty((X.shape[0], self.n_components_), dtype=X.dtype)
        for rows in row_slices(X.shape[0], 16 * len(self.dual_coef_)):
            coordinates[rows] = self._kernel(X[rows], self.support_vectors_) @ self.dual_coef_
        return coordinates

    def bound(self, delta: float = 0.05) -> float:
        r"""Bound the risk on new pairs (Maurer 2005, Theorem 1).

        With probability above 1 − δ, for every choice of η₋₁, the expected risk at its best threshold is at
        most :math:`\hat R_\gamma + n^{-1/2} (2 (\sqrt d + 1)/\gamma + \sqrt{\ln(1/\delta)/2})`, with
        d = ``n_components``, γ = ``margin`` and n = ``n_constraints_``. It needs independent pairs from the
        (balanced) distribution, and ‖ψ(x) − ψ(x')‖ ≤ ``diameter_`` for all inputs.

        Parameters
        ----------
        delta : float, default=0.05
            Probability in (0, 1) that the bound fails.

        Returns
        -------
        float
            Values above 1 say nothing; they are the rule at small margins.

        Raises
        ------
        ValueError
            If δ is outside (0, 1), or after ``fit_moments``, where the empirical risk is not known.
        """
        check_is_fitted(self)
        if not hasattr(self, "risk_"):
            raise ValueError("the bound needs the empirical risk, which fit_moments cannot know: use fit.")
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie strictly between 0 and 1, got {delta}.")
        complexity = 2 * (np.sqrt(self.n_components) + 1) / self.margin + np.sqrt(np.log(1 / delta) / 2)
        return float(self.risk_ + complexity / np.sqrt(self.n_constraints_))
