"""Partial least squares and canonical correlations of scikit-learn, of rows and their labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn import cross_decomposition

from eigenbench.methods.embeddings.labels.spectral_label_embedding import label_matrix
from eigenbench.methods.embeddings.row_transformer import LinearEmbedding
from eigenbench.methods.linalg.row_blocks import validated
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER

#: Squared change of a direction at which scikit-learn's power iterations end, and the most of them.
_TOLERANCE, _MOST_ITERATIONS = 1e-12, 2_000


class _CrossDecomposition(LinearEmbedding):
    """Base of linear maps that scikit-learn finds from standardised rows and indicators of their labels."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_components": [POSITIVE_INTEGER, None]}

    _supervised: ClassVar[bool] = True

    #: scikit-learn's estimator.
    _estimator: ClassVar[type]

    def __init__(self, n_components: int | None = None) -> None:
        self.n_components = n_components

    def _most(self, n_rows: int, n_inputs: int, label_rank: int) -> int:
        """Return the largest number of components that there are."""
        return min(n_rows - 1, n_inputs)

    def fit(self, X: Any, y: Any) -> Any:
        """Find the directions from rows (n_samples, d) and class labels (n_samples,), or an indicator matrix.

        Raises `ValueError` if there is one row, or one class, only.
        """
        self._validate_params()
        X, y = validated(self, X, y, dtype=[np.float64, np.float32], multi_output=True, ensure_min_samples=2)
        indicators, self.classes_ = label_matrix(y, np.float64)
        labels = indicators.toarray()
        labels = labels[:, labels.min(axis=0) < labels.max(axis=0)]
        if not labels.shape[1]:
            raise ValueError(f"{type(self).__name__} compares classes and needs at least two, got 1 class.")
        rank = int(np.linalg.matrix_rank(labels - labels.mean(axis=0)))
        most = self._most(X.shape[0], X.shape[1], rank)
        count = min(self.n_components or most, most)
        model = self._estimator(n_components=count, tol=_TOLERANCE, max_iter=_MOST_ITERATIONS)
        model.fit(X.astype(np.float64), labels)
        scales = X.std(axis=0, ddof=1, dtype=np.float64)
        self.components_ = model.x_rotations_.T / np.where(scales > 0, scales, 1)
        self.mean_ = X.mean(axis=0, dtype=np.float64)
        return self

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.components_.T, -(self.components_ @ self.mean_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


class LabelPLS(_CrossDecomposition):
    r"""Partial least squares: directions of largest covariance with the labels, one after the other.

    The first direction maximises :math:`\|Y^\top X w\|` over unit w, X and the class indicators Y
    standardised; each next one does for what the scores before it leave of X and Y (M. Barker and W.
    Rayens, "Partial least squares for discrimination", Journal of Chemometrics 17, 2003). The computation
    is that of scikit-learn's ``PLSRegression``. ``n_components=None``, and any larger number, takes
    min(d, n − 1). A component costs 2·n·d·c flops for each power iteration, and 4·n·d beside.
    ``components_`` (k, d) are for inputs that are not standardised; ``mean_`` (d,) maps to zero.
    """

    _estimator = cross_decomposition.PLSRegression


class LabelCCA(_CrossDecomposition):
    """Canonical correlation analysis: directions of largest correlation with the labels.

    A direction w maximises the correlation of Xw with some Yv, uncorrelated with those before it (H.
    Hotelling, "Relations between two sets of variates", Biometrika 28, 1936). With one label a row these are
    the directions of Fisher's linear discriminant analysis. The computation is that of scikit-learn's
    ``CCA``. ``n_components=None``, and any larger number, takes min(d, n − 1, c − 1), for an indicator matrix
    with its rank in place of c − 1. A component costs the pseudo-inverse of X, O(n·d²), and 2·n·d·c flops for
    each power iteration. Reduce inputs that are many or correlated by principal components first.
    """

    _estimator = cross_decomposition.CCA

    def _most(self, n_rows: int, n_inputs: int, label_rank: int) -> int:
        return min(n_rows - 1, n_inputs, label_rank)
