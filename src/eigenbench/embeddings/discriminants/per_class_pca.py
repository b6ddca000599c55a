"""Principal components of every class on its own, side by side."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import Interval

from eigenbench.embeddings.discriminants.moment_embedding import MomentEmbedding
from eigenbench.moments import AnyMoments


class PerClassPCA(MomentEmbedding):
    r"""Project on the leading uncentred principal components of each class.

    For every class i the top eigenvectors of :math:`C_i = E[x x^\top \mid y = i]`: a class as signal
    against isotropic noise, a row of Table 1 in [1]_. It knows the classes but does not compare them.

    Parameters
    ----------
    n_components : int, default=5
        Number of directions of each class; any number above d gives d.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions as rows, of unit length, class by class.
    eigenvalues_ : ndarray of shape (k,), float64
        Mean squares of the projections of their own class, descending within a class.
    component_classes_ : ndarray of shape (k,)
        The class of each direction.
    mean_ : ndarray of shape (d,), float64
        Zero: the moments are not centred.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Inputs of different units should be scaled to equal variance.

    One pass for :class:`~eigenbench.ClassMoments` (n·d² flops), then O(d³) for each class. Where the moments
    take more than 4 GB, two passes: see :class:`~eigenbench.StreamedMoments`.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench import PerClassPCA
    >>> PerClassPCA(n_components=3).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 30)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_components: int = 5) -> None:
        self.n_components = n_components

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d = moments.n_features
        k = min(self.n_components, d)
        n_classes = len(moments.classes)
        values, vectors = np.empty((n_classes, k)), np.empty((d, n_classes, k))
        for problems, held in moments.parts(np.arange(n_classes)[:, None]):
            for index in problems.tolist():
                found = linalg.eigh(held.conditional(index), subset_by_index=(d - k, d - 1), overwrite_a=True)
                values[index], vectors[:, index] = found[0][::-1], found[1][:, ::-1]
        self.component_classes_ = np.repeat(moments.classes, k)
        return values.ravel(), vectors.reshape(d, -1), np.zeros(d)
