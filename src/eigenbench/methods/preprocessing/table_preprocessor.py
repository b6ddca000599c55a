"""Missing values replaced, categories encoded, columns scaled: the first step on a table."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.linalg.row_blocks import FLOAT_TYPES, validated
from eigenbench.methods.parameter_constraints import Interval


class TablePreprocessor(TransformerMixin, BaseEstimator):
    """Impute, encode and scale the columns of a table of numbers and category codes.

    Numbers: a missing value becomes the column's median, and a further column says where it was; then zero
    mean and unit variance. Categories: an indicator for each of the most frequent, one for all others
    together, and one for missing values. All of it is scikit-learn's, put together by a `ColumnTransformer`.
    Sparse rows stay as they are: to scale the columns of TF-IDF would destroy its weights.

    Parameters
    ----------
    categorical : array-like of int, default=()
        Columns that hold codes of categories. Any number is a code; the order means nothing.
    max_categories : int, default=30
        Indicators of a column at most, that of the rare ones included.

    Attributes
    ----------
    columns_ : ColumnTransformer or FunctionTransformer
        The fitted transformers.
    n_features_in_ : int
        Number of columns.

    Raises
    ------
    ValueError
        For a categorical column that is not there, categories in sparse rows, or infinite values.

    Notes
    -----
    A category that was not in the training rows counts as rare, or as none where none was rare. The cost is
    that of sorting every column.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0], [3.0, 2], [np.nan, 2]])
    >>> TablePreprocessor(categorical=[1]).fit_transform(X).round(2)
    array([[-1.22, -0.71,  1.  ,  0.  ],
           [ 1.22, -0.71,  0.  ,  1.  ],
           [ 0.  ,  1.41,  0.  ,  1.  ]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "categorical": ["array-like"],
        "max_categories": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(self, categorical: Any = (), max_categories: int = 30):
        self.categorical = categorical
        self.max_categories = max_categories

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> TablePreprocessor:
        """Find medians, categories and scales of numbers and codes; NaN stands for a missing value."""
        X = self._rows(X, reset=True)
        categorical = np.unique(np.asarray(self.categorical, dtype=np.intp))
        if categorical.size and not 0 <= categorical[0] <= categorical[-1] < X.shape[1]:
            raise ValueError(f"categorical={list(categorical)} names a column that is not among {X.shape[1]}")
        if isinstance(X, np.ndarray):
            self.columns_ = self._column_transformer(X, categorical).fit(X)
        elif categorical.size:
            raise ValueError("categories in sparse rows: encode them, or give dense rows")
        else:
            self.columns_ = FunctionTransformer(accept_sparse=True, feature_names_out="one-to-one").fit(X)
        return self

    def _column_transformer(self, X: np.ndarray, categorical: np.ndarray) -> ColumnTransformer:
        numbers = make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
        )
        indicators = OneHotEncoder(
            handle_unknown="infrequent_if_exist",
            max_categories=self.max_categories,
            sparse_output=False,
            dtype=X.dtype,
        )
        numeric = np.setdiff1d(np.arange(X.shape[1]), categorical)
        return ColumnTransformer([("numbers", numbers, numeric), ("categories", indicators, categorical)])

    def transform(self, X: Any) -> Any:
        """Return rows (n_samples, D) without missing values, in the type of X, sparse as they were in `fit`.

        Sparse indices have 32 bits where these suffice, since some of scikit-learn takes no others.
        """
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        if isinstance(self.columns_, ColumnTransformer) and not isinstance(X, np.ndarray):
            X = X.toarray()
        found = self.columns_.transform(X).astype(X.dtype, copy=False)
        if issparse(found) and found.nnz <= np.iinfo(np.int32).max:
            found.indices = found.indices.astype(np.int32, copy=False)
            found.indptr = found.indptr.astype(np.int32, copy=False)
        return found

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self)
        return self.columns_.get_feature_names_out(input_features)

    def _rows(self, X: Any, reset: bool) -> Any:
        return validated(
            self, X, accept_sparse="csr", dtype=FLOAT_TYPES, ensure_all_finite="allow-nan", reset=reset
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
