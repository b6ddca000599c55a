"""GEM for many classes: each class under its nearest classes together."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

import numpy as np

from eigenbench.methods.embeddings.discriminants.detector_embedding import ClassDetectors
from eigenbench.methods.embeddings.discriminants.gem import class_denominator, rows_denominator
from eigenbench.methods.embeddings.discriminants.pairs import nearest_classes
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.second_moments import ClassRows, SecondMoments, solved_from_rows
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER

logger = logging.getLogger(__name__)


class NeighborhoodGEM(ClassDetectors):
    r"""Project on directions that are small for one class and large for the classes that it is confused with.

    For every class j the top solutions of

    .. math:: \frac{1}{r} \sum_{i \in N(j)} C_i v = \lambda (C_j + \frac{\gamma}{d} \mathrm{tr}(C_j) I) v

    are kept, with :math:`C_i = E[x x^\top \mid y = i]` and N(j) the r classes whose means are nearest to that
    of j where the second moment of all rows (with γ) is the identity. The numerator is a contraction of
    :math:`E[x \otimes x \otimes y]`, y the indicator of the class, with a vector that the data choose; the
    GEM paper leaves such a choice open and takes pairs of classes that neighbour on a random cube [1]_.
    Detectors of a class do not repeat each other, as those of its pairs with several others do.

    Parameters
    ----------
    gamma, theta
        As for :class:`~eigenbench.GEM`.
    top : int or None, default=None
        The largest number of detectors per class.
    n_components : int or None, default=None
        The largest number of detectors in all: the first of every class, then the second of every class and
        so on, and of the last round those of largest λ. Without it and ``top``, 12 per class are kept, but
        no more than 20·d or 1,920 in all, with a warning where that binds.
    n_neighbors : int, default=4
        Number r of classes in a numerator; all the others if there are fewer.

    Attributes
    ----------
    detectors_, eigenvalues_, classes_, n_features_in_
        As those of :class:`~eigenbench.GEM`, class by class in place of pair by pair.
    denominators_ : ndarray of shape (m,)
        The class label j of each detector.
    neighbors_ : ndarray of shape (k, r)
        The labels of N(j) for each class, nearest first.

    Notes
    -----
    Inputs of different units should be scaled to equal variance, unless γ = 0.

    One pass over X for :class:`~eigenbench.ClassMoments` (n·d² flops, 4·k·d² bytes; above 4 GB second moments
    are made of a class and its neighbours when needed, see :class:`~eigenbench.StreamedMoments`),
    d³/3 + k·d² + 3k²·d flops for the neighbours, then per class one factorisation and one eigenproblem, about
    3d³ flops below d = 1,000: for k classes and m detectors log2 k times fewer eigenproblems than on a cube.
    Where no r + 1 classes have more than d/2 rows, and γ > 0, no second moments are formed: see
    :class:`~eigenbench.GEM`. ``transform`` costs 2·n·d·m flops. No random numbers are drawn.

    Meant for a few detectors of each of many classes; with few classes and many detectors for each,
    :class:`~eigenbench.GEM` is better.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, sections 4.3 and 5.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from eigenbench import CalibratedLeastSquares, NeighborhoodGEM, SignedPowers
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(NeighborhoodGEM(top=18), SignedPowers(), CalibratedLeastSquares())
    >>> bool(model.fit(X[:1000] / 16, y[:1000]).score(X[1000:] / 16, y[1000:]) > 0.93)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassDetectors._parameter_constraints,
        "n_neighbors": [POSITIVE_INTEGER],
    }

    def __init__(
        self,
        gamma: float = 0.5,
        theta: float = 0.0,
        top: int | None = None,
        *,
        n_components: int | None = None,
        n_neighbors: int = 4,
    ) -> None:
        self.gamma = gamma
        self.theta = theta
        self.top = top
        self.n_components = n_components
        self.n_neighbors = n_neighbors

    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        classes_each = self.n_neighbors + 1
        if not (self.gamma > 0 and solved_from_rows(self._solve, X, y, sample_weight, classes_each)):
            super()._fit_rows(X, y, sample_weight)

    def _find(self, moments: AnyMoments) -> None:
        count = min(self.n_neighbors, len(moments.classes) - 1)
        neighbors, _ = nearest_classes(moments, self.gamma, count)
        top, limit = self._numbers(len(neighbors), moments.n_features)
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for problems, held in moments.parts(np.column_stack([np.arange(len(neighbors)), neighbors])):
            for j in problems.tolist():
                found[j] = self._detectors(held, j, neighbors[j], top)
                logger.info("NeighborhoodGEM: class %d/%d", len(found), len(neighbors))
        kept = self._keep([found[j] for j in range(len(neighbors))], top, limit)
        self.neighbors_ = moments.classes[neighbors]
        self.denominators_ = np.repeat(moments.classes, top)[kept]

    def _detectors(
        self, held: SecondMoments, j: int, neighbors: np.ndarray, top: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest eigenvalues of class j under its neighbours, and their vectors."""
        if isinstance(held, ClassRows):
            parts = [held.root(i) / np.sqrt(len(neighbors) * held.counts[i]) for i in neighbors]
            return rows_denominator(held, j, self.gamma).top(np.concatenate(parts), top)
        numerator = np.zeros((held.sums.shape[1],) * 2)
        for i in neighbors:
            numerator += held.conditional(i) / len(neighbors)
        return class_denominator(held, j, self.gamma).top(numerator, top)
