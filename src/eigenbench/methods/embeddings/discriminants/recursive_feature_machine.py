"""Recursive feature machine: the linear embedding that a kernel regression learns from its own gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg, spatial
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.embeddings.row_transformer import LinearEmbedding, median_distance
from eigenbench.methods.linalg.eigenproblems import make_peaks_positive
from eigenbench.methods.linalg.row_blocks import dense_block, row_slices
from eigenbench.methods.parameter_constraints import POSITIVE, POSITIVE_INTEGER

#: Eigenvalues below this share of the largest are rounding.
_RANK_TOLERANCE = 1e-12

#: Added to the diagonal of the kernel matrix of the centres, which repeated rows make singular.
_JITTER = 1e-10


class RecursiveFeatureMachine(LinearEmbedding):
    r"""Embed rows by the average gradient outer product of a kernel regression, in a few rounds.

    A round fits a ridge regression f of the class indicators with the Laplace kernel
    :math:`\exp(-\|x - z\|_M / \ell)`, :math:`\|x\|_M^2 = x^\top M x`, and then takes for M the average of
    :math:`\nabla f(x) \nabla f(x)^\top` over the rows, scaled to trace d; it begins with M = I [1]_. The
    embedding is :math:`M^{1/2} x` in the eigenbasis of M: directions along which f changes are long, those
    that do not matter short. It helps where inputs differ in scale and relevance.

    Parameters
    ----------
    n_components : int or None, default=None
        The largest number of directions, those of largest eigenvalues; None keeps all d.
    n_rounds : int, default=3
        Number of regressions.
    ridge : float, default=1e-3
        Penalty λ > 0 of the regression, whose kernel has ones on the diagonal.
    n_centers : int, default=4000
        Up to so many rows, f has a coefficient for each. Of more rows, so many are drawn as centres of a
        Nyström approximation: f is fitted to all rows, and M averages over the centres.
    random_state : int, RandomState instance or None, default=None
        Seed of the drawn rows.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions as rows, orthogonal, each of length the square root of its eigenvalue; the entry of
        largest absolute value of each is positive.
    eigenvalues_ : ndarray of shape (k,), float64
        The eigenvalues of M, descending; all d of them sum to d.
    length_scale_ : float
        The length ℓ of the last regression: the median distance under M of up to 1,000 rows, which each round
        takes anew. (A fixed ℓ of [1]_ would depend on the units of the inputs.)
    classes_ : ndarray of shape (c,)
        The class labels.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    A round on n rows with m = min(n, n_centers) costs n·m·(d + m) + m³/3 flops for the regression and
    2·c·m²·d for the gradients, and holds 16·m² bytes. Rows of sparse matrices are made dense in blocks.

    References
    ----------
    .. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, "Mechanism for feature learning in neural
       networks and backpropagation-free machine learning models", Science 383, 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from eigenbench import RecursiveFeatureMachine
    >>> X, y = load_wine(return_X_y=True)
    >>> RecursiveFeatureMachine(n_components=5).fit_transform(X, y).shape
    (178, 5)
    """

    _supervised: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER, None],
        "n_rounds": [POSITIVE_INTEGER],
        "ridge": [POSITIVE],
        "n_centers": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_rounds: int = 3,
        ridge: float = 1e-3,
        n_centers: int = 4_000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_rounds = n_rounds
        self.ridge = ridge
        self.n_centers = n_centers
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Find the embedding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows.
        y : array-like of shape (n_samples,)
            Class labels, at least two different ones.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If there is one class only, or if the rows are all alike.
        """
        self._validate_params()
        X, y = self._training_rows(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("RecursiveFeatureMachine compares classes and needs at least two, got 1 class.")
        targets = np.eye(len(self.classes_))[codes] - np.bincount(codes) / len(codes)
        rng = check_random_state(self.random_state)
        chosen = np.sort(rng.permutation(X.shape[0])[: self.n_centers])
        centers = dense_block(X[chosen], np.float64)
        root = np.eye(X.shape[1])
        for _ in range(self.n_rounds):
            self.length_scale_ = median_distance(centers @ root, rng)
            if not self.length_scale_:
                raise ValueError(
                    f"all rows (n_samples = {X.shape[0]}) are alike: nothing separates the classes."
                )
            root = self._next_root(X, targets, centers, root)
        self.eigenvalues_ = np.sum(root**2, axis=0)
        self.components_ = np.ascontiguousarray(make_peaks_positive(root).T[: self.n_components])
        self.eigenvalues_ = self.eigenvalues_[: self.n_components]
        return self

    def _next_root(self, X: Any, targets: np.ndarray, centers: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Return R with R Rᵀ the next M, columns by descending eigenvalue, from the R of this one."""
        mapped = centers @ root
        distances = spatial.distance.cdist(mapped, mapped)
        kernel = np.exp(-distances / self.length_scale_)
        if len(centers) == X.shape[0]:
            kernel.flat[:: len(kernel) + 1] += self.ridge
            coefficients = linalg.solve(kernel, targets, assume_a="pos", check_finite=False)
            kernel.flat[:: len(kernel) + 1] -= self.ridge
        else:
            coefficients = self._nystroem_coefficients(X, targets, kernel, mapped, root)
        # f = Σ α_j k(·, z_j) has the gradient Σ α_j k(x, z_j) (z_j − x) / (ℓ ‖x − z_j‖).
        # The term of a row's own centre, a kink, counts as zero.
        np.divide(kernel, distances, out=kernel, where=distances > 0)
        kernel[distances == 0] = 0
        product = np.zeros((len(root.T), len(root.T)))
        for column in coefficients.T:
            weights = kernel * column
            gradients = weights @ mapped - weights.sum(axis=1)[:, None] * mapped
            product += gradients.T @ gradients
        values, vectors = linalg.eigh(root @ product @ root.T)
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        values[values < _RANK_TOLERANCE * values[0]] = 0
        return vectors * np.sqrt(values * (len(values) / values.sum()))

    def _nystroem_coefficients(
        self, X: Any, targets: np.ndarray, kernel: np.ndarray, mapped: np.ndarray, root: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients of the centres that minimise squared errors of all rows plus λ αᵀKα."""
        m = len(kernel)
        factor = linalg.cholesky(kernel + _JITTER * m * np.eye(m), lower=True, check_finite=False)
        gram, cross = np.zeros((m, m)), np.zeros((m, targets.shape[1]))
        for rows in row_slices(X.shape[0], 8 * m):
            distances = spatial.distance.cdist(dense_block(X[rows], np.float64) @ root, mapped)
            products = np.exp(-distances / self.length_scale_).T
            features = linalg.solve_triangular(factor, products, lower=True, check_finite=False)
            gram += features @ features.T
            cross += features @ targets[rows]
        gram.flat[:: m + 1] += self.ridge
        solved = linalg.solve(gram, cross, assume_a="pos", check_finite=False)
        return linalg.solve_triangular(factor, solved, lower=True, trans="T", check_finite=False)

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.components_.T, None
