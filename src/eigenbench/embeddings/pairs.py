"""Which ordered pairs of classes an all-pairs method looks at."""

from __future__ import annotations

import math

import numpy as np

#: A selection is an integer array of shape (n_pairs, 2): numerator and denominator class positions.
Pairs = np.ndarray


def all_pairs(n_classes: int) -> Pairs:
    """Return every ordered pair of different classes, k(k − 1) of them.

    Examples
    --------
    >>> all_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    """
    numerator, denominator = np.nonzero(~np.eye(n_classes, dtype=bool))
    return np.column_stack([numerator, denominator])


def hypercube_pairs(n_classes: int, rng: np.random.RandomState) -> Pairs:
    """Return the ordered pairs of neighbours on a random hypercube, O(k log k) of them.

    Parameters
    ----------
    n_classes : int
        Number of classes k, placed on different random corners of a cube of ⌈log2 k⌉ dimensions.
    rng : RandomState
        Source of the placement.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        All ordered pairs whose corners differ in one coordinate; at most k⌈log2 k⌉.
    """
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
    """Return ``n_pairs`` different random pairs with every class equally often on either side.

    Parameters
    ----------
    n_classes : int
        Number of classes k.
    n_pairs : int
        How many pairs; counts of a class differ by at most one when k does not divide it.
    rng : RandomState
        Source of the draw.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        In round s of k pairs, each class meets the class s steps further on a random circle; rounds use
        different steps, so no pair repeats.
    """
    circle = rng.permutation(n_classes)
    steps = 1 + rng.permutation(n_classes - 1)
    rounds = [np.column_stack([circle, np.roll(circle, -step)]) for step in steps]
    return np.concatenate(rounds)[:n_pairs]


def select_pairs(how: str, n_classes: int, n_pairs: int | None, rng: np.random.RandomState) -> Pairs:
    """Return the pairs of a selection by name.

    Parameters
    ----------
    how : {"all", "hypercube", "uniform", "stratified"}
        The selection.
    n_classes : int
        Number of classes, at least two.
    n_pairs : int or None
        Budget of the two random selections; None means as many as a hypercube gives, which is the
        comparison at an equal budget of the GEM paper, section 4.3. At most all pairs are returned.
    rng : RandomState
        Source of all draws.

    Returns
    -------
    ndarray of shape (n_pairs, 2)
        Numerator and denominator class positions.
    """
    if how == "all":
        return all_pairs(n_classes)
    cube = hypercube_pairs(n_classes, rng)
    if how == "hypercube":
        return cube
    budget = min(n_pairs or len(cube), n_classes * (n_classes - 1))
    draw = uniform_pairs if how == "uniform" else stratified_pairs
    return draw(n_classes, budget, rng)
