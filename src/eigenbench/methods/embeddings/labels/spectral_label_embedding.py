"""Bases of the label embeddings: labels of either kind, ridge regression on the embedded labels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from eigenbench.methods.embeddings.labels.label_matrix import MomentProducts, target_matrix
from eigenbench.methods.embeddings.row_transformer import LinearEmbedding, MomentFit
from eigenbench.methods.linalg.eigenproblems import leading_eigenpairs
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.ridge_system import DOUBLE_PRECISION_LIMIT, RidgeSystem, StreamedRidge
from eigenbench.methods.linalg.row_blocks import ROW_TYPES, FeatureBlocks
from eigenbench.methods.linalg.row_products import LabelledRows
from eigenbench.methods.moments import AnyMoments

#: Maps columns to as many: solutions of linear systems, or products.
ColumnMap = Callable[[np.ndarray], np.ndarray]


class LabelEmbedding(MomentFit, LinearEmbedding):
    """Base of embeddings V (c, k) of labels; ``transform`` predicts Y V by ridge regression on X."""

    embedding_: np.ndarray

    _row_types: ClassVar[list[Any]] = ROW_TYPES

    # Moments hold one label of each row, and targets here may be several.
    _moments_suffice: ClassVar[bool] = False
    _moments_suffice_for_classes: ClassVar[bool] = True
    _pooled_suffice: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
        "cg_tol": [Interval(Real, 0, None, closed="left")],
        "cg_max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 50,
        *,
        ridge: float = 0.1,
        fit_intercept: bool = True,
        solver: str = "auto",
        cg_tol: float = 1e-3,
        cg_max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.cg_tol = cg_tol
        self.cg_max_iter = cg_max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _embed(
        self, products: LabelledRows | MomentProducts, solve: ColumnMap, k: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """Return the embedding (c, k), float64."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the embedding and the regression on it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows. Sparse data may be CSR over memory-mapped arrays; it is not copied.
        y : array-like of shape (n_samples,), or {array-like, sparse matrix} of shape (n_samples, c)
            Class labels, an indicator matrix of zeros and ones, or vectors of real numbers as rows.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        object
            The estimator itself.

        Raises
        ------
        ValueError
            If a vector y does not hold class labels, if the data hold NaN or infinity, or if no row has a
            weight above 0.
        """
        self._validate_params()
        X, Y = self._training_rows(X, y, multi_output=True)
        X, Y, weights = _counted_rows(X, Y, sample_weight)
        if sparse.issparse(X) and X.dtype == np.uint8:
            X = X.astype(np.float32)
        dtype = np.float64 if X.dtype == np.float64 else np.float32
        targets, shift, classes = target_matrix(Y, dtype, centred=self.fit_intercept)
        rows = LabelledRows.of(
            X, targets, weights=weights, fit_intercept=self.fit_intercept, n_jobs=self.n_jobs
        )
        solve: ColumnMap
        if self.solver == "cholesky" or (
            self.solver == "auto" and (not sparse.issparse(X) or X.shape[1] <= DOUBLE_PRECISION_LIMIT)
        ):
            start = partial(RidgeSystem, X.shape[1], rows.dtype, fit_intercept=self.fit_intercept)
            label = f"Gram matrix ({X.shape[1]} features)"
            given = () if weights is None else (weights,)
            system = accumulate(FeatureBlocks(X, None), start, *given, label=label)
            solve = self._factored(system)
        else:
            self.penalty_ = float(self.ridge * rows.diagonal.mean())
            solve = StreamedRidge(rows, self.penalty_, tol=self.cg_tol, max_iter=self.cg_max_iter)
        self._regress(rows, solve, classes)
        self.intercept_ += shift @ self.embedding_
        self._report(solve)
        return self

    def _solve(self, moments: AnyMoments) -> None:
        if self.solver == "cg":
            raise ValueError('solver="cg" works on rows; class moments are solved with "cholesky" or "auto".')
        products = MomentProducts(moments, fit_intercept=self.fit_intercept)
        system = RidgeSystem.of_sums(
            moments.total(), moments.sums.sum(axis=0), products.n_rows, fit_intercept=self.fit_intercept
        )
        solve = self._factored(system)
        self._regress(products, solve, moments.classes)
        self._report(solve)

    def _factored(self, system: RidgeSystem) -> ColumnMap:
        # RidgeSystem counts its penalty in mean variances, which are 1/n of the diagonal's mean.
        self.penalty_ = system.factor(self.ridge * system.n_rows).penalty
        return system.apply_inverse

    def _regress(
        self, products: LabelledRows | MomentProducts, solve: ColumnMap, classes: np.ndarray
    ) -> None:
        k = min(self.n_components, products.n_labels)
        if k < self.n_components:
            warnings.warn(
                f"{type(self).__name__} keeps {k} components, as many as there are labels, instead of"
                f" n_components={self.n_components}.",
                stacklevel=3,
            )
        embedding = self._embed(products, solve, k, check_random_state(self.random_state))
        weights = products.by_columns(
            lambda columns: solve(products.cross(columns)), products.n_features, embedding
        )
        self.classes_ = classes
        self.embedding_ = embedding.astype(products.dtype, copy=False)
        self.coef_ = weights.T.astype(products.dtype, copy=False)
        self.intercept_ = products.label_mean @ embedding - self.coef_ @ products.feature_mean
        self._n_features_out = k

    def _report(self, solve: ColumnMap) -> None:
        """Keep the iterations of a streamed solver and warn if they did not suffice."""
        if not isinstance(solve, StreamedRidge):
            self.cg_iterations_ = 0
            return
        self.cg_iterations_ = solve.n_iter
        if solve.residual > self.cg_tol:
            warnings.warn(
                f"conjugate gradients stopped after cg_max_iter={self.cg_max_iter} iterations with a "
                f"relative residual of {solve.residual:.1e} > cg_tol={self.cg_tol}: raise cg_max_iter, "
                "cg_tol or ridge.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.coef_.T, self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _counted_rows(X: Any, Y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray | None]:
    """Return the rows and targets whose weight is above 0, with the weights."""
    if sample_weight is None:
        return X, Y, None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero, so that no row is left.")
    if weights.all():
        return X, Y, weights
    counted = np.flatnonzero(weights)
    return X[counted], Y[counted], weights[counted]


class SpectralLabelEmbedding(LabelEmbedding):
    """Base of embeddings by leading eigenvectors, which subspace iteration finds from a random start."""

    singular_values_: np.ndarray

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelEmbedding._parameter_constraints,
        "oversampling": [Interval(Integral, 0, None, closed="left")],
        "n_iter": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 50,
        *,
        oversampling: int = 20,
        n_iter: int = 1,
        ridge: float = 0.1,
        fit_intercept: bool = True,
        solver: str = "auto",
        cg_tol: float = 1e-3,
        cg_max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            ridge=ridge,
            fit_intercept=fit_intercept,
            solver=solver,
            cg_tol=cg_tol,
            cg_max_iter=cg_max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.oversampling = oversampling
        self.n_iter = n_iter

    @abstractmethod
    def _operator(self, products: LabelledRows | MomentProducts, solve: ColumnMap) -> ColumnMap:
        """Return the map of columns (c, w) to their product with the matrix whose eigenvectors are wanted."""

    def _embed(
        self, products: LabelledRows | MomentProducts, solve: ColumnMap, k: int, rng: np.random.RandomState
    ) -> np.ndarray:
        operator = self._operator(products, solve)
        first = self._operator(products, solve.roughly) if isinstance(solve, StreamedRidge) else operator
        eigenvalues, embedding = leading_eigenpairs(
            lambda Q: products.by_columns(operator, products.n_labels, Q),
            products.n_labels,
            k,
            oversampling=self.oversampling,
            n_iter=self.n_iter,
            rng=rng,
            dtype=products.dtype,
            first=lambda Q: products.by_columns(first, products.n_labels, Q),
        )
        self.singular_values_ = np.sqrt(np.maximum(eigenvalues, 0))
        return embedding
