"""GEM with parts of a class, found by k-means, over whole other classes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from eigenbench.methods.embeddings.discriminants.detector_embedding import LabelDetectors
from eigenbench.methods.embeddings.discriminants.gem import class_denominator
from eigenbench.methods.embeddings.discriminants.pairs import all_pairs, nearest_pairs
from eigenbench.methods.linalg.eigenproblems import SharedDenominator, TooFewRows
from eigenbench.methods.linalg.row_blocks import rows_that_count
from eigenbench.methods.moments import ClassMoments
from eigenbench.methods.moments.second_moments import ClassRows
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER

logger = logging.getLogger(__name__)


class SubclassGEM(LabelDetectors):
    r"""Project on directions along which a part of one class is large and another class is small.

    The rows of every class i are cut into subclasses by k-means. For each subclass s of it and every other
    class j the top solutions of

    .. math:: C_{is} v = \lambda (C_j + \frac{\gamma}{d} \mathrm{tr}(C_j) I) v

    are kept, with :math:`C_{is} = E[x x^\top]` over the subclass and :math:`C_j = E[x x^\top \mid y = j]`. As
    in :class:`~eigenbench.GEM` [1]_ they are scaled to a mean square of 1 in class j (with γ) and λ in
    the subclass. A class of several kinds, such as the digit 7 with and without a bar, has one moment for all
    of them in GEM; here each has its own detectors, as each has its own mean in subclass discriminant
    analysis [2]_.

    Parameters
    ----------
    gamma, theta
        As for :class:`~eigenbench.GEM`.
    top : int or None, default=None
        The largest number of detectors for a subclass and a class.
    n_subclasses : int, default=4
        Number of clusters of each class; a class of fewer rows has one for each of them. With 1 the detectors
        are those of GEM.
    n_components : int or None, default=None
        The largest number of detectors in all: the first for every subclass and class, then the second and so
        on, and of the last round those of largest λ. Where that are fewer than subclasses times other
        classes, a class is compared with those of the nearest means only, as in ``GEM(pairs="auto")``.
        Without it and ``top``, 4 for each are kept, but no more than a quarter of the rows of the subclass
        (at least one), and no more than 20·d or 1,920 in all, with a warning where that binds.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means.

    Attributes
    ----------
    detectors_, eigenvalues_, classes_, n_features_in_
        As those of :class:`~eigenbench.GEM`, subclass by subclass, class by class.
    pairs_ : ndarray of shape (m, 2)
        Class labels of each detector: that of its subclass, and that of the denominator.
    subclasses_ : ndarray of shape (m,), int
        Which subclass of its class the numerator of each detector is, from 0 on.

    Notes
    -----
    Two passes over X for moments (2n·d² flops), k-means in each class, a factorisation per class, and
    k(k − 1)·s eigenproblems for s subclasses: s times those of GEM, while ``top`` can be as many times
    smaller. Subclasses of m ≤ d/4 rows take m·d² flops for each, not 3·d³. Memory: at most 8·(2k + s)·d²
    bytes. ``transform`` costs 2·n·d·m flops. Unlike those of GEM the detectors depend on the scale of the
    inputs, by which k-means measures distances.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, Algorithm 1.
    .. [2] M. Zhu and A. M. Martinez, "Subclass Discriminant Analysis", IEEE Transactions on Pattern
       Analysis and Machine Intelligence 28 (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from eigenbench import CalibratedLeastSquares, SignedPowers, SubclassGEM
    >>> X, y = load_digits(return_X_y=True)
    >>> gem = SubclassGEM(top=1, n_subclasses=2, random_state=0)
    >>> model = make_pipeline(gem, SignedPowers(), CalibratedLeastSquares())
    >>> bool(model.fit(X[:1000] / 16, y[:1000]).score(X[1000:] / 16, y[1000:]) > 0.93)
    True
    """

    _usual_top: ClassVar[int] = 4

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LabelDetectors._parameter_constraints,
        "n_subclasses": [POSITIVE_INTEGER],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma: float = 0.5,
        theta: float = 0.0,
        top: int | None = None,
        *,
        n_subclasses: int = 4,
        n_components: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.theta = theta
        self.top = top
        self.n_subclasses = n_subclasses
        self.n_components = n_components
        self.random_state = random_state

    @classmethod
    def _draws_at_random(cls, params: dict[str, Any]) -> bool:
        return params["n_subclasses"] != 1

    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        X, y, sample_weight = rows_that_count(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._check_number(len(self.classes_))
        moments = ClassMoments.of(X, y, sample_weight=sample_weight)
        pairs, top, limit = self._select_pairs(moments)
        denominators = {j: class_denominator(moments, j, self.gamma) for j in np.unique(pairs[:, 1])}
        del moments
        found, owners, rows = [], [], []
        for i, s, held in self._numerators(X, codes, sample_weight, np.unique(pairs[:, 0])):
            for j in pairs[pairs[:, 0] == i, 1]:
                found.append(_top(denominators[j], held, s, top))
                owners.append((i, j, s))
                rows.append(held.counts[s])
            logger.info("SubclassGEM: class %d/%d, subclass %d", i + 1, len(self.classes_), s)
        found = [(np.maximum(values, 0), vectors) for values, vectors in found]
        kept = self._keep(found, top, limit, np.array(rows))
        owner = np.repeat(owners, top, axis=0)[kept]
        self.pairs_, self.subclasses_ = self.classes_[owner[:, :2]], owner[:, 2]

    def _select_pairs(self, moments: ClassMoments) -> tuple[np.ndarray, int, int | None]:
        """Return the pairs of classes, and the largest numbers of detectors of each subclass and in all."""
        n_subclasses = np.minimum(self.n_subclasses, moments.counts)
        n_problems = int(n_subclasses.sum()) * (len(moments.classes) - 1)
        top, limit = self._numbers(n_problems, moments.n_features)
        if limit is None or limit >= n_problems:
            return all_pairs(len(moments.classes)), top, limit
        budget = max(1, limit // int(n_subclasses.max()))
        return nearest_pairs(moments, self.gamma, budget), top, limit

    def _numerators(
        self, X: Any, codes: np.ndarray, sample_weight: np.ndarray | None, classes: np.ndarray
    ) -> Iterator[tuple[int, int, ClassMoments | ClassRows]]:
        """Yield class and subclass, as numbers, and what is known of the subclasses of the class."""
        rng = check_random_state(self.random_state)
        for i in classes:
            rows = X[codes == i]
            weights = None if sample_weight is None else sample_weight[codes == i]
            subclasses = self._subclasses(rows, weights, rng)
            held: ClassMoments | ClassRows
            if ClassRows.serve(subclasses, X.shape[1]):
                held = ClassRows(rows, subclasses, weights)
            else:
                held = ClassMoments.of(rows, subclasses, sample_weight=weights)
            for s in range(len(held.classes)):
                yield i, s, held

    def _subclasses(self, rows: Any, weights: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
        """Return the cluster of every row of a class."""
        n_clusters = min(self.n_subclasses, rows.shape[0])
        if n_clusters == 1:
            return np.zeros(rows.shape[0], dtype=int)
        return KMeans(n_clusters, n_init=1, random_state=rng).fit_predict(rows, sample_weight=weights)


def _top(
    denominator: SharedDenominator, numerators: ClassMoments | ClassRows, s: int, top: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues of the s-th numerator, and their vectors."""
    if isinstance(numerators, ClassRows):
        with suppress(TooFewRows):
            return denominator.top_of_rows(numerators.root(s) / np.sqrt(numerators.counts[s]), top)
    return denominator.top(numerators.conditional(s), top)
