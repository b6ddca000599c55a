"""Principal components: against a declared noise, of every class on its own, and those that nearly vanish."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from eigenbench.methods.embeddings.discriminants.moment_embedding import (
    MomentEmbedding,
    add_ridge,
    top_generalized,
)
from eigenbench.methods.linalg.eigenproblems import top_of_gram
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.second_moments import ClassRows, SecondMoments, solved_from_rows
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER


class OrientedPCA(MomentEmbedding):
    r"""Project on directions with much signal relative to a declared noise.

    Maximises :math:`v^\top E[x x^\top] v / v^\top (E[z z^\top] + \frac{\gamma}{d} \mathrm{tr}(E[z z^\top])
    I) v` [1]_, a row of Table 1 in [2]_. Rows labelled ``noise_label`` are the noise z (distortions of
    examples, say), all others the signal x. Without noise rows the noise is the identity and the directions
    are the uncentred principal components.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions k; any number above d gives d.
    noise_label : int or str or None, default=None
        The label of noise rows; None declares isotropic noise.
    gamma : float, default=1e-6
        Added to the noise, as a multiple of its mean eigenvalue; of no effect on isotropic noise but a
        scale.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions v as rows, with a mean square of 1 on the noise.
    eigenvalues_ : ndarray of shape (k,), float64
        The ratios, descending.
    mean_ : ndarray of shape (d,), float64
        Zero: the moments are not centred.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Inputs of different units should be scaled to equal variance.

    One pass for :class:`~eigenbench.ClassMoments` (n·d² flops), then O(d³).

    References
    ----------
    .. [1] K. I. Diamantaras and S. Y. Kung, "Principal Component Neural Networks", Wiley, 1996.
    .. [2] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import OrientedPCA
    >>> rng = np.random.default_rng(0)
    >>> signal, noise = rng.normal(size=(300, 2)) * [2, 1], rng.normal(size=(300, 2)) * [3, 0.1]
    >>> X, y = np.vstack([signal, noise]), np.repeat(["signal", "noise"], 300)
    >>> abs(OrientedPCA(1, noise_label="noise").fit(X, y).components_[0]).argmax().item()
    1
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "noise_label": [Integral, str, None],
        "gamma": [NOT_NEGATIVE],
    }

    def __init__(
        self, n_components: int = 2, *, noise_label: int | str | None = None, gamma: float = 1e-6
    ) -> None:
        self.n_components = n_components
        self.noise_label = noise_label
        self.gamma = gamma

    def _needs_targets(self) -> bool:
        return self.noise_label is not None

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        d = moments.n_features
        signal, noise = moments.total() / moments.counts.sum(), np.eye(d)
        if self.noise_label is not None:
            signal, noise = self._split(moments)
        values, vectors = top_generalized(
            signal, add_ridge(noise, self.gamma), min(self.n_components, d), name="the noise"
        )
        return values, vectors, np.zeros(d)

    def _split(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray]:
        is_noise = moments.classes == self.noise_label
        if not is_noise.any() or is_noise.all():
            raise ValueError(
                f"noise_label={self.noise_label!r}: some rows must have this label and some another one; "
                f"the labels are {moments.classes.tolist()}."
            )
        n_noise = moments.counts[is_noise].sum()
        [(_, held)] = moments.parts(np.flatnonzero(is_noise)[None])
        noise = held.second_moment(int(np.flatnonzero(is_noise)[0]))
        signal = (moments.total() - noise) / (moments.counts.sum() - n_noise)
        return signal, noise / n_noise


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
    d = held.sums.shape[1]
    values, vectors = linalg.eigh(held.conditional(i), subset_by_index=(d - k, d - 1), overwrite_a=True)
    return values[::-1], vectors[:, ::-1]


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
