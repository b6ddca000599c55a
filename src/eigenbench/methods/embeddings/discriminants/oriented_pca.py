"""Oriented principal components: much signal, little of a declared noise."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from eigenbench.methods.embeddings.discriminants.moment_embedding import (
    MomentEmbedding,
    add_ridge,
    top_generalized,
)
from eigenbench.methods.moments import AnyMoments
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
        Added to the noise, as a multiple of its mean eigenvalue; of no effect on isotropic noise but a scale.

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
