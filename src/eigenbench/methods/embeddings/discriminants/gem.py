"""GEM: discriminative directions from generalized eigenvectors of pairs of classes."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from eigenbench.methods.embeddings.discriminants.detector_embedding import (
    FEATURES_PER_DETECTOR,
    ClassDetectors,
)
from eigenbench.methods.embeddings.discriminants.pairs import (
    all_pairs,
    hypercube_size,
    nearest_pairs,
    select_pairs,
)
from eigenbench.methods.linalg.eigenproblems import DENSE_LIMIT, LowRankDenominator, SharedDenominator
from eigenbench.methods.moments import AnyMoments
from eigenbench.methods.moments.second_moments import ClassRows, SecondMoments, solved_from_rows
from eigenbench.methods.moments.streamed_moments import HELD_MEGABYTES
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, Interval, StrOptions

logger = logging.getLogger(__name__)

#: Seconds of eigenproblems on one core above which there is a warning, and "auto" takes fewer pairs.
MOST_SECONDS = 60.0


class GEM(ClassDetectors):
    r"""Project on directions along which one class is large and another is small.

    For ordered pairs of classes (i, j) the top solutions of
    :math:`C_i v = \lambda (C_j + \frac{\gamma}{d} \mathrm{tr}(C_j) I) v` are kept, where
    :math:`C_i = E[x x^\top \mid y = i]` is the uncentred second moment of class i [1]_. They are scaled to
    :math:`v^\top (C_j + \ldots) v = 1`, so :math:`E[(v^\top x)^2]` is about 1 for class j and λ for class i.
    With γ = 0 the projections do not change when x is mapped by an invertible matrix.

    Parameters
    ----------
    gamma : float, default=0.5
        Regularisation γ ≥ 0 of the denominator, as a multiple of its mean eigenvalue.
    theta : float, default=0.0
        Only detectors with λ ≥ θ are kept; values above 1 drop directions that do not discriminate.
    top : int or None, default=None
        The largest number of detectors per pair.
    pairs : {"auto", "all", "hypercube", "uniform", "stratified", "nearest"}, default="auto"
        The ordered pairs of classes: all k(k − 1); neighbours when the classes sit at random on the
        corners of a ⌈log2 k⌉-dimensional cube; random ones; random ones with equal counts of each class as
        numerator and as denominator; each class over those whose means are nearest to its own, where the
        second moment of all rows (with γ) is the identity. The four after "auto" are those of [1]_; with
        many classes the last finds detectors where classes are confused, and depends on no seed. "auto"
        takes all pairs, or where that are more than detectors in all, as many nearest ones as detectors. It
        takes fewer nearest ones, with a warning, where all would take more than a minute of one core and
        neither ``top`` nor a number of detectors is given.
    n_pairs : int or None, default=None
        Number of pairs for "uniform", "stratified" and "nearest"; None takes as many as "hypercube" would,
        or for "nearest" would on average.
    denominator : {"second_moment", "covariance"}, default="second_moment"
        With "covariance" the denominator is the covariance of class j, and each detector has an offset
        that removes the projected mean of class j (the variant in a footnote of [1]_).
    absolute_gamma : bool, default=False
        Add γ itself to the denominators, in place of a multiple of each one's mean eigenvalue: the same for
        classes of small and of large rows.
    n_components : int or None, default=None
        The largest number of detectors (directions, not features) in all: the first of every pair, then the
        second of every pair and so on, and of the last round those of largest λ. Without it and ``top``, 12
        per pair are kept, but no more than a quarter of the rows of class i (at least one), and no more than
        20·d or 1,920 in all, with a warning where that binds.
    n_features : int or None, default=None
        In place of ``n_components``: the largest number of features that :class:`~eigenbench.SignedPowers`,
        with its defaults, makes of the detectors, six of each.
    random_state : int, RandomState instance or None, default=None
        Seed of the pair selection; "auto", "all" and "nearest" do not depend on it.

    Attributes
    ----------
    detectors_ : ndarray of shape (d, m), float64
        The directions v as columns, pair by pair, λ descending within a pair; the entry of largest
        absolute value of each is positive.
    eigenvalues_ : ndarray of shape (m,), float64
        The eigenvalue λ of each detector.
    pairs_ : ndarray of shape (m, 2)
        Class labels (numerator, denominator) of each detector.
    offsets_ : ndarray of shape (m,), float64
        Added to the projections; zero unless ``denominator="covariance"``.
    classes_ : ndarray of shape (k,)
        The class labels.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Scale inputs of different units to equal variance, unless γ = 0. Pixels need no scaling.

    ``fit`` reads X once to form :class:`~eigenbench.ClassMoments` (n·d² flops, 4·k·d² bytes). Where that is
    more than 4 GB, second moments are made of as many classes at a time as fit, and made again for each group
    of pairs that needs them (:class:`~eigenbench.StreamedMoments`). Each
    denominator is factored once for all its numerators. Below d = 1,000 a pair costs about 3d³ flops; from
    there on a matrix-free block iteration costs O(d²·top) per step. Where no class has more than d/4 rows,
    and γ > 0, no second moments are formed: a pair then costs 2·n_i·n_j·d + n_i²·d flops and less than
    5·d³/64 beside, and memory is that of a class or two: 8·d bytes a row. ``transform`` costs 2·n·d·m flops.
    "nearest" adds d³/3 + k·d² + 3k²·d flops and 128 MB beside 16·k·d bytes.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, Algorithm 1 and sections 2.3 and 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from eigenbench import GEM, CalibratedLeastSquares, SignedPowers
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(GEM(top=2), SignedPowers(), CalibratedLeastSquares())
    >>> bool(model.fit(X[:1000] / 16, y[:1000]).score(X[1000:] / 16, y[1000:]) > 0.93)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassDetectors._parameter_constraints,
        "pairs": [StrOptions({"auto", "all", "hypercube", "uniform", "stratified", "nearest"})],
        "n_pairs": [POSITIVE_INTEGER, None],
        "denominator": [StrOptions({"second_moment", "covariance"})],
        "absolute_gamma": ["boolean"],
        "n_features": [Interval(Integral, FEATURES_PER_DETECTOR, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma: float = 0.5,
        theta: float = 0.0,
        top: int | None = None,
        *,
        pairs: str = "auto",
        n_pairs: int | None = None,
        denominator: str = "second_moment",
        absolute_gamma: bool = False,
        n_components: int | None = None,
        n_features: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.theta = theta
        self.top = top
        self.pairs = pairs
        self.n_pairs = n_pairs
        self.denominator = denominator
        self.absolute_gamma = absolute_gamma
        self.n_components = n_components
        self.n_features = n_features
        self.random_state = random_state

    @classmethod
    def _draws_at_random(cls, params: dict[str, Any]) -> bool:
        return params["pairs"] not in ("auto", "all", "nearest")

    def _given_limit(self) -> int | None:
        if self.n_features is None:
            return self.n_components
        if self.n_components is not None:
            raise ValueError(
                f"n_components={self.n_components} and n_features={self.n_features} both bound the number of"
                " detectors: set one of them to None."
            )
        return self.n_features // FEATURES_PER_DETECTOR

    def _fit_rows(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        if not (self.gamma > 0 and solved_from_rows(self._solve, X, y, sample_weight, classes_each=2)):
            super()._fit_rows(X, y, sample_weight)

    def _find(self, moments: AnyMoments) -> None:
        pairs, top, limit = self._select_pairs(moments)
        rows = moments.counts[pairs[:, 0]]
        kept = self._keep(self._solve_pairs(moments, pairs, top), top, limit, rows)
        owner = np.repeat(pairs, top, axis=0)
        self.pairs_ = moments.classes[owner[kept]]
        self.offsets_ = np.zeros(self.eigenvalues_.size)
        if self.denominator == "covariance":
            means = moments.sums / moments.counts[:, None]
            self.offsets_ -= np.einsum("md,dm->m", means[owner[kept, 1]], self.detectors_)

    def _select_pairs(self, moments: AnyMoments) -> tuple[np.ndarray, int, int | None]:
        """Return the pairs, and the largest numbers of detectors of each and in all."""
        n_classes = len(moments.classes)
        every = n_classes * (n_classes - 1)
        affordable = every if isinstance(moments, ClassRows) else _affordable_pairs(moments.n_features)
        limit = self._default_limit(moments.n_features)
        if self.pairs == "auto" and limit is not None and min(every, limit) > max(affordable, n_classes):
            count = max(affordable, n_classes)
            self._warn_of_work(moments, every, f"takes the {count:,} of nearest classes")
            top = max(1, min(self._usual_top, moments.n_features, limit // count))
            return nearest_pairs(moments, self._relative_gamma(moments), count), top, None
        pairs, top, limit = self._pairs_asked_for(moments, every)
        if len(pairs) > affordable:
            self._warn_of_work(moments, len(pairs), "solves them all")
        return pairs, top, limit

    def _warn_of_work(self, moments: AnyMoments, n_pairs: int, decision: str) -> None:
        d = moments.n_features
        megabytes = min(HELD_MEGABYTES, 4 * len(moments.classes) * d**2 / 2**20) + 40 * d**2 / 2**20
        warnings.warn(
            f"GEM: the eigenproblems of {n_pairs:,} pairs of classes with {d:,} inputs take about"
            f" {n_pairs * _pair_seconds(d):,.0f} s of one core and {megabytes:,.0f} MB; pairs={self.pairs!r}"
            f" {decision}. Set n_pairs with pairs='nearest' for another number, pairs='all' for all, or"
            " reduce the inputs first.",
            stacklevel=2,
        )

    def _pairs_asked_for(self, moments: AnyMoments, every: int) -> tuple[np.ndarray, int, int | None]:
        n_classes = len(moments.classes)
        if self.pairs == "auto":
            top, limit = self._numbers(every, moments.n_features)
            if limit is None or limit >= every:
                return all_pairs(n_classes), top, limit
            return nearest_pairs(moments, self._relative_gamma(moments), limit), top, limit
        if self.pairs == "nearest":
            budget = min(self.n_pairs or hypercube_size(n_classes), every)
            pairs = nearest_pairs(moments, self._relative_gamma(moments), budget)
        else:
            rng = check_random_state(self.random_state)
            pairs = select_pairs(self.pairs, n_classes, self.n_pairs, rng)
        return pairs, *self._numbers(len(pairs), moments.n_features)

    def _relative_gamma(self, moments: AnyMoments) -> float:
        """Return γ as a multiple of the mean eigenvalue of the second moment of all rows."""
        if not self.absolute_gamma:
            return self.gamma
        return self.gamma * moments.n_features * moments.counts.sum() / np.trace(moments.total())

    def _solve_pairs(
        self, moments: AnyMoments, pairs: np.ndarray, top: int
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the ``top`` eigenvalues and vectors of every pair, in the order of ``pairs``."""
        found: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        for problems, held in moments.parts(pairs):
            for j in np.unique(pairs[problems, 1]):
                solve = self._solver(held, j)
                for index in problems[pairs[problems, 1] == j].tolist():
                    i = pairs[index, 0]
                    values, vectors = solve(i, top)
                    found[index] = np.maximum(values, 0) / moments.counts[i], vectors
                logger.info("GEM: pair %d/%d", len(found), len(pairs))
        return [found[index] for index in range(len(pairs))]

    def _solver(self, held: SecondMoments, j: int) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
        """Return what solves the problems of denominator j, for a numerator and a number of vectors."""
        options: dict[str, Any] = {"kind": self.denominator, "absolute": self.absolute_gamma}
        if isinstance(held, ClassRows):
            by_rows = rows_denominator(held, j, self.gamma, **options)
            return lambda i, top: by_rows.top(held.root(i), top)
        shared = class_denominator(held, j, self.gamma, **options)
        return lambda i, top: shared.top(held.second_moment(i), top)

    def _linear_map(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.detectors_, self.offsets_ if self.denominator == "covariance" else None


def _pair_seconds(n_inputs: int) -> float:
    """Return about how long one core takes for a pair of classes (measured: AMD EPYC, top 12)."""
    return (1.3e-10 if n_inputs < DENSE_LIMIT else 3e-10) * n_inputs**3


def _affordable_pairs(n_inputs: int) -> int:
    return int(MOST_SECONDS / _pair_seconds(n_inputs))


def class_denominator(
    moments: SecondMoments, j: int, gamma: float, kind: str = "second_moment", *, absolute: bool = False
) -> SharedDenominator:
    """Return the factored second moment, or covariance, of the j-th class with γ times its mean eigenvalue.

    Raises `ValueError` if the matrix is zero, or singular with γ, which ``absolute`` adds as it is.
    """
    matrix = moments.conditional(j) if kind == "second_moment" else moments.covariance(j)
    trace = float(np.trace(matrix))
    matrix.flat[:: len(matrix) + 1] += _ridge(moments, j, trace, gamma, kind, absolute=absolute)
    try:
        return SharedDenominator(matrix)
    except linalg.LinAlgError as error:
        raise ValueError(
            f"the {kind} of class {moments.classes[j].item()!r} ({moments.counts[j]} examples, {len(matrix)}"
            f" features) is singular with gamma={gamma}: increase gamma."
        ) from error


def rows_denominator(
    rows: ClassRows, j: int, gamma: float, kind: str = "second_moment", *, absolute: bool = False
) -> LowRankDenominator:
    """Return what `class_denominator` does, for numerators that are rows; `TooFewRows` if γ is too small."""
    root = rows.root(j, centred=kind == "covariance") / np.sqrt(rows.counts[j])
    return LowRankDenominator(
        root, _ridge(rows, j, float(np.vdot(root, root)), gamma, kind, absolute=absolute)
    )


def _ridge(moments: SecondMoments, j: int, trace: float, gamma: float, kind: str, *, absolute: bool) -> float:
    """Return what is added to the diagonal of a matrix with this trace."""
    if trace <= 0:
        raise ValueError(
            f"the {kind} of class {moments.classes[j].item()!r} ({moments.counts[j]} examples) is zero: no"
            " direction can be compared with it."
        )
    return gamma if absolute else gamma * trace / moments.sums.shape[1]
