"""Principal components of every class on its own, side by side."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from eigenbench.methods.embeddings.discriminants.moment_embedding import MomentEmbedding
from eigenbench.methods.linalg.eigenproblems import largest_eigenpairs, top_of_gram
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.second_moments import ClassRows, SecondMoments, solved_from_rows
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER


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
    take more than 4 GB, two passes: see :class:`~eigenbench.StreamedMoments`. Where no class has more than
    d/2 rows, no second moments are formed: a class then costs n_i²·d + O(n_i³).

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_components": [POSITIVE_INTEGER]}

    def __init__(self, n_components: int = 5) -> None:
        self.n_components = n_components

    def _fit_rows(self, X: Any, groups: Any, sample_weight: np.ndarray | None) -> None:
        if not solved_from_rows(self._solve, X, groups, sample_weight, classes_each=1):
            super()._fit_rows(X, groups, sample_weight)

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d = moments.n_features
        k = min(self.n_components, d)
        n_classes = len(moments.classes)
        values, vectors = np.empty((n_classes, k)), np.empty((d, n_classes, k))
        for problems, held in moments.parts(np.arange(n_classes)[:, None]):
            for index in problems.tolist():
                values[index], vectors[:, index] = _principal(held, index, k)
        self.component_classes_ = np.repeat(moments.classes, k)
        return values.ravel(), vectors.reshape(d, -1), np.zeros(d)


def _principal(held: SecondMoments, i: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and vectors of the second moment of a class."""
    if isinstance(held, ClassRows):
        root = held.root(i) / np.sqrt(held.counts[i])
        values, U = top_of_gram(linalg.blas.dsyrk(1.0, root.T, trans=1, lower=1), k)
        return values, root.T @ (U / np.sqrt(values))
    return largest_eigenpairs(held.conditional(i), k, overwrite_a=True)
