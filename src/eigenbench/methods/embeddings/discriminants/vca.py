"""Vanishing component analysis of degree one, from class moments."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from eigenbench.methods.embeddings.discriminants.moment_embedding import MomentEmbedding
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER


class VCA(MomentEmbedding):
    r"""Project on the directions along which the data nearly vanish.

    Maximises :math:`v^\top v / v^\top E[x x^\top] v`: the eigenvectors of the uncentred second moment with
    the smallest eigenvalues, the linear case of [1]_ and a row of Table 1 in [2]_.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions k; any number above d gives d.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions as rows, of unit length.
    eigenvalues_ : ndarray of shape (k,), float64
        Mean squares of the projections, ascending.
    mean_ : ndarray of shape (d,), float64
        Zero: the moment is not centred.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Inputs of different units should be scaled to equal variance.

    One pass for :class:`~eigenbench.ClassMoments` (n·d² flops), then O(d³). Classes play no part.

    References
    ----------
    .. [1] R. Livni et al., "Vanishing Component Analysis", ICML 2013.
    .. [2] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import VCA
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) @ [[1, 1, 0], [0, 1, 1]]
    >>> bool(abs(VCA(n_components=1).fit_transform(X)).max() < 1e-6)
    True
    """

    _pooled_suffice: ClassVar[bool] = True
    _supervised: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_components": [POSITIVE_INTEGER]}

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        k = min(self.n_components, moments.n_features)
        second = moments.total() / moments.counts.sum()
        values, vectors = linalg.eigh(second, subset_by_index=(0, k - 1), overwrite_a=True)
        return np.maximum(values, 0.0), vectors, np.zeros(moments.n_features)
