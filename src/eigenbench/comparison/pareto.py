"""Pareto fronts of cost and error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pareto_front(points: ArrayLike) -> NDArray[np.bool_]:
    """Find the points that no other point beats in all respects.

    Columns of ``points`` are quantities of which less is better, such as seconds and error. Equal points are
    on the front together, points that are not finite never. Cost: n**2 k comparisons.
    """
    values = np.asarray(points, dtype=np.float64)
    complete = np.isfinite(values).all(axis=1)
    rivals = values[complete]
    dominated = [((rivals <= point).all(axis=1) & (rivals < point).any(axis=1)).any() for point in values]
    return complete & ~np.array(dominated, dtype=bool)
