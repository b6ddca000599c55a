"""Rembrandt: the label embedding of rank-constrained least squares, by randomized subspace iteration."""

from __future__ import annotations

from eigenbench.methods.embeddings.labels.spectral_label_embedding import (
    ColumnMap,
    MomentProducts,
    SpectralLabelEmbedding,
)
from eigenbench.methods.linalg.row_products import LabelledRows


class Rembrandt(SpectralLabelEmbedding):
    r"""Embed labels, or real vectors, by the right singular vectors of the least-squares prediction of Y.

    Of all W of rank at most k, :math:`W = X^+ Y V_k V_k^\top` minimises :math:`\|Y - XW\|_F`, where
    :math:`V_k` holds the top right singular vectors of :math:`\Pi_X Y` and :math:`\Pi_X` projects on the
    column space of X. :math:`V_k` is the embedding: two labels are near when the same inputs predict them.
    It is found by subspace iteration on :math:`Y^\top X (X^\top X + \lambda I)^{-1} X^\top Y`, which needs
    one ridge regression on k + p columns for each step and is never formed [1]_. Nothing in it needs zeros
    and ones: of real-valued Y it is the reduced-rank regression, ``transform(X) @ embedding_.T`` its
    prediction but for the mean of Y along directions that are left out.

    Parameters
    ----------
    n_components : int, default=50
        Dimension k of the embedding; the number of labels, with a warning, if that is smaller.
    oversampling : int, default=20
        Directions p beyond k that the iteration carries along.
    n_iter : int, default=1
        Number q of power iterations. The last step diagonalises as well, so the rows are fitted q + 1 times.
    ridge : float, default=0.1
        Penalty λ ≥ 0 in units of the mean diagonal entry of :math:`X^\top X` (of centred X with
        ``fit_intercept``), so that it does not depend on the scale of X or on n. The intercept is not
        penalised.
    fit_intercept : bool, default=True
        Fit an intercept of full rank: X and Y are centred, in effect. The constant feature of the authors'
        program is different in that it spends a component on the frequencies of the labels.
    solver : {"auto", "cholesky", "cg"}, default="auto"
        The ridge regression: from a Cholesky factor of the Gram matrix, or by block conjugate gradients with
        a diagonal preconditioner and products with the rows, of which the part of frequent columns is made
        once. "auto" takes the former for dense X and up to 2,048 features.
    cg_tol : float, default=1e-3
        Relative residual at which conjugate gradients stop.
    cg_max_iter : int, default=100
        Largest number of their iterations for each regression.
    n_jobs : int or None, default=None
        Threads that share the k + p columns of products with the rows; None follows
        ``joblib.parallel_config``. It changes results by rounding only.
    random_state : int, RandomState instance or None, default=None
        Seed of the Gaussian start.

    Attributes
    ----------
    embedding_ : ndarray of shape (c, k)
        The embedding :math:`V_k`, orthonormal columns in the type of X (float32 for integers); the entry of
        largest absolute value of each is positive. Labels without rows are at zero.
    singular_values_ : ndarray of shape (k,), float64
        Those of :math:`(X^\top X + \lambda I)^{-1/2} X^\top Y`, descending; with λ = 0 those of
        :math:`\Pi_X Y`. Components beyond the rank have values of about zero and predict nothing.
    coef_ : ndarray of shape (k, d)
        Ridge regression of :math:`Y V_k` on X.
    intercept_ : ndarray of shape (k,), float64
        Its intercept.
    classes_ : ndarray of shape (c,)
        Class labels, or column numbers of Y.
    penalty_ : float
        The absolute penalty λ.
    cg_iterations_ : int
        Largest number of conjugate gradient iterations for any column; 0 with a Cholesky factor.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    With w = k + p. Cholesky: n·d² + d³/3 flops and 8·d² bytes (float32: 4·d² above 2,048 features).
    Conjugate gradients: 4·nnz(X)·w flops for each iteration, less those of the h most frequent columns, for
    which 4·h·d·w dense ones are done; none in the first step if q > 0, where the diagonal stands for
    :math:`X^\top X`: a random start need not be solved for. Both: 4·(nnz(X) + nnz(Y))·w + 4·c·w² flops for
    each of q + 1 steps. Memory beside the data, in float32: 24·c·w + 8·d·k bytes, for each thread 32·d·64
    bytes and 128 MB, and for conjugate gradients at most 1 GB of products and 4 GB for a copy of the
    columns that are not frequent. Nothing of shape (c, c), (d, c), (n, c), (n, k) or (d, w) is formed.

    References
    ----------
    .. [1] P. Mineiro and N. Karampatziakis, "Fast Label Embeddings via Randomized Linear Algebra",
       ECML PKDD 2015, Algorithm 2 and section 2.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt
    >>> X, y = load_digits(return_X_y=True)
    >>> embedding = Rembrandt(n_components=4, random_state=0).fit(X, y)
    >>> embedding.embedding_.shape, embedding.transform(X).shape
    ((10, 4), (1797, 4))
    """

    def _operator(self, products: LabelledRows | MomentProducts, solve: ColumnMap) -> ColumnMap:
        return lambda columns: products.cross_transposed(solve(products.cross(columns)))
