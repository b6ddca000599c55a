"""Metric learners of the package metric-learn, to compare with.

metric-learn 0.7 checks its inputs with keywords that scikit-learn 1.8 no longer has; the classes here check
them as scikit-learn does today. What is learned is the package's own. Two inner loops are not, as they took
most of a comparison's time: the gradient of NCA is computed in blocks of rows, and MMC's projection onto its
two constraints is solved for its multiplier in place of up to 10,000 alternating projections.
"""

from __future__ import annotations

from typing import Any

import metric_learn
import numpy as np
from metric_learn._util import components_from_metric
from scipy.optimize import brentq
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data


class _CheckedInputs:
    """Replaces metric-learn's checks; it has no preprocessor that turns indices into rows."""

    def _prepare_inputs(self, X: Any, y: Any = None, type_of_inputs: str = "classic", **checks: Any) -> Any:
        self.preprocessor_ = None
        if type_of_inputs == "tuples":
            # Only metric-learn itself makes these, of rows that were checked.
            return X, y
        return validate_data(self, X, y, dtype=np.float64, **checks)

    def transform(self, X: Any) -> np.ndarray:
        """Map rows so that Euclidean distances are the learned ones, shape (n, d), float64."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return X @ self.components_.T  # type: ignore[attr-defined]


class LFDA(_CheckedInputs, metric_learn.LFDA):
    """Local Fisher discriminant analysis (Sugiyama 2007), see ``metric_learn.LFDA``."""

    def fit(self, X: Any, y: Any) -> LFDA:
        """Find the directions; raise ``ValueError`` where the scatter within classes is singular."""
        super().fit(X, y)
        if not np.isfinite(self.components_).all():
            raise ValueError(
                "LFDA finds no finite directions: the scatter within classes is singular, as with more "
                "inputs than rows, a class of a single row, or rows that coincide with their neighbours."
            )
        return self


class NCA(_CheckedInputs, metric_learn.NCA):
    """Neighbourhood components analysis (Goldberger et al. 2005), see ``metric_learn.NCA``.

    A step of its optimizer costs 6·n²·d flops for n rows and d components, and holds n² bytes.
    """

    def _loss_grad_lbfgs(
        self, A: np.ndarray, X: np.ndarray, mask: np.ndarray, sign: float = 1.0
    ) -> tuple[float, np.ndarray]:
        """Return the expected number of right neighbours and its gradient by the map.

        Distances are float64; the probabilities, which lie between 0 and 1, are float32.
        """
        Z = X @ A.reshape(-1, X.shape[1]).T
        squares, Z32 = np.einsum("ij,ij->i", Z, Z), Z.astype(np.float32)
        expected, moves, received = 0.0, np.zeros_like(Z), np.zeros(len(Z))
        for rows in gen_batches(len(Z), 128):
            # The square of the row itself is the same for all its neighbours.
            distances = Z[rows] @ (-2 * Z.T)
            distances += squares
            distances[np.arange(len(distances)), np.arange(rows.start, rows.stop)] = np.inf
            distances -= distances.min(axis=1, keepdims=True)
            chosen = np.exp(-distances.astype(np.float32))
            chosen /= chosen.sum(axis=1, keepdims=True)
            same = mask[rows].astype(np.float32)
            right = np.einsum("ij,ij->i", chosen, same)[:, np.newaxis]
            expected += float(right.sum(dtype=np.float64))
            chosen *= same - right
            moves[rows] += chosen @ Z32
            moves += chosen.T @ Z32[rows]
            received += chosen.sum(axis=0)
        moves -= received[:, np.newaxis] * Z
        return sign * expected, (2 * sign) * (moves.T @ X).ravel()


class MMC_Supervised(_CheckedInputs, metric_learn.MMC_Supervised):
    """Mahalanobis metric for clustering (Xing et al. 2002), see ``metric_learn.MMC_Supervised``.

    Unless ``diagonal`` is set, it maximises the distances of dissimilar pairs while the squared distances of
    similar pairs stay below a bound. A step costs about ten eigendecompositions of a (d, d) matrix; the
    package's ``max_proj`` has no meaning here.
    """

    A_: np.ndarray

    def _fit_full(self, pairs: np.ndarray, y: np.ndarray) -> MMC_Supervised:
        differences = pairs[:, 0] - pairs[:, 1]
        similar, dissimilar = differences[y == 1], differences[y == -1]
        scatter = similar.T @ similar
        bound = np.vdot(scatter, self.A_) / 100
        found, step, best = self.A_, 0.1, -np.inf
        for cycle in range(1, self.max_iter + 1):
            self.n_iter_ = cycle
            projected = _nearest_metric(found, scatter, bound)
            distances = _distances(dissimilar, projected)
            if distances.sum() > best:
                step, best, self.A_ = 1.05 * step, distances.sum(), projected
                direction = _uphill(dissimilar, distances, scatter)
            else:
                step /= 2
            found = self.A_ + step * direction
            self.converged_ = bool(step < self.tol * np.linalg.norm(self.A_))
            if self.converged_:
                break
        self.components_ = components_from_metric(self.A_)
        return self


def _nearest_metric(A: np.ndarray, scatter: np.ndarray, bound: float) -> np.ndarray:
    """Return the semidefinite matrix nearest to a symmetric one whose product with the scatter is bounded."""

    def moved(multiplier: float) -> np.ndarray:
        values, vectors = np.linalg.eigh(A - multiplier * scatter)
        kept = values > 0
        return (vectors[:, kept] * values[kept]) @ vectors[:, kept].T

    def excess(multiplier: float) -> float:
        return float(np.vdot(scatter, moved(multiplier)) / bound - 1)

    if excess(0.0) <= 0:
        return moved(0.0)
    above = max(bound, 2 * (np.vdot(scatter, A) - bound)) / np.vdot(scatter, scatter)
    while excess(above) > 0:
        above *= 2
    return moved(brentq(excess, 0.0, above, rtol=1e-6, xtol=1e-6 * above))


def _distances(differences: np.ndarray, A: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", differences @ A, differences), 0))


def _uphill(dissimilar: np.ndarray, distances: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Return the unit gradient of the distances, without its part along the gradient of the constraint."""
    gradient = dissimilar.T @ (dissimilar / (distances + 1e-6)[:, np.newaxis])
    gradient -= np.vdot(gradient, scatter) / np.vdot(scatter, scatter) * scatter
    return gradient / np.linalg.norm(gradient)
