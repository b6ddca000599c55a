"""How much of the label structure that was planted in synthetic data an embedding has found."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from eigenbench.datasets.planted_labels import PlantedLabels


def captured_energy(data: PlantedLabels, embedding: np.ndarray, *, centred: bool = True) -> float:
    r"""Return the share of the planted prediction covariance that lies in an embedding's span.

    With :math:`F_t` the expected labels in topic t, of probability :math:`\pi_t`, and P the projection on
    the span: :math:`\sum_t \pi_t \|P(F_t - \bar F)\|^2 / \sum_t \pi_t \|F_t - \bar F\|^2`.

    Parameters
    ----------
    data : PlantedLabels
        The data set that the embedding was learned from.
    embedding : ndarray of shape (c, k)
        Its columns span the space; they need not be orthonormal.
    centred : bool, default=True
        Whether to subtract :math:`\bar F = \sum_t \pi_t F_t`, as a model with an intercept does.

    Returns
    -------
    float
        1 for an embedding that contains the planted space, about k / c for a random one.
    """
    factor = _weighted_factor(data, centred)
    found = data.label_factor @ _orthonormal(embedding)
    if centred:
        found = found - data.topic_weights @ found
    found *= np.sqrt(data.topic_weights)[:, None]
    return float((found**2).sum() / (factor**2).sum())


def canonical_angles(data: PlantedLabels, embedding: np.ndarray, *, centred: bool = True) -> np.ndarray:
    """Return the angles between the planted space and an embedding's span, ascending, in radians.

    Parameters
    ----------
    data, embedding, centred
        As for `captured_energy`.

    Returns
    -------
    ndarray of shape (min(m, k),)
        m is the dimension of the planted space: the rank, less 1 if centred. All are 0 for an embedding that
        contains the planted space and π/2 for one that is orthogonal to it.
    """
    factor = data.label_factor
    lengths = np.sqrt(factor.multiply(factor).sum(axis=1))
    # The rows of the factor are orthogonal: in their basis the planted space is a small matrix.
    basis = linalg.svd(_weighted_factor(data, centred).T, full_matrices=False)[0][:, : data.rank - centred]
    overlap = basis.T @ ((factor @ _orthonormal(embedding)) / lengths[:, None])
    return np.arccos(np.clip(linalg.svdvals(overlap), 0, 1))


def _weighted_factor(data: PlantedLabels, centred: bool) -> np.ndarray:
    """Return the rows √π_t (F_t - F̄) in the orthonormal basis F_t / ‖F_t‖, (rank, rank)."""
    factor = data.label_factor
    coordinates = np.diag(np.sqrt(factor.multiply(factor).sum(axis=1)))
    if centred:
        coordinates -= data.topic_weights @ coordinates
    return np.sqrt(data.topic_weights)[:, None] * coordinates


def _orthonormal(embedding: np.ndarray) -> np.ndarray:
    return linalg.qr(np.asarray(embedding, dtype=np.float64), mode="economic")[0]
