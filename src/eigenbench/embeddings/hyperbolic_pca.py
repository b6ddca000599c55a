"""Hyperbolic PCA: the subspace where equal labels are near and different labels are far."""

from __future__ import annotations

import logging
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from eigenbench.embeddings.constraint_operators import ConstraintOperators
from eigenbench.embeddings.equivalence_constraints import (
    check_pairs,
    incidence_matrix,
    largest_distance,
    longest_difference,
)
from eigenbench.embeddings.gram_coordinates import GramCoordinates, kernel_matrix
from eigenbench.embeddings.margin_risk import PairDistances, etas_from_threshold, projection_risk_bound
from eigenbench.embeddings.positive_eigenspace import principal_subspaces
from eigenbench.moments import ClassMoments
from eigenbench.row_blocks import row_slices

logger = logging.getLogger(__name__)

#: Values of η₋₁ among which the risk on the training pairs decides by default.
ETA_GRID = tuple(np.geomspace(0.005, 1, 12).round(4).tolist())

_KERNELS = {*PAIRWISE_KERNEL_FUNCTIONS, "half_rbf"}


class HyperbolicPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Project on a subspace where pairs of equal labels are near and pairs of different labels are far.

    The rows are projected, in the feature space of a kernel, on the leading eigenvectors of
    :math:`\hat T = \sum w\,\eta_r (\psi(x)-\psi(x'))(\psi(x)-\psi(x'))^\top` over pairs of rows, where η is
    positive for pairs of different labels (r = −1) and negative for pairs of equal labels (r = +1) [1]_. The
    level sets of T̂ are hyperboloids; hyperbolic geometry plays no part. What is learned on some classes
    serves to tell other classes apart, down to a single example of each.

    Parameters
    ----------
    n_components : int, default=20
        The largest dimension d of the subspace. Only eigenvectors with positive eigenvalues are kept, however
        few they are (see Notes).
    kernel : str or callable, default="linear"
        A kernel name or callable of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or "half_rbf", the
        paper's ½·exp(−gamma·‖x − x'‖²), which keeps ‖ψ(x) − ψ(x')‖ ≤ 1.
    gamma : float or None, default=None
        Parameter of the kernel, where it has one; None takes 1/n_features.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable kernel.
    form : {"auto", "kernel", "linear"}, default="auto"
        How the eigenproblem is posed: in the span of the rows (:math:`GAG\gamma = \lambda G\gamma`) or, for
        the linear kernel only, in the input space. "auto" takes the smaller one. The result is the same.
    eta_negative : float, array-like of float or None, default=None
        η₋₁ > 0 relative to η₁ = −1; only the ratio matters. Of several values the one with the smallest
        margin risk on the training pairs is used; None tries twelve between 0.005 and 1.
    threshold : float or None, default=None
        Distance threshold c in (0, 1); if given, η follows from c and ``margin``
        (:func:`etas_from_threshold`) and ``eta_negative`` must be None.
    margin : float, default=0.01
        Margin γ > 0 of the risk, on the squared distance.
    balanced : bool, default=True
        Give the positive and the negative pairs the same total weight, in T̂ and in the risk.
    risk_samples : int, default=5000
        The risk is taken over all pairs of the training rows, or of so many of them drawn at random if there
        are more. T̂ always uses all rows.
    random_state : int, RandomState instance or None, default=None
        Seed of that draw; without it nothing is random.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features_in_), float64
        Orthonormal eigenvectors in the input space; linear kernel only.
    dual_coef_ : ndarray of shape (n_support, d), float64
        Coefficients of the eigenvectors over the support; other kernels only.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_support, n_features_in_)
        Linearly independent (in the feature space) training rows; other kernels only.
    eigenvalues_ : ndarray of shape (d,)
        Positive eigenvalues of T̂ with η₁ = −1, descending.
    n_components_ : int
        The dimension d found.
    eta_negative_ : float
        The value of η₋₁ used.
    eta_path_ : ndarray of shape (n_eta, 3)
        η₋₁, best threshold and margin risk of every value tried, largest first; absent after ``fit_moments``.
    threshold_ : float
        Distance in the output that best separates the training pairs; absent after ``fit_moments``.
    risk_ : float
        Empirical margin risk at that threshold; absent after ``fit_moments``.
    diameter_ : float
        Largest ‖ψ(x) − ψ(x')‖ among the pairs of the risk, or 1 if that is smaller. The paper requires at
        most 1, so distances are divided by it in the risk, as if the kernel had been scaled;
        ``threshold_`` is in the units of the output.
    n_constraints_ : int
        Sample size of the bound: number of pairs, or of rows where all their pairs were used.
    n_features_in_ : int
        Number of inputs.

    Notes
    -----
    In a feature space of infinite dimension the eigenvectors that follow the positive ones belong to the
    eigenvalue 0; all training rows have the same projection on them. They are left out, which also covers
    ``n_components`` above the number of rows or features. Repeated rows are harmless.

    Kernel form with m rows: m³/3 flops for a Cholesky factorisation with pivoting, m³ to 2m³ for T̂, m³/3 to
    m³ per value of η₋₁, about 80·m² bytes. Linear form with p features: one pass of m·p² to 2m·p² flops and
    O(p²) memory. The risk costs r² log r per value of η₋₁ for r ≤ ``risk_samples`` rows, and 30·r² bytes.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", 2005, section 6.

    Examples
    --------
    Twenty periodic patterns, each shifted at random, teach what a shift leaves alike; five new ones are then
    told apart from one example each.

    >>> import numpy as np
    >>> from sklearn.preprocessing import normalize
    >>> from eigenbench.classifiers.one_example import OneExampleNearestNeighbour
    >>> from eigenbench.embeddings.hyperbolic_pca import HyperbolicPCA
    >>> rng = np.random.RandomState(0)
    >>> patterns = np.fft.irfft(rng.standard_normal((25, 5)) + 1j * rng.standard_normal((25, 5)), 32)
    >>> X = normalize([np.roll(pattern, shift) for pattern in patterns for shift in rng.randint(32, size=20)])
    >>> y = np.arange(25).repeat(20)
    >>> old = y < 20
    >>> model = HyperbolicPCA(kernel="half_rbf", gamma=2.0).fit(X[old], y[old])
    >>> for Z in (X[~old], model.transform(X[~old])):
    ...     print(round(OneExampleNearestNeighbour().fit(Z, y[~old]).leave_rest_out_error(), 2))
    0.79
    0.18
    """

    _parameter_constraints: ClassVar[dict[str, list]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(_KERNELS), callable],
        "gamma": [Interval(Real, 0, None, closed="left"), None],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "form": [StrOptions({"auto", "kernel", "linear"})],
        "eta_negative": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "threshold": [Interval(Real, 0, 1, closed="neither"), None],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "balanced": ["boolean"],
        "risk_samples": [Interval(Integral, 2, None, closed="left")],
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
        kernel_params: dict[str, Any] | None = None,
        form: str = "auto",
        eta_negative: Any = None,
        threshold: float | None = None,
        margin: float = 0.01,
        balanced: bool = True,
        risk_samples: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.form = form
        self.eta_negative = eta_negative
        self.threshold = threshold
        self.margin = margin
        self.balanced = balanced
        self.risk_samples = risk_samples
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> HyperbolicPCA:
        """Find the subspace from all pairs of labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows. In the linear form they are read in row blocks.
        y : array-like of shape (n_samples,)
            Class labels: at least two different ones, and one that occurs twice.

        Returns
        -------
        HyperbolicPCA
            The estimator itself.

        Raises
        ------
        ValueError
            If no pair has equal labels or none has different ones, if a kernel value is not finite, if the
            kernel is not positive semidefinite, or if T̂ has no positive eigenvalue.
        """
        self._validate_params()
        etas = self._etas()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_classification_targets(y)
        _, codes = np.unique(y, return_inverse=True)
        self.n_constraints_ = len(codes)
        sample = self._risk_rows(codes)
        expand: Callable[[np.ndarray], np.ndarray] = np.asarray
        support = None
        if self._uses_input_space(X.shape[0]):
            points, rows = X, X[sample].astype(np.float64, copy=False)
            self.diameter_ = max(1.0, largest_distance(safe_sparse_dot(rows, rows.T, dense_output=True)))
        else:
            G = self._kernel(X, X)
            self.diameter_ = max(1.0, largest_distance(G))
            coordinates = GramCoordinates.from_gram(G)
            del G
            points, rows = coordinates.rows, coordinates.rows[sample]
            expand, support = coordinates.expansion, X[coordinates.pivots]

        def distances(V: np.ndarray) -> PairDistances:
            Z = np.asarray(safe_sparse_dot(rows, V)) / self.diameter_
            return PairDistances.from_labels(Z, codes[sample], balanced=self.balanced)

        operators = ConstraintOperators.from_labelled_rows(points, codes, balanced=self.balanced)
        return self._solve(operators, etas, expand, support, distances)

    def fit_pairs(self, X: Any, pairs: Any, r: Any) -> HyperbolicPCA:
        r"""Find the subspace from pairs of rows (:math:`\Gamma D \Gamma \alpha = \lambda \Gamma \alpha`).

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
        HyperbolicPCA
            The estimator itself.

        Raises
        ------
        ValueError
            If a row number is out of range, if r has other values, or as for ``fit``.

        Notes
        -----
        The kernel form works on the differences Γ or on the rows, whichever are fewer: their number cubed.
        """
        self._validate_params()
        etas = self._etas()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        pairs, positive = check_pairs(pairs, r, X.shape[0])
        used, flat = np.unique(pairs, return_inverse=True)
        X, pairs = X[used], flat.reshape(pairs.shape)
        self.n_constraints_ = len(pairs)
        incidence = incidence_matrix(pairs, X.shape[0])
        on_rows = self._uses_input_space(X.shape[0]) or len(pairs) >= X.shape[0]
        expand: Callable[[np.ndarray], np.ndarray] = np.asarray
        support = None
        if self._uses_input_space(X.shape[0]):
            points = X.astype(np.float64, copy=False)
            self.diameter_ = max(1.0, longest_difference(points, pairs))
        else:
            G = self._kernel(X, X)
            i, j = pairs.T
            self.diameter_ = float(np.sqrt(max(1.0, (G[i, i] + G[j, j] - 2 * G[i, j]).max())))
            coordinates = GramCoordinates.from_gram(G if on_rows else incidence @ (incidence @ G).T)
            points, pivots = coordinates.rows, coordinates.pivots
            support = X[pivots] if on_rows else X
            lift = sparse.eye_array(len(pivots)) if on_rows else incidence[pivots].T

            def expand(V: np.ndarray) -> np.ndarray:
                return lift @ coordinates.expansion(V)

        def distances(V: np.ndarray) -> PairDistances:
            Z = np.asarray(safe_sparse_dot(points, V)) / self.diameter_
            if on_rows:
                Z = incidence @ Z
            squares = np.einsum("nd,nd->n", Z, Z)
            return PairDistances(squares[positive], squares[~positive], balanced=self.balanced)

        operators = ConstraintOperators.from_pairs(
            points, incidence if on_rows else None, positive, balanced=self.balanced
        )
        return self._solve(operators, etas, expand, support, distances)

    def fit_moments(self, moments: ClassMoments) -> HyperbolicPCA:
        """Find the subspace from class moments; the result equals that of ``fit`` in the linear form.

        Parameters
        ----------
        moments : ClassMoments
            Moments of the training rows, or of random features of them.

        Returns
        -------
        HyperbolicPCA
            The estimator itself, without ``risk_`` and ``threshold_``, which need rows:
            :meth:`PairDistances.from_labels` gives them for any labelled rows that were transformed.

        Raises
        ------
        ValueError
            If the kernel is not linear, if several values of η₋₁ are to be compared, or as for ``fit``.
        """
        self._validate_params()
        etas = self._etas()
        if self.kernel != "linear" or self.form == "kernel":
            raise ValueError("class moments give the linear form only: set kernel='linear' and form='auto'.")
        if len(etas) > 1:
            raise ValueError(
                "class moments hold no rows by whose risk η₋₁ could be selected: set eta_negative to one "
                "value, or set threshold."
            )
        self.n_features_in_ = moments.n_features
        self.n_constraints_ = int(moments.counts.sum())
        operators = ConstraintOperators.from_moments(moments, balanced=self.balanced)
        return self._solve(operators, etas, np.asarray, None, None)

    def _etas(self) -> np.ndarray:
        """Return the values of η₋₁ to try."""
        if self.threshold is not None:
            if self.eta_negative is not None:
                raise ValueError(
                    "threshold determines η₋₁: set eta_negative to None, or leave threshold out."
                )
            negative, positive = etas_from_threshold(self.threshold, self.margin)
            return np.array([-negative / positive])
        given = ETA_GRID if self.eta_negative is None else self.eta_negative
        etas = np.unique(np.atleast_1d(np.asarray(given, dtype=np.float64)))
        if etas.ndim != 1 or etas.size == 0 or not (np.isfinite(etas).all() and etas[0] > 0):
            raise ValueError(f"eta_negative must hold finite numbers above 0, got {self.eta_negative!r}.")
        return etas

    def _uses_input_space(self, n_rows: int) -> bool:
        if self.form == "linear" and self.kernel != "linear":
            raise ValueError(f"form='linear' needs kernel='linear', got kernel={self.kernel!r}.")
        if self.kernel != "linear" or self.form == "kernel":
            return False
        return self.form == "linear" or self.n_features_in_ <= n_rows

    def _kernel(self, X: Any, Y: Any) -> np.ndarray:
        X, Y = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
        if callable(self.kernel):
            return kernel_matrix(X, Y, self.kernel, self.kernel_params or {})
        gamma = 1 / self.n_features_in_ if self.gamma is None else self.gamma
        return kernel_matrix(X, Y, self.kernel, {"gamma": gamma, "degree": self.degree, "coef0": self.coef0})

    def _risk_rows(self, codes: np.ndarray) -> Any:
        """Return which rows serve for the risk: all, or a random subset in ascending order."""
        if len(codes) <= self.risk_samples:
            return slice(None)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(len(codes), self.risk_samples, replace=False))

    def _solve(
        self,
        operators: ConstraintOperators,
        etas: np.ndarray,
        expand: Callable[[np.ndarray], np.ndarray],
        support: Any,
        distances: Callable[[np.ndarray], PairDistances] | None,
    ) -> HyperbolicPCA:
        """Find the subspace of the smallest risk, and keep it in terms of the support or of the inputs."""
        for name in ("components_", "dual_coef_", "support_vectors_", "risk_", "threshold_", "eta_path_"):
            if hasattr(self, name):
                delattr(self, name)
        path: list[tuple[float, float, float]] = []
        best = np.inf
        vectors = None
        for eta, values, candidate in principal_subspaces(operators, etas, self.n_components):
            if values.size == 0:
                continue
            if distances is not None:
                threshold, risk = distances(candidate).best_threshold(self.margin)
                path.append((eta, threshold * self.diameter_, risk))
                logger.info(
                    "hyperbolic PCA: eta_negative %.4g, risk %.4f, %d directions", eta, risk, len(values)
                )
                if risk >= best:
                    continue
                best, self.threshold_, self.risk_ = risk, path[-1][1], risk
            vectors, self.eigenvalues_, self.eta_negative_ = candidate, values, eta
        if vectors is None:
            raise ValueError(
                f"no direction separates the pairs: T̂ has no positive eigenvalue for η₋₁ ≤ {etas[-1]:g}. "
                "Raise eta_negative, or check that rows with different labels differ."
            )
        if path:
            self.eta_path_ = np.array(path)
        self._keep(expand(vectors), support)
        self.n_components_ = self._n_features_out = self.eigenvalues_.size
        return self

    def _keep(self, coefficients: np.ndarray, support: Any) -> None:
        if support is not None and self.kernel == "linear":
            coefficients = np.asarray(safe_sparse_dot(support.T, coefficients))
        peaks = coefficients[np.abs(coefficients).argmax(axis=0), np.arange(coefficients.shape[1])]
        coefficients = coefficients * np.where(peaks < 0, -1.0, 1.0)
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
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if self.kernel == "linear":
            return np.asarray(safe_sparse_dot(X, self.components_.T.astype(X.dtype, copy=False)))
        coordinates = np.empty((X.shape[0], self.n_components_), dtype=X.dtype)
        for rows in row_slices(X.shape[0], 16 * len(self.dual_coef_)):
            coordinates[rows] = self._kernel(X[rows], self.support_vectors_) @ self.dual_coef_
        return coordinates

    def bound(self, delta: float = 0.05) -> float:
        r"""Bound the risk on new pairs (Theorem 1 of [1]_).

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
        return projection_risk_bound(
            self.risk_, self.n_constraints_, n_components=self.n_components, margin=self.margin, delta=delta
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
