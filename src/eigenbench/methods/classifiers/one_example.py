"""Nearest neighbour with one training example per class, averaged exactly over every choice of examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from eigenbench.methods.classifiers.score_classifier import ScoreClassifier
from eigenbench.methods.linalg.row_blocks import FLOAT_TYPES, row_slices, validated
from eigenbench.methods.parameter_constraints import StrOptions

_METRICS = set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed", "nan_euclidean"}


class OneExampleNearestNeighbour(ScoreClassifier):
    r"""Nearest neighbour that knows one example per class, in expectation over the choice of examples.

    One example of each class is drawn uniformly from the fitted rows, and a query gets the class of the
    nearest one. Nothing is sampled: the probability of class a for query x, over all :math:`\prod n_b`
    choices, is the mean over the examples e of class a of :math:`\prod_{b \ne a} P_b(d(x, e') > d(x, e))`,
    where e' is uniform in class b. Equally near examples share the decision: each wins with probability
    one over their number. Queries must not be among the fitted rows.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric of :func:`sklearn.metrics.pairwise_distances`.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        Class labels.
    n_features_in_ : int
        Number of inputs.

    Notes
    -----
    For q queries and n rows: the distances, O(q n log n) for sorting and O(q n k) for counting, in row blocks
    of bounded memory. Where computed distances are equal, Gauss–Legendre quadrature with ⌈k/2⌉ nodes shares
    the decision exactly, by :math:`\int_0^1 \prod_b (g_b + t_b z)\,dz` with g and t the shares of class b
    that are farther and equally near, and multiplies the cost of the block by that number.

    References
    ----------
    .. [1] A. Maurer, "Generalization Bounds for Subspace Selection and Hyperbolic PCA", 2005, section 7.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour
    >>> X, y = load_digits(n_class=5, return_X_y=True)
    >>> round(OneExampleNearestNeighbour().fit(X, y).leave_rest_out_error(), 4)
    0.234
    """

    _row_checks: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": FLOAT_TYPES}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"metric": [StrOptions(_METRICS), callable]}

    def __init__(self, metric: Any = "euclidean") -> None:
        self.metric = metric

    def fit(self, X: Any, y: Any) -> OneExampleNearestNeighbour:
        """Keep the rows from which examples are drawn.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, at least two different ones.

        Returns
        -------
        self : OneExampleNearestNeighbour

        Raises
        ------
        ValueError
            If there is one class only.
        """
        self._validate_params()
        X, y = validated(self, X, y, **self._row_checks)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"a nearest neighbour needs two classes or more, got {len(self.classes_)} class."
            )
        order = np.argsort(codes, kind="stable")
        self._X, self._counts = X[order], np.bincount(codes)
        self._codes = codes[order]
        return self

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the probability of every class over all choices of the examples; X are no fitted rows."""
        starts = np.cumsum(self._counts) - self._counts
        for rows in self._blocks(X.shape[0]):
            yield rows, np.add.reduceat(self._win_probabilities(X[rows]), starts, axis=1) / self._counts

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def leave_rest_out_error(self) -> float:
        """Return the expected error on the fitted rows that are not chosen, over all choices.

        One row per class is the training set and all others are the test set; the error rate is averaged over
        every choice (leave-(n−1)-out within each class; Maurer 2005, section 7).

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If every class has one row only, so that nothing is left to test.
        """
        check_is_fitted(self)
        n, k = len(self._codes), len(self.classes_)
        if n == k:
            raise ValueError("every class has one row: no row is left for testing.")
        errors = 0.0
        for rows in self._blocks(n):
            queries = np.arange(n)[rows]
            wins = self._win_probabilities(self._X[rows])
            other_class = self._codes[queries, None] != self._codes
            can_fail = ((wins > 0) & other_class).any(axis=1)
            wins[other_class] = 0
            wins[np.arange(len(queries)), queries] = 0
            others = self._counts[self._codes[queries]] - 1
            right = wins.sum(axis=1) / np.maximum(others, 1)
            # A row is outside the choice, and so tested, with probability 1 - 1/count.
            # Where no other class can win, 1 - right is rounding.
            errors += np.where(can_fail, (1 - right) * others / (others + 1), 0).sum()
        return float(errors / (n - k))

    def _blocks(self, n_queries: int) -> list[slice]:
        n_nodes = (len(self.classes_) + 1) // 2
        return row_slices(n_queries, 8 * (n_nodes + 8) * len(self._codes))

    def _win_probabilities(self, X: Any) -> np.ndarray:
        """Return, for each query and fitted row, the probability that the row wins if it is chosen."""
        distances = pairwise_distances(X, self._X, metric=self.metric)
        order = np.argsort(distances, axis=1, kind="stable")
        distances = np.take_along_axis(distances, order, axis=1)
        first = np.ones(distances.shape, dtype=bool)
        first[:, 1:] = distances[:, 1:] != distances[:, :-1]
        tied = ~first.all(axis=1)
        labels = self._codes[order]
        ordered = np.empty(distances.shape)
        ordered[~tied] = self._product(labels[~tied], None)
        if tied.any():
            ordered[tied] = self._product(labels[tied], first[tied])
        wins = np.empty_like(ordered)
        np.put_along_axis(wins, order, ordered, axis=1)
        return wins

    def _product(self, labels: np.ndarray, first: np.ndarray | None) -> np.ndarray:
        """Return the probability that no chosen example of another class beats the one at each position.

        ``labels`` are the class codes of the fitted rows from near to far, and ``first`` marks the start of
        each run of equal distances, None where no two are equal.
        """
        if first is None:
            nodes, weights = np.zeros(1), np.ones(1)
        else:
            nodes, weights = np.polynomial.legendre.leggauss((len(self.classes_) + 1) // 2)
            nodes, weights = (nodes + 1) / 2, weights / 2
            before, last = _run_ends(first)
        product = np.ones((len(nodes), *labels.shape))
        for b, count in enumerate(self._counts):
            member = labels == b
            nearer = np.cumsum(member, axis=1, dtype=np.int32)
            if first is None:
                factors = (1 - nearer / count)[None]
            else:
                nearer = np.pad(nearer, ((0, 0), (1, 0)))
                upto = np.take_along_axis(nearer, last, axis=1)
                equal = upto - np.take_along_axis(nearer, before, axis=1)
                factors = (count - upto + nodes[:, None, None] * equal) / count
            product *= np.where(member, 1.0, factors)
        return np.tensordot(weights, product, axes=1)


def _run_ends(first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each position, how many positions precede its run, and how many precede the next run."""
    position = np.broadcast_to(np.arange(first.shape[1]), first.shape)
    before = np.maximum.accumulate(np.where(first, position, 0), axis=1)
    final = np.ones_like(first)
    final[:, :-1] = first[:, 1:]
    last = np.where(final, position + 1, first.shape[1])
    return before, np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
