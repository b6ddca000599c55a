"""Projections on random directions: the baseline that an informed embedding has to beat."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from eigenbench.methods.embeddings.row_transformer import LinearEmbedding, UnsupervisedFit
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER


class RandomDirections(LinearEmbedding, UnsupervisedFit):
    """Project on directions drawn uniformly from the unit sphere.

    The reference row "Random" of Table 2 in [1]_: the same number of directions as GEM has detectors, the
    same expansion and the same classifier, but directions that know nothing about the classes.

    Parameters
    ----------
    n_components : int, default=100
        Number of directions k.
    random_state : int, RandomState instance or None, default=None
        Seed of the Gaussian draw.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float64
        The directions, each of unit length.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    ``fit`` costs O(kd) and reads only the width of X; ``transform`` costs 2ndk flops.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from eigenbench import RandomDirections
    >>> RandomDirections(n_components=3, random_state=0).fit_transform(np.eye(4)).shape
    (4, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    _shape_suffices: ClassVar[bool] = True

    def __init__(self, n_components: int = 100, *, random_state: Any = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def _learn(self, X: Any) -> None:
        rng = check_random_state(self.random_state)
        directions = rng.standard_normal((self.n_components, X.shape[1]))
        self.components_ = directions / np.linalg.norm(directions, axis=1, keepdims=True)

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.components_.T, None
