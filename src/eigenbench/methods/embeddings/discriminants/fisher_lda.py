"""Fisher's linear discriminant analysis, from class moments."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from eigenbench.methods.embeddings.discriminants.moment_embedding import (
    MomentEmbedding,
    add_ridge,
    between_and_within,
    top_generalized,
)
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.parameter_constraints import NOT_NEGATIVE, POSITIVE_INTEGER, StrOptions


class FisherLDA(MomentEmbedding):
    r"""Project on directions that separate the class means relative to the spread within classes.

    Maximises :math:`v^\top S v / v^\top N v` with the covariance of the class means
    :math:`S = \sum_y p_y (\mu_y - \mu)(\mu_y - \mu)^\top` as signal and the mean covariance within the
    classes :math:`N = \sum_y p_y \mathrm{Cov}[x \mid y]` as noise [1]_, a row of Table 1 in [2]_.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of directions k; None gives min(classes − 1, rank of the noise), and so does any larger number,
        with a warning.
    gamma : float or "auto", default="auto"
        Added to the noise, as a multiple of its mean eigenvalue. "auto" takes (d / (n − c))² for n rows of c
        classes: next to nothing for many rows, most of the noise for few. Weights below one in the mean are
        scaled to one. With γ = 0 directions are sought where rows vary within classes: none leads along
        constant features, and of repeated ones the mean counts.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions v as rows, vᵀNv = 1.
    eigenvalues_ : ndarray of shape (k,), float64
        The ratios, descending.
    mean_ : ndarray of shape (d,), float64
        Mean of the rows; it maps to zero.
    gamma_ : float
        The γ that was used.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    One pass for :class:`~eigenbench.PooledMoments` (n·d² flops, 8·c·d + 4·d² bytes), then O(d³).
    Without a pass over the data from moments that are there already (``fit_moments``). The scale of the
    inputs makes no difference as long as γ = 0.

    References
    ----------
    .. [1] R. A. Fisher, "The use of multiple measurements in taxonomic problems", 1936.
    .. [2] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from eigenbench import FisherLDA
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherLDA().fit_transform(X, y).shape
    (150, 2)
    """

    _pooled_suffice: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER, None],
        "gamma": [NOT_NEGATIVE, StrOptions({"auto"})],
    }

    def __init__(self, n_components: int | None = None, *, gamma: float | str = "auto") -> None:
        self.n_components = n_components
        self.gamma = gamma

    def _directions(self, moments: AnyMoments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_classes = len(moments.classes)
        if n_classes < 2:
            raise ValueError(f"FisherLDA compares class means and needs two classes, got {n_classes} class.")
        mean, between, within = between_and_within(moments)
        largest = min(n_classes - 1, moments.n_features)
        k = min(self.n_components or largest, largest)
        if self.gamma == "auto":
            n_free = max(float(moments.counts.sum()) - n_classes, 1.0)
            self.gamma_ = (moments.n_features / n_free) ** 2
        else:
            self.gamma_ = float(self.gamma)
        noise = add_ridge(within, self.gamma_)
        values, vectors = top_generalized(between, noise, k, name="the covariance within classes")
        if self.n_components is not None and len(values) < self.n_components:
            warnings.warn(
                f"FisherLDA keeps {len(values)} of n_components={self.n_components}: {n_classes} classes and"
                f" {moments.n_features} inputs have no more. Set n_components to None or less.",
                stacklevel=2,
            )
        return values, vectors, mean
