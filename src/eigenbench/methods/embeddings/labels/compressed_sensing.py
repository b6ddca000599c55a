"""Labels embedded by a random Gaussian matrix, as in compressed sensing."""

from __future__ import annotations

import numpy as np

from eigenbench.methods.embeddings.labels.spectral_label_embedding import (
    ColumnMap,
    LabelEmbedding,
    MomentProducts,
)
from eigenbench.methods.linalg.row_products import LabelledRows


class CompressedSensing(LabelEmbedding):
    """Embed labels by a random Gaussian matrix and predict the embedded labels by ridge regression.

    The embedding has independent entries of variance 1/k and so nearly keeps distances of sparse label
    vectors [1]_; it looks at neither X nor Y. It is the start of :class:`Rembrandt`'s iteration.

    Parameters
    ----------
    n_components, ridge, fit_intercept, solver, cg_tol, cg_max_iter, n_jobs
        As for :class:`Rembrandt`.
    random_state : int, RandomState instance or None, default=None
        Seed of the embedding.

    Attributes
    ----------
    embedding_ : ndarray of shape (c, k)
        The embedding R in the type of X (float32 for integers).
    coef_, intercept_, classes_, penalty_, cg_iterations_, n_features_in_
        As those of :class:`Rembrandt`.

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
