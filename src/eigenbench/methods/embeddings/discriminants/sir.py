"""Sliced inverse regression, from class moments."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import type_of_target

from eigenbench.methods.embeddings.discriminants.moment_embedding import (
    MomentEmbedding,
    add_ridge,
    between_and_within,
    top_generalized,
)
from eigenbench.methods.linalg.row_blocks import checked_weights
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER, Interval


class SIR(MomentEmbedding):
    r"""Project on the directions along which whitened inputs depend most on the target.

    With w the whitened inputs, the signal is :math:`\sum_y p_y E[w \mid y] E[w \mid y]^\top` and the noise
    the identity [1]_, a row of Table 1 in [2]_. In the coordinates of x that is the covariance of the
    class means against the covariance of x. A continuous target is cut into slices of equal counts, which
    then are the classes.

    Parameters
    ----------
    n_components : int, default=2
        Number of directions k; at most min(classes − 1, rank of the covariance) are kept.
    n_slices : int, default=10
        Slices of a continuous target; ties stay together.
    gamma : float, default=0.0
        Added to the covariance of x, as a multiple of its mean eigenvalue. With γ = 0 directions are sought
        where x varies: none leads along constant features, and of repeated ones the mean counts.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions as rows; projections have unit variance.
    eigenvalues_ : ndarray of shape (k,), float64
        Share of the variance of each projection that lies between slices, descending, from 0 to 1.
    mean_ : ndarray of shape (d,), float64
        Mean of the rows; it maps to zero.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    One pass for :class:`~eigenbench.PooledMoments` (n·d² flops, 8·c·d + 4·d² bytes), then O(d³). The scale of
    the inputs makes no difference as long as γ = 0.

    References
    ----------
    .. [1] K.-C. Li, "Sliced inverse regression for dimension reduction", JASA 86, 1991.
    .. [2] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import SIR
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> direction = SIR(n_components=1).fit(X, np.exp(X @ [3, 0, 4])).components_[0]
    >>> (direction / np.linalg.norm(direction)).round(1).tolist()
    [0.6, 0.0, 0.8]
    """

    # Moments by value say nothing of the slices of a continuous target.
    _moments_suffice: ClassVar[bool] = False
    _moments_suffice_for_classes: ClassVar[bool] = True

    _pooled_suffice: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "n_slices": [Interval(Integral, 2, None, closed="left")],
        "gamma": [NOT_NEGATIVE],
    }

    def __init__(self, n_components: int = 2, *, n_slices: int = 10, gamma: float = 0.0) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.gamma = gamma

    def _groups(self, y: Any, sample_weight: Any) -> Any:
        weights = checked_weights(sample_weight, y)
        if type_of_target(y if weights is None else y[weights > 0]) != "continuous":
            return y
        return slice_codes(y, self.n_slices, weights)

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_slices = len(moments.classes)
        if n_slices < 2:
            raise ValueError(f"SIR compares the means of slices and needs two, got {n_slices} class.")
        mean, between, within = between_and_within(moments)
        k = min(self.n_components, n_slices - 1, moments.n_features)
        total = add_ridge(between + within, self.gamma)
        return *top_generalized(between, total, k, name="the covariance"), mean


def slice_codes(y: np.ndarray, n_slices: int, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Return the slice of each value of a continuous target (n,), 0 for the smallest.

    Slices have near-equal total weights, equal values together: fewer slices where values repeat. The scale
    of the weights makes no difference; a row of weight two counts as two rows.
    """
    order = np.argsort(y, kind="stable")
    ends = np.arange(1, len(y) + 1) if sample_weight is None else np.cumsum(sample_weight[order])
    shares = np.arange(1, n_slices) / n_slices * (1 - 1e-9)  # a sum that rounds below its share reaches it
    edges = np.unique(y[order[np.searchsorted(ends, shares * ends[-1])]])
    return np.searchsorted(edges, y, side="left")
