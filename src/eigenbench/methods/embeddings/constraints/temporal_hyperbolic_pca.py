"""Hyperbolic PCA of a sequence: rows near in time count as equal, rows far in time as different."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from eigenbench.methods.embeddings.constraints.hyperbolic_subspace import HyperbolicSubspace
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER


class TemporalHyperbolicPCA(HyperbolicSubspace):
    """Hyperbolic PCA without labels, for rows observed one after the other.

    A row and each of the next ``lag`` rows make positive pairs; a row and rows drawn at random that are
    farther away in time make negative pairs, as many. Where the sequence turns from one object to the next,
    some positive pairs are wrong, and some negative pairs show one object; the method does not know which.

    Parameters
    ----------
    n_components : int, default=20
        The largest dimension of the subspace.
    lag : int, default=5
        Largest distance in time, in rows, of a positive pair.
    kernel, gamma, eta_negative
        See `HyperbolicPCA`, whose other parameters have their defaults here.
    random_state : int, RandomState instance or None, default=None
        Seed of the negative pairs.

    Attributes
    ----------
    n_constraints_ : int
        Number of pairs. They are not independent, so ``bound`` is a formula here, not a guarantee.

    Notes
    -----
    2·n·lag pairs of n rows; time and memory are those of `HyperbolicPCA.fit_pairs`.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", 2005, §3 and §7.

    Examples
    --------
    Points on three circles that take turns: position in time replaces the labels.

    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.constraints.temporal_hyperbolic_pca import TemporalHyperbolicPCA
    >>> angle = np.linspace(0, 2 * np.pi, 30)
    >>> X = np.concatenate([np.c_[np.cos(angle), np.sin(angle), np.full(30, z)] for z in (0, 1, 2)])
    >>> model = TemporalHyperbolicPCA(1, lag=10, eta_negative=0.1, random_state=0).fit(X)
    >>> bool(abs(model.components_[0, 2]) > 0.9)
    True
    """

    _supervised: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HyperbolicSubspace._parameter_constraints,
        "lag": [POSITIVE_INTEGER],
    }

    def __init__(
        self,
        n_components: int = 20,
        *,
        lag: int = 5,
        kernel: Any = "linear",
        gamma: float | None = None,
        eta_negative: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components, kernel=kernel, gamma=gamma, eta_negative=eta_negative, random_state=random_state
        )
        self.lag = lag

    def fit(self, X: Any, y: Any = None) -> TemporalHyperbolicPCA:
        """Find the subspace from the order of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows in the order in which they were observed.
        y : None
            Ignored.

        Returns
        -------
        self : TemporalHyperbolicPCA

        Raises
        ------
        ValueError
            If there are no more than ``lag + 1`` rows, or as in `HyperbolicPCA.fit_pairs`.
        """
        self._validate_params()
        X = self._training_rows(X, ensure_min_samples=2)
        rng = check_random_state(self.random_state)
        positive = _near_pairs(X.shape[0], self.lag)
        negative = _far_pairs(X.shape[0], self.lag + 1, len(positive), rng)
        r = np.repeat([1, -1], [len(positive), len(negative)])
        self.fit_pairs(X, np.concatenate([positive, negative]), r)
        return self


def _near_pairs(n_rows: int, lag: int) -> np.ndarray:
    """Return all pairs (i, j) with 0 < j − i ≤ lag."""
    first = np.arange(n_rows)
    steps = range(1, min(lag, n_rows - 1) + 1)
    return np.concatenate([np.c_[first[:-step], first[step:]] for step in steps])


def _far_pairs(n_rows: int, gap: int, n_pairs: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw pairs (i, j) with j − i ≥ gap, all equally likely, with replacement."""
    if n_rows <= gap:
        raise ValueError(
            f"{n_rows} rows hold no pair at a distance of {gap} in time: give more rows, or lower lag."
        )
    later = np.arange(n_rows - gap, 0, -1)
    ends = np.cumsum(later)
    drawn = rng.randint(ends[-1], size=n_pairs)
    first = np.searchsorted(ends, drawn, side="right")
    return np.c_[first, first + gap + drawn - (ends[first] - later[first])]
