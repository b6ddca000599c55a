"""Rounds of least squares on five folds of few rows at once: scores out of fold, and the best ridge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from eigenbench.methods.classifiers.least_squares_rounds import (
    LINK_RIDGE,
    link_powers,
    project_rows_to_simplex,
)
from eigenbench.methods.classifiers.streamed import climb

#: Penalties to choose from, and the number of folds.
RIDGES, N_FOLDS = tuple(10.0**k for k in range(-1, 6)), 5

#: Rows on folds at most, and a bound on rows times the square of features (or of rows, if they are fewer).
MOST_ROWS, CALIBRATION_PRODUCTS, CHOICE_PRODUCTS = 4000, 1e9, 3.4e9

#: Penalty relative to the mean diagonal of a Gram matrix that keeps it definite in spite of rounding.
ROUNDING = 1e-10


def affordable_rows(n_features: int, products: float) -> int:
    """Return how many rows of so many features have no more than ``products`` products."""
    return int(min(MOST_ROWS, max(round(products ** (1 / 3)), products / n_features**2)))


class OutOfFoldRounds:
    """The rounds on each of five parts of the rows without a fifth; all parts take each step together.

    Of features (n, D), five Gram matrices of min(n, D) features are kept, 40·min(n, D)² bytes. Rounds are run
    on the first ``n_parts`` parts; other rows have no scores.
    """

    def __init__(
        self,
        features: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        *,
        n_rounds: int,
        fit_intercept: bool,
        n_parts: int = N_FOLDS,
    ) -> None:
        w = np.ones(len(codes)) if weights is None else weights
        rows = features.astype(np.float64)
        if fit_intercept:
            rows -= w @ rows / w.sum()
        self._folds, self._n_features = folds_of(features, codes), rows.shape[1]
        if self._n_features > len(codes):
            rows = _same_products(rows)
        self._rows, self._weights, self._n_rounds = rows, w, n_rounds
        inside = self._folds != np.arange(self._folds.max() + 1)[:, None]
        self._inside = np.where(inside, w, 0.0)
        self._counts = self._inside.sum(axis=1, keepdims=True)
        self._means = self._inside @ rows / self._counts * fit_intercept
        parts = np.stack([(rows[~part].T * w[~part]) @ rows[~part] for part in inside])
        self._grams = (parts.sum(axis=0) - parts)[:n_parts]
        self._inside, self._means, self._counts = (
            of_parts[:n_parts] for of_parts in (self._inside, self._means, self._counts)
        )
        self._grams -= self._counts[:, :, None] * self._means[:, :, None] * self._means[:, None, :]
        self._intercept, self._indicators = float(fit_intercept), np.eye(n_classes)[:, codes]

    def best(self, ridges: Sequence[float]) -> tuple[float, np.ndarray]:
        """Return the ridge of least squared error out of fold, and the scores (n, c) there.

        The search climbs from the middle of ascending ridges. Leave-one-out errors of the first round alone
        choose a penalty too weak by a factor of ten to a hundred, as later rounds go on fitting.
        """
        found: dict[int, np.ndarray] = {}

        def error(position: int) -> float:
            found[position] = self._scores(ridges[position])
            seen = np.flatnonzero(self._folds < len(self._grams))
            distance = project_rows_to_simplex(found[position][seen]) - self._indicators.T[seen]
            return float(np.average(np.einsum("ij,ij->i", distance, distance), weights=self._weights[seen]))

        best = climb(error, len(ridges), len(ridges) // 2)
        return ridges[best], found[best]

    def _scores(self, ridge: float) -> np.ndarray:
        """Return the scores (n, c) that the rounds on the other folds give each row."""
        roots, inside = self._inverse_roots(ridge), self._inside[:, None, :]
        scores = np.zeros((len(roots), *self._indicators.shape))
        for round_ in range(self._n_rounds):
            if round_:
                flat = scores.transpose(0, 2, 1).reshape(-1, scores.shape[1])
                projected = project_rows_to_simplex(flat).reshape(len(roots), -1, scores.shape[1])
                scores = np.ascontiguousarray(projected.transpose(0, 2, 1))
            residual = (self._indicators - scores) * inside
            total = residual.sum(axis=2)
            cross = residual @ self._rows - total[:, :, None] * self._means[:, None, :]
            coef = cross @ roots.transpose(0, 2, 1) @ roots
            shift = self._intercept * total / self._counts - (coef @ self._means[:, :, None])[:, :, 0]
            scores += coef @ self._rows.T + shift[:, :, None]
            powers = link_powers(scores, axis=1)
            weighed = powers * inside
            gram = weighed @ powers.transpose(0, 2, 1)
            diagonal = np.einsum("kii->ki", gram)
            diagonal += LINK_RIDGE * diagonal.mean(axis=1, keepdims=True)
            link = np.linalg.solve(gram, weighed @ self._indicators.T)
            scores = link.transpose(0, 2, 1) @ powers
        return scores[np.minimum(self._folds, len(scores) - 1), :, np.arange(len(self._rows))]

    def _inverse_roots(self, ridge: float) -> np.ndarray:
        """Return the inverse Cholesky factors of the penalised Gram matrices of all parts."""
        grams = self._grams.copy()
        diagonals = np.einsum("kii->ki", grams)
        totals = diagonals.sum(axis=1, keepdims=True)
        penalties = ridge * totals / (self._n_features * self._counts) + ROUNDING * totals / grams.shape[1]
        diagonals += np.maximum(penalties, np.finfo(np.float64).tiny)
        factors = np.linalg.cholesky(grams)
        return np.stack([lapack.dtrtri(factor, lower=1)[0] for factor in factors])


def folds_of(features: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the fold of each row (n,): equal rows share one, so that their number does not matter.

    Different rows, in the order of their classes and of a random projection, come into all folds in turn.
    """
    keys = (features * np.random.RandomState(0).randn(features.shape[1])).sum(axis=1)
    order = np.lexsort((keys, codes))
    new = (np.diff(keys[order]) != 0) | (np.diff(codes[order]) != 0)
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.append(0, np.cumsum(new)) % N_FOLDS
    return folds


def _same_products(rows: np.ndarray) -> np.ndarray:
    """Return features (n, n) of the same products between rows, for which ridge regression is the same."""
    products = rows @ rows.T
    diagonal = np.einsum("ii->i", products)
    diagonal += ROUNDING * diagonal.mean() + np.finfo(float).tiny
    return linalg.cholesky(products, lower=True)
