"""Labels embedded by a random Gaussian matrix, as in compressed sensing."""

from __future__ import annotations

import numpy as np

from eigenbench.methods.embeddings.labels.label_matrix import MomentProducts
from eigenbench.methods.embeddings.labels.spectral_label_embedding import ColumnMap, LabelEmbedding
from eigenbench.methods.linalg.row_products import LabelledRows


class CompressedSensing(LabelEmbedding):
    r"""Embed labels by a random Gaussian matrix and predict the embedded labels by ridge regression.

    The embedding has independent entries of variance 1/k and so nearly keeps distances of sparse label
    vectors [1]_; it looks at neither X nor Y. It is the start of :class:`Rembrandt`'s iteration.

    Parameters
    ----------
    n_components : int, default=50
        Dimension k of the embedding; the number of labels, with a warning, if that is smaller.
    ridge : float, default=0.1
        Penalty of the regression on X in units of the mean diagonal entry of :math:`X^\top X`, as for
        :class:`Rembrandt`.
    fit_intercept : bool, default=True
        Whether the regression has an intercept.
    solver, cg_tol, cg_max_iter, n_jobs
        As for :class:`Rembrandt`.
    random_state : int, RandomState instance or None, default=None
        Seed of the embedding.

    Attributes
    ----------
    embedding_ : ndarray of shape (c, k)
        The embedding R in the type of X (float32 for integers).
    coef_ : ndarray of shape (k, d)
        Ridge regression of Y R on X.
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
    One regression on k columns; see :class:`Rembrandt` for its cost.

    References
    ----------
    .. [1] D. Hsu, S. Kakade, J. Langford and T. Zhang, "Multi-Label Prediction via Compressed Sensing",
       NIPS 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench.methods.embeddings.labels.compressed_sensing import CompressedSensing
    >>> X, y = load_digits(return_X_y=True)
    >>> CompressedSensing(n_components=4, random_state=0).fit_transform(X, y).shape
    (1797, 4)
    """

    def _embed(
        self, products: LabelledRows | MomentProducts, solve: ColumnMap, k: int, rng: np.random.RandomState
    ) -> np.ndarray:
        return rng.standard_normal((products.n_labels, k)) / np.sqrt(k)
