"""Pictures of a transfer: the target task in the plane, its distances, and directions as images."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline

from eigenbench.bench.protocols.base import Histogram, Images, Scatter
from eigenbench.methods.embeddings.constraints.margin_risk import PairDistances

#: What keeps a record small: points of a scatter plot, bins, pictures, and pixels of a picture.
_POINTS, _BINS, _PICTURES, _PIXELS = 400, 50, 8, 1024


def target_plane(Z: np.ndarray, names: list[str], seed: int) -> Scatter:
    """Show the target task on its two principal axes, after what the method did to it.

    Parameters
    ----------
    Z : ndarray of shape (n, D)
        Target rows as the method gives them; at most 400 of them, drawn at random, are shown.
    names : list of str
        Class name of each row.
    seed : int
        Seed of that draw.
    """
    shown = np.sort(np.random.default_rng(seed).permutation(len(Z))[:_POINTS])
    n_axes = min(2, *Z.shape)
    plane = np.zeros((len(shown), 2))
    plane[:, :n_axes] = PCA(n_axes, svd_solver="full").fit(Z).transform(Z[shown])
    return Scatter(
        title="Target task",
        x=_short(plane[:, 0]),
        y=_short(plane[:, 1]),
        labels=[names[row] for row in shown],
        x_label="first principal axis",
        y_label="second principal axis",
    )


def distance_histogram(pairs: PairDistances, threshold: float) -> Histogram:
    """Show the distances of equal and of different classes over common bins, and the best threshold."""
    distances = {
        "equal classes": np.sqrt(pairs.positive),
        "different classes": np.sqrt(pairs.negative),
    }
    top = max(float(group[-1]) for group in distances.values())
    edges = np.linspace(0.0, top or 1.0, _BINS + 1)
    return Histogram(
        title="Distances in the target task",
        edges=_short(edges),
        densities={
            name: _short(np.histogram(group, edges, density=True)[0]) for name, group in distances.items()
        },
        x_label="distance",
        marker=threshold,
    )


def direction_images(method: Pipeline, image: tuple[int, int]) -> Images | None:
    """Show the leading directions of a linear method in the input space, coarsened to 1,024 pixels.

    Returns
    -------
    Images or None
        None where a step is not linear, and so has no ``components_``.
    """
    directions: Any = None
    for _, step in method.steps:
        if getattr(step, "components_", None) is None:
            return None
        directions = step.components_ if directions is None else step.components_ @ directions
    if directions is None:
        return None
    height, width = image
    pictures = directions[:_PICTURES].reshape(-1, height, width)
    factor = 1
    while (height // factor) * (width // factor) > _PIXELS:
        factor += 1
    height, width = height // factor, width // factor
    pictures = pictures[:, : height * factor, : width * factor]
    pictures = pictures.reshape(-1, height, factor, width, factor).mean(axis=(2, 4))
    return Images(
        title="Leading directions",
        height=height,
        width=width,
        rows={"direction": [_short(picture.ravel(), digits=3) for picture in pictures]},
    )


def _short(values: np.ndarray, digits: int = 4) -> list[float]:
    """Round to significant digits of the largest value, so that the text of a record stays short."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return [0.0] * values.size
    decimals = digits - 1 - int(np.floor(np.log10(largest)))
    return np.round(values.astype(np.float64), decimals).tolist()
