"""Bases of the label embeddings: labels of either kind, ridge regression on the embedded labels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from eigenbench.methods.embeddings.row_transformer import LinearEmbedding, MomentFit
from eigenbench.methods.linalg.eigenproblems import leading_eigenpairs
from eigenbench.methods.linalg.ridge_system import (
    DOUBLE_PRECISION_LIMIT,
    RidgeSystem,
    StreamedRidge,
    gram_system,
)
from eigenbench.methods.linalg.row_blocks import (
    ROW_TYPES,
    FeatureBlocks,
    checked_weights,
    class_indicators,
    rows_that_count,
)
from eigenbench.methods.linalg.row_products import LabelledRows
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER, Interval, StrOptions

#: Maps columns to as many: solutions of linear systems, or products.
ColumnMap = Callable[[np.ndarray], np.ndarray]


def is_indicator(Y: Any) -> bool:
    """Return whether Y is an indicator matrix, dense or sparse, not a vector (or column) of class labels."""
    return Y.ndim == 2 and (sparse.issparse(Y) or Y.shape[1] > 1)


def label_matrix(Y: Any, dtype: Any) -> tuple[sparse.csr_array, np.ndarray]:
    """Return labels as a CSR indicator matrix (n, c), and the sorted labels, or column numbers.

    Y holds class labels of any type (n,), or zeros and ones (n, c), of which rows and columns may be zero;
    the index arrays of a CSR matrix without stored zeros are shared. Raises `ValueError` for anything else.
    """
    if not is_indicator(Y):
        y = column_or_1d(Y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        return class_indicators(codes, len(classes), dtype), classes
    indicators = sparse.csr_array(Y)
    odd = np.flatnonzero((indicators.data != 0) & (indicators.data != 1))
    if odd.size:
        row = np.searchsorted(indicators.indptr, odd[0], side="right") - 1
        raise ValueError(
            f"Y[{row}, {indicators.indices[odd[0]]}] is {indicators.data[odd[0]]!s}: "
            "an indicator matrix holds 0 and 1 only."
        )
    if not indicators.data.all():
        indicators = indicators.copy()
        indicators.eliminate_zeros()
    if not indicators.has_canonical_format:
        indicators = indicators.copy()
        indicators.sum_duplicates()
        indicators.data[:] = 1
    return indicators.astype(dtype, copy=False), np.arange(indicators.shape[1])


def target_matrix(Y: Any, dtype: Any, *, centred: bool) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """Return labels or real targets as a CSR matrix, the shift of its columns, and the classes.

    ``centred`` allows to shift columns of real numbers by their means, so that the type holds their digits;
    labels and sparse matrices never are. Raises `ValueError` if a vector is not made of class labels.
    """
    entries = Y.data if sparse.issparse(Y) else Y
    if not is_indicator(Y) or np.isin(entries, (0, 1)).all():
        indicators, classes = label_matrix(Y, dtype)
        return indicators, np.zeros(len(classes)), classes
    shift = np.zeros(Y.shape[1])
    if centred and not sparse.issparse(Y):
        shift = Y.mean(axis=0, dtype=np.float64)
    targets = sparse.csr_array(Y if sparse.issparse(Y) else Y - shift).astype(dtype)
    targets.sum_duplicates()
    return targets, shift, np.arange(Y.shape[1])


class MomentProducts:
    r"""Products with :math:`X_c^\top Y`, whose columns are the class sums of centred rows."""

    def __init__(self, moments: AnyMoments, *, fit_intercept: bool) -> None:
        self.n_rows = moments.counts.sum()
        self.n_features, self.n_labels = moments.n_features, len(moments.classes)
        self.dtype = np.dtype(np.float64)
        self.label_sums = moments.counts.astype(np.float64)
        self.label_mean = self.label_sums / self.n_rows if fit_intercept else np.zeros(self.n_labels)
        mean = moments.sums.sum(axis=0) / self.n_rows
        self.feature_mean = mean if fit_intercept else np.zeros_like(mean)
        self._sums = moments.sums - np.outer(self.label_sums, self.feature_mean)

    def by_columns(
        self, function: Callable[[np.ndarray], np.ndarray], height: int, columns: np.ndarray
    ) -> np.ndarray:
        """Return ``function(columns)``, of shape (height, p)."""
        return function(columns)

    def cross(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`X_c^\top Y Q`, (c, w) → (d, w)."""
        return self._sums.T @ Q

    def cross_transposed(self, Z: np.ndarray) -> np.ndarray:
        r"""Return :math:`Y^\top X_c Z`, (d, w) → (c, w)."""
        return self._sums @ Z

    def label_covariance(self, Q: np.ndarray) -> np.ndarray:
        r"""Return :math:`(Y - 1\bar y^\top)^\top Y Q`, (c, w) → (c, w); uncentred without an intercept."""
        return self.label_sums[:, None] * Q - np.outer(self.label_mean, self.label_sums @ Q)


class LabelEmbedding(MomentFit, LinearEmbedding):
    """Base of embeddings V (c, k) of labels; ``transform`` predicts Y V by ridge regression on X."""

    embedding_: np.ndarray

    _row_types: ClassVar[list[Any]] = ROW_TYPES
    _supervised: ClassVar[bool] = True

    # Moments hold one label of each row, and targets here may be several.
    _moments_suffice: ClassVar[bool] = False
    _moments_suffice_for_classes: ClassVar[bool] = True
    _pooled_suffice: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "ridge": [NOT_NEGATIVE],
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", "cholesky", "cg"})],
        "cg_tol": [NOT_NEGATIVE],
        "cg_max_iter": [POSITIVE_INTEGER],
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
        self : object

        Raises
        ------
        ValueError
            If a vector y does not hold class labels, if the data hold NaN or infinity, or if no row has a
            weight above 0.
        """
        self._validate_params()
        X, Y = self._training_rows(X, y, multi_output=True)
        X, Y, weights = rows_that_count(X, Y, checked_weights(sample_weight, X))
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
            blocks = FeatureBlocks(X, None)
            solve = self._factored(gram_system(blocks, weights, fit_intercept=self.fit_intercept))
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
                f"{type(self).__name__} keeps {k} of n_components={self.n_components}: no more labels."
                f" Set n_components to {k} or less.",
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
        tags.target_tags.multi_output = True
        return tags


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
