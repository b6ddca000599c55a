"""PLST: labels embedded by the principal components of the label matrix."""

from __future__ import annotations

from eigenbench.methods.embeddings.labels.spectral_label_embedding import (
    ColumnMap,
    MomentProducts,
    SpectralLabelEmbedding,
)
from eigenbench.methods.linalg.row_products import LabelledRows


class PLST(SpectralLabelEmbedding):
    r"""Principal label space transformation: embed labels by the top eigenvectors of their covariance.

    The embedding :math:`V_k` holds the leading eigenvectors of
    :math:`(Y - 1\bar y^\top)^\top (Y - 1\bar y^\top)` [1]_, found by subspace iteration. Unlike
    :class:`Rembrandt` it ignores X, so with one label per row, where labels do not occur together, it
    can only prefer the frequent ones. ``transform`` predicts :math:`Y V_k` from X. Of real-valued Y they are
    its principal components.

    Parameters
    ----------
    n_components, oversampling, n_iter, ridge, solver, cg_tol, cg_max_iter, n_jobs, random_state
        As for :class:`Rembrandt`.
    fit_intercept : bool, default=True
        Centre the labels, and fit an intercept. Without it the eigenvectors are those of :math:`Y^\top Y`.

    Attributes
    ----------
    embedding_, coef_, intercept_, classes_, penalty_, cg_iterations_, n_features_in_
        As those of :class:`Rembrandt`.
    singular_values_ : ndarray of shape (k,), float64
        Singular values of the centred label matrix, descending.

    Notes
    -----
    (q + 1)·(4·nnz(Y)·w + 4·c·w²) flops with w = k + p, and one regression on k columns. Nothing of shape
    (c, c), (d, c), (n, c) or (n, k) is formed.

    References
    ----------
    .. [1] F. Tai and H.-T. Lin, "Multilabel Classification with Principal Label Space Transformation",
       Neural Computation 24, 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from eigenbench.methods.embeddings.labels.plst import PLST
    >>> X, Y = make_multilabel_classification(n_classes=8, random_state=0)
    >>> PLST(n_components=3, random_state=0).fit_transform(X, Y).shape
    (100, 3)
    """

    def _operator(self, products: LabelledRows | MomentProducts, solve: ColumnMap) -> ColumnMap:
        return products.label_covariance
