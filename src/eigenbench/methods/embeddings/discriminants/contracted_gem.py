"""GEM for continuous and vector targets: second moments weighted by contractions of the target."""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_array

from eigenbench.methods.embeddings.discriminants.detector_embedding import DetectorEmbedding
from eigenbench.methods.embeddings.discriminants.gem import GEM
from eigenbench.methods.embeddings.discriminants.sir import slice_codes
from eigenbench.methods.linalg.eigenproblems import make_peaks_positive
from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.row_blocks import FeatureBlocks, checked_weights, rows_that_count
from eigenbench.methods.moments import ClassMoments
from eigenbench.methods.parameter_constraints import POSITIVE_INTEGER, Interval, StrOptions

#: What is smaller than this, relative to the target, is taken for zero.
_ROUNDING = 1e-12

#: Bytes that the second moments of all contractions may take by default.
_LARGEST = 2**30


class ContractedGEM(DetectorEmbedding):
    r"""Project on directions that are large where a contraction of the target is large, and small elsewhere.

    A vector u contracts a target :math:`y \in R^q` to the number :math:`t = u^\top (y - \bar y)` and so the
    tensor :math:`E[x \otimes x \otimes y]` to a matrix. Its positive and its negative part are second
    moments weighted by u,

    .. math:: C_+ = \frac{E[\max(0, t)\, x x^\top]}{E[\max(0, t)]}, \qquad
              C_- = \frac{E[\max(0, -t)\, x x^\top]}{E[\max(0, -t)]},

    and take the places of two classes in GEM: :math:`C_+` over :math:`C_-`, and the reverse. With
    ``n_slices``, t is cut into slices of equal counts instead, which are the classes [1]_. One number y is
    contracted with u = 1. Zeros and ones of many labels are a vector too.

    Parameters
    ----------
    gamma : float, default=0.5
        Regularisation γ ≥ 0 of the denominator, as a multiple of its mean eigenvalue.
    theta : float, default=0.0
        Only detectors with λ ≥ θ are kept.
    top : int or None, default=None
        The largest number of detectors of each numerator and denominator.
    n_slices : int or None, default=None
        Slices of a contraction, all ordered pairs of which are solved; None weights rows by t.
    contractions : {"principal"} or array-like of shape (r, q), default="principal"
        The vectors u as rows; "principal" takes the principal axes of the targets, so scale targets of
        different units beforehand.
    n_contractions : int or None, default=None
        Number of principal axes, those of largest variance; None takes all along which the target varies, but
        no more than there are detectors for, or whose second moments fit into 1 GB, with a warning.
    n_components : int or None, default=None
        The largest number of detectors in all: the first of every numerator and denominator, then the second
        and so on, and of the last round those of largest λ. Without it and ``top``, 12 of each are kept, but
        no more than 20·d or 1,920 in all, with a warning where that binds.

    Attributes
    ----------
    detectors_ : ndarray of shape (d, m), float64
        The directions v as columns, λ descending within a numerator and denominator; the entry of largest
        absolute value of each is positive. They are scaled to a mean square of 1 in the denominator
        (with γ), and λ in the numerator.
    eigenvalues_ : ndarray of shape (m,), float64
        The eigenvalue λ of each detector.
    pairs_ : ndarray of shape (m, 3)
        Contraction, numerator and denominator of each detector. Numerator and denominator are slices, 0 the
        lowest, or without slices 0 for the negative and 1 for the positive part.
    contractions_ : ndarray of shape (r, q), float64
        The vectors u.
    target_mean_ : ndarray of shape (q,), float64
        The mean :math:`\bar y`.
    n_features_in_ : int
        Number of inputs d.

    Notes
    -----
    Inputs of different units should be scaled to equal variance, unless γ = 0.

    One pass over X, in blocks, on the workers of joblib's backend: 2·r·n·d² flops and 8·r·s·d² bytes for r
    contractions with s slices (2 without), then what :class:`~eigenbench.GEM` takes for each contraction.
    ``transform`` costs 2·n·d·m flops.

    References
    ----------
    .. [1] N. Karampatziakis and P. Mineiro, "Discriminative Features via Generalized Eigenvectors",
       ICML 2014, section 5.

    Examples
    --------
    The target depends on the size of one projection, of which a linear model sees nothing.

    >>> import numpy as np
    >>> from eigenbench.methods.embeddings.discriminants.contracted_gem import ContractedGEM
    >>> X = np.random.default_rng(0).normal(size=(5000, 3))
    >>> detector = ContractedGEM(top=1).fit(X, (X @ [3, 0, 4]) ** 2).detectors_[:, 1]
    >>> (detector / np.linalg.norm(detector)).round(1).tolist()
    [0.6, 0.0, 0.8]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DetectorEmbedding._parameter_constraints,
        "n_slices": [Interval(Integral, 2, None, closed="left"), None],
        "contractions": [StrOptions({"principal"}), "array-like"],
        "n_contractions": [POSITIVE_INTEGER, None],
    }

    def __init__(
        self,
        gamma: float = 0.5,
        theta: float = 0.0,
        top: int | None = None,
        *,
        n_slices: int | None = None,
        contractions: Any = "principal",
        n_contractions: int | None = None,
        n_components: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.theta = theta
        self.top = top
        self.n_slices = n_slices
        self.contractions = contractions
        self.n_contractions = n_contractions
        self.n_components = n_components

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ContractedGEM:
        """Find the detectors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, d)
            Training rows; made dense, and float32 or float64, one block at a time.
        y : array-like of shape (n_samples,) or (n_samples, q)
            Numbers, or vectors of numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights ≥ 0: a row of weight 2 counts as two rows, one of weight 0 as none.

        Returns
        -------
        self : ContractedGEM

        Raises
        ------
        ValueError
            If the target does not vary along a contraction or has one value for all slices, if contractions
            have another width than the target, if a denominator is singular, or if no detector reaches
            ``theta``.
        """
        self._validate_params()
        X, y = self._training_rows(X, y, multi_output=True, y_numeric=True, ensure_min_samples=2)
        X, y, rows = rows_that_count(X, y, checked_weights(sample_weight, X))
        rows = np.ones(X.shape[0]) if rows is None else rows
        contracted = self._contract(y, rows)
        groups, weights = self._groups(contracted, rows)
        start = partial(_WeightedMoments, len(self.contractions_))
        found = accumulate(FeatureBlocks(X, None), start, groups, weights, label="moments")
        self._solve(found.moments)
        return self

    def _contract(self, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Set the contraction vectors and return the targets contracted with them, (n, r)."""
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self.target_mean_ = rows @ Y / rows.sum()
        Y = Y - self.target_mean_
        self.contractions_ = self._contraction_vectors(Y, rows)
        contracted = Y @ self.contractions_.T
        scale = np.abs(self.contractions_) @ (np.abs(self.target_mean_) + np.abs(Y).max(axis=0))
        flat = np.flatnonzero(np.abs(contracted).max(axis=0) <= _ROUNDING * scale)
        if flat.size:
            raise ValueError(f"the target does not vary along contraction {flat[0]}: leave it out.")
        return contracted

    def _contraction_vectors(self, Y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the vectors u for centred targets, as rows."""
        q = Y.shape[1]
        if isinstance(self.contractions, str):
            variances, axes = linalg.eigh((Y.T * rows) @ Y)
            varying = max(1, int(np.count_nonzero(variances > _ROUNDING * variances[-1])))
            count = min(self.n_contractions or self._affordable(varying), varying)
            return make_peaks_positive(axes[:, ::-1][:, :count]).T
        vectors = check_array(self.contractions, dtype=np.float64, input_name="contractions")
        if vectors.shape[1] != q:
            raise ValueError(
                f"contractions have {vectors.shape[1]} columns and the target has {q}: give one for each."
            )
        return vectors

    def _affordable(self, varying: int) -> int:
        """Return the default number of principal axes, of so many along which the target varies."""
        n_groups, d = self.n_slices or 2, self.n_features_in_
        limit = self._default_limit(d) or self._given_limit() or np.inf
        in_number, in_memory = limit // (n_groups * (n_groups - 1)), _LARGEST // (8 * n_groups * d * d)
        count = int(max(1, min(varying, in_number, in_memory)))
        if count < varying:
            warnings.warn(
                f"ContractedGEM takes the first {count:,} of {varying:,} principal axes of the target: set"
                " n_contractions to another number.",
                stacklevel=2,
            )
        return count

    def _groups(self, contracted: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the group and the weight of every row for each contraction, two arrays of shape (n, r)."""
        if self.n_slices is not None:
            slices = [slice_codes(column, self.n_slices, rows) for column in contracted.T]
            return np.column_stack(slices), np.broadcast_to(rows[:, None], contracted.shape)
        return (contracted > 0).astype(np.int64), np.abs(contracted) * rows[:, None]

    def _solve(self, moments: list[ClassMoments]) -> None:
        n_problems = sum(len(one.classes) * (len(one.classes) - 1) for one in moments)
        top, limit = self._numbers(n_problems, self.n_features_in_)
        parts = [GEM(self.gamma, top=top).fit_moments(contracted) for contracted in moments]
        kept = self._keep([(part.eigenvalues_, part.detectors_) for part in parts], top, limit)
        self.detectors_ = np.asfortranarray(self.detectors_)  # products round as in recorded runs
        owner = np.repeat(np.arange(len(parts)), [len(part.eigenvalues_) for part in parts])
        self.pairs_ = np.column_stack([owner, np.concatenate([part.pairs_ for part in parts])])[kept]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class _WeightedMoments:
    """Σ w x xᵀ over the groups of each contraction: an `Accumulator`."""

    def __init__(self, n_contractions: int) -> None:
        self.moments = [ClassMoments() for _ in range(n_contractions)]

    def add(self, block: np.ndarray, groups: np.ndarray, weights: np.ndarray) -> None:
        for index, moments in enumerate(self.moments):
            moments.update(block, groups[:, index], weights[:, index])

    def merge(self, other: _WeightedMoments) -> None:
        for mine, theirs in zip(self.moments, other.moments, strict=True):
            mine.merge(theirs)
