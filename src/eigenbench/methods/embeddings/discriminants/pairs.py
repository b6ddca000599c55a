"""Ordered pairs of classes for methods that compare classes in pairs."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg
from scipy.spatial.distance import cdist

from eigenbench.methods.embeddings.discriminants.moment_embedding import add_ridge
from eigenbench.methods.linalg.eigenproblems import SharedDenominator
from eigenbench.methods.linalg.row_blocks import row_slices
from eigenbench.methods.moments import AnyMoments

#: A selection is an integer array of shape (n_pairs, 2): numerator and denominator class positions.
Pairs = np.ndarray


def all_pairs(n_classes: int) -> Pairs:
    """Return every ordered pair of different classes, k(k − 1) of them."""
    numerator, denominator = np.nonzero(~np.eye(n_classes, dtype=bool))
    return np.column_stack([numerator, denominator])


def hypercube_pairs(n_classes: int, rng: np.random.RandomState) -> Pairs:
    """Return the ordered pairs of neighbours on random corners of a cube of ⌈log2 k⌉ dimensions."""
    dimensions = max(1, math.ceil(math.log2(n_classes)))
    corners = rng.permutation(2**dimensions)[:n_classes]
    class_at = np.full(2**dimensions, -1)
    class_at[corners] = np.arange(n_classes)
    neighbours = class_at[corners[:, None] ^ (1 << np.arange(dimensions))]
    numerator, bit = np.nonzero(neighbours >= 0)
    return np.column_stack([numerator, neighbours[numerator, bit]])


def uniform_pairs(n_classes: int, n_pairs: int, rng: np.random.RandomState) -> Pairs:
    """Return ``n_pairs`` different ordered pairs, drawn uniformly without replacement."""
    pairs = all_pairs(n_classes)
    return pairs[np.sort(rng.choice(len(pairs), size=n_pairs, replace=False))]


def stratified_pairs(n_classes: int, n_pairs: int, rng: np.random.RandomState) -> Pairs:
    """Return different random pairs with every class equally often, to within one, on either side.

    In round s of k pairs, each class meets the class s steps further on a random circle, so no pair repeats.
    """
    circle = rng.permutation(n_classes)
    steps = 1 + rng.permutation(n_classes - 1)
    rounds = [np.column_stack([circle, np.roll(circle, -step)]) for step in steps]
    return np.concatenate(rounds)[:n_pairs]


def nearest_pairs(moments: AnyMoments, gamma: float, n_pairs: int) -> Pairs:
    """Return at most k(k − 1) pairs of each class as numerator and the classes nearest to it as denominators.

    Every class gets its nearest before any gets its second nearest, and of a round that is not complete the
    closest pairs are kept. Rows (numerator, denominator) come round by round.
    """
    n_classes = len(moments.classes)
    neighbours, distances = nearest_classes(moments, gamma, -(-n_pairs // n_classes))
    n_last = n_pairs - n_classes * (neighbours.shape[1] - 1)
    closest = np.sort(np.argsort(distances[:, -1], kind="stable")[:n_last])
    whole = np.tile(np.arange(n_classes), neighbours.shape[1] - 1)
    return np.column_stack(
        [np.r_[whole, closest], np.r_[neighbours[:, :-1].ravel(order="F"), neighbours[closest, -1]]]
    )


def nearest_classes(moments: AnyMoments, gamma: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the positions (k, count) of the classes of nearest means, nearest first, and their distances.

    :math:`\sqrt{(\mu_i - \mu_j)^\top N^{-1} (\mu_i - \mu_j)}` with N the second moment of all rows plus
    ``gamma`` times its mean eigenvalue: d³/3 + k·d² + 3k²·d flops, and 128 MB beside 16·k·d bytes. Raises
    `ValueError` if N is singular.
    """
    second_moment = add_ridge(moments.total() / moments.counts.sum(), gamma)
    try:
        factor = SharedDenominator(second_moment)
    except linalg.LinAlgError as error:
        raise ValueError(
            f"the second moment of all rows ({moments.counts.sum()} examples, {moments.n_features} features) "
            f"is singular with gamma={gamma}: increase gamma."
        ) from error
    means = factor.whitened(moments.sums / moments.counts[:, None])
    found = []
    for here in row_slices(len(means), 16 * len(means)):
        distances = cdist(means[here], means)
        distances[np.arange(len(distances)), np.arange(here.start, here.stop)] = np.inf
        classes = np.argsort(distances, axis=1, kind="stable")[:, :count].copy()
        found.append((classes, np.take_along_axis(distances, classes, axis=1)))
    classes, distances = (np.concatenate(part) for part in zip(*found, strict=True))
    return classes, distances


def hypercube_size(n_classes: int) -> int:
    """Return the mean number of pairs, rounded, of `hypercube_pairs` over its random placements."""
    dimensions = max(1, math.ceil(math.log2(n_classes)))
    return round(dimensions * n_classes * (n_classes - 1) / (2**dimensions - 1))


def select_pairs(how: str, n_classes: int, n_pairs: int | None, rng: np.random.RandomState) -> Pairs:
    """Return the pairs of a selection by name: "all", "hypercube", "uniform" or "stratified".

    ``n_pairs`` bounds the two random ones; None means as many as a hypercube gives, the comparison at an
    equal budget of the GEM paper, section 4.3.
    """
    if how == "all":
        return all_pairs(n_classes)
    cube = hypercube_pairs(n_classes, rng)
    if how == "hypercube":
        return cube
    budget = min(n_pairs or len(cube), n_classes * (n_classes - 1))
    draw = uniform_pairs if how == "uniform" else stratified_pairs
    return draw(n_classes, budget, rng)
