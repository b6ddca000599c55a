"""Hyperbolic PCA: the subspace where equal labels are near and different labels are far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.embeddings.constraints.constraint_operators import (
    ConstraintOperators,
    largest_distance,
)
from eigenbench.methods.embeddings.constraints.hyperbolic_subspace import GramCoordinates, HyperbolicSubspace
from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances
from eigenbench.methods.moments import ClassMoments

#: Rows of the risk by default, and where twelve subspaces are compared by it: sorting the pairs of rows
#: takes most of the time.
_ROWS, _ROWS_OF_A_SEARCH = 5000, 2000


class HyperbolicPCA(HyperbolicSubspace):
    r"""Project on a subspace where pairs of equal labels are near and pairs of different labels are far.

    The rows are projected, in the feature space of a kernel, on the leading eigenvectors of
    :math:`\hat T = \sum w\,\eta_r (\psi(x)-\psi(x'))(\psi(x)-\psi(x'))^\top` over pairs of rows, where η is
    positive for pairs of different labels (r = −1) and negative for pairs of equal labels (r = +1) [1]_. The
    level sets of T̂ are hyperboloids; hyperbolic geometry plays no part. What is learned on some classes
    serves to separate other classes, down to a single example of each.

    Parameters
    ----------
    n_components : int, default=20
        The largest dimension d of the subspace. Only eigenvectors with positive eigenvalues are kept, however
        few they are (see Notes); a warning says so unless η₋₁ is None or "risk".
    kernel : str or callable, default="linear"
        A kernel name or callable of :func:`sklearn.metrics.pairwise.pairwise_kernels`, or "half_rbf", the
        paper's ½·exp(−gamma·‖x − x'‖²), which keeps ‖ψ(x) − ψ(x')‖ ≤ 1.
    gamma, degree, coef0
        Parameters of the kernel, as for :class:`sklearn.decomposition.KernelPCA`.
    form : {"auto", "kernel", "linear"}, default="auto"
        How the eigenproblem is posed: in the span of the rows (:math:`GAG\gamma = \lambda G\gamma`) or, for
        the linear kernel only, in the input space. "auto" takes the smaller one. The result is the same.
    eta_negative : float, array-like of float, "risk", "alternating" or None, default=None
        η₋₁ > 0 relative to η₁ = −1; only the ratio matters. Of several values the one with the smallest
        margin risk on the training pairs is used. "risk" tries twelve between 0.005 and 1, and takes the one
        with the most directions among those whose risk is at most 1.3 times the smallest. "alternating"
        takes η₋₁ from a threshold, then the threshold that is best for the subspace found, and so on until
        the threshold stays where it is (see Notes). None stands for 5 with the linear kernel, which keeps
        directions for a classifier of the same classes, and for "risk" with others.
    threshold : float or None, default=None
        Distance threshold c in (0, 1). If given, η follows from c and ``margin``
        (:func:`eta_from_threshold`), and ``eta_negative`` must be None, or "alternating", which starts at c,
        or at 0.3 without it.
    margin : float, default=0.01
        Margin γ > 0 of the risk, on the squared distance.
    balanced : bool, default=True
        Give the positive and the negative pairs the same total weight, in T̂ and in the risk.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows of the risk: it is taken over all pairs of 5,000 training rows, or of 2,000 where it
        chooses among twelve η₋₁, drawn at random if there are more. T̂ always uses all rows.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features), float64
        Orthonormal eigenvectors in the input space; linear kernel only.
    dual_coef_ : ndarray of shape (n_support, d), float64
        Coefficients of the eigenvectors over the support; other kernels only.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_support, n_features)
        Linearly independent (in the feature space) training rows; other kernels only.
    eigenvalues_ : ndarray of shape (d,)
        Positive eigenvalues of T̂ with η₁ = −1, descending.
    n_components_ : int
        The dimension d found.
    eta_negative_ : float
        The value of η₋₁ used.
    eta_path_ : ndarray of shape (n_eta, 3)
        η₋₁, best threshold and margin risk of every value tried, largest first, or in the order of the
        alternation; absent after ``fit_moments``.
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
    ``fit`` takes no weights of rows: pairs are what is weighed, and a row of weight 2 would make a pair with
    itself. ``fit_moments`` of moments with whole weights gives the subspace of the repeated rows.

    Distances decide, so scale features of different units beforehand. Pixels need no scaling.

    Eigenvectors of the eigenvalue 0, on which all training rows have the same projection, are left out, which
    also covers ``n_components`` above the number of rows or features.

    At a fixed point of the alternation c is both the threshold for which T̂ was made and the best one for its
    subspace. It takes 20 subspaces at most. The margin risk on the pairs of the fit is not the smallest
    there.

    Kernel form with m rows: m³/3 flops for a Cholesky factorisation with pivoting, m³ to 2m³ for T̂, m³/3 to
    m³ per value of η₋₁, about 80·m² bytes. Linear form with p features: one pass of m·p² to 2m·p² flops and
    O(p²) memory. The risk costs r² log r per value of η₋₁ for r rows, and 30·r² bytes.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", 2005, section 6.

    Examples
    --------
    Twenty periodic patterns, each shifted at random, teach what a shift leaves alike; five new ones are then
    recognised from one example each.

    >>> import numpy as np
    >>> from sklearn.preprocessing import normalize
    >>> from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour
    >>> from eigenbench.methods.embeddings.constraints.hyperbolic_pca import HyperbolicPCA
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

    # The kernel form, the choice of η₋₁ and the threshold need rows.
    _moments_suffice: ClassVar[bool] = False

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
        self : HyperbolicPCA

        Raises
        ------
        ValueError
            If no pair has equal labels or none has different ones, if a kernel value is not finite, if the
            kernel is not positive semidefinite, or if T̂ has no positive eigenvalue.
        """
        self._validate_params()
        etas = self._etas()
        X, y = self._training_rows(X, y, ensure_min_samples=2)
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
            If the kernel is not linear, if η₋₁ is to be found by comparing or alternating, or as for ``fit``.
        """
        self._validate_params()
        etas = self._etas()
        if self.kernel != "linear" or self.form == "kernel":
            raise ValueError("class moments give the linear form only: set kernel='linear' and form='auto'.")
        if len(etas) > 1 or self._alternates():
            raise ValueError(
                "class moments hold no rows by whose risk η₋₁ could be selected: set eta_negative to one "
                "value, or set threshold."
            )
        self.n_features_in_ = moments.n_features
        self.n_constraints_ = int(moments.counts.sum())
        operators = ConstraintOperators.from_moments(moments, balanced=self.balanced)
        return self._solve(operators, etas, np.asarray, None, None)

    def _risk_rows(self, codes: np.ndarray) -> Any:
        """Return which rows serve for the risk: all, or a random subset in ascending order."""
        count = _ROWS_OF_A_SEARCH if self._searches() else _ROWS
        if len(codes) <= count:
            return slice(None)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(len(codes), count, replace=False))
