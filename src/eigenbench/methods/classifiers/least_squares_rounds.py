"""Rounds of ridge regression on class indicators, in passes over the rows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from eigenbench.methods.linalg.map_reduce import accumulate
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import FeatureBlocks, row_slices

logger = logging.getLogger(__name__)

#: Penalty of the link regression relative to the mean diagonal of its Gram matrix. The powers of scores are
#: nearly dependent, and without it the link fits noise: 117 held-out errors instead of 102 on MNIST with
#: GEM features, 91 instead of 80 on the digits (five folds).
LINK_RIDGE = 1e-3

#: The scores whose powers enter a link, at most, positive or negative: s⁴ in float32 ends at 4·10⁹.
LARGEST_SCORE = 1e8

#: Bytes of the powers of scores that are made at a time: they stay in a cache.
POWER_BYTES = 2**22

#: Rows whose weighted sums by class are made in single precision.
_SUMMED_ROWS = 256

#: Runs over the rows: calls ``add`` of what a function makes and returns it.
SumRows = Callable[[Callable[[], Any]], Any]


class Rounds(NamedTuple):
    """Maps of all rounds, (T, c, D), (T, c) and (T, 4c, c), and the training loss and error after each."""

    coef: np.ndarray
    intercept: np.ndarray
    link: np.ndarray
    losses: np.ndarray
    errors: np.ndarray


class NormalEquations:
    """Gram matrix of the features and their sums by class, of the held-out rows and of all others."""

    def __init__(self, n_features: int, dtype: np.dtype, n_classes: int, fit_intercept: bool) -> None:
        self.parts = [
            (
                RidgeSystem(n_features, dtype, fit_intercept=fit_intercept),
                np.zeros((n_classes, n_features)),
                np.zeros(n_classes),
            )
            for _ in range(2)
        ]
        self._chosen = np.empty((0, n_features), dtype=dtype)

    def add(
        self,
        block: np.ndarray,
        codes: np.ndarray,
        held_out: np.ndarray,
        weights: np.ndarray | None = None,
        scores: Any = None,
    ) -> None:
        """Add the rows of a block."""
        for (system, cross, total), kept in zip(self.parts, (~held_out, held_out), strict=True):
            if not kept.any():
                continue
            part, own = (block, codes) if kept.all() else (self._rows(block, kept), codes[kept])
            part = part.astype(system.dtype, copy=False)
            w = None if weights is None else weights[kept]
            system.add(part, w)
            unit = np.ones(len(own)) if w is None else w
            cross += _class_sums(own, unit.astype(system.dtype), part, len(total))
            total += np.bincount(own, w, minlength=len(total))

    def _rows(self, block: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return chosen rows in memory that all blocks share: new pages cost more than the copy."""
        chosen = np.flatnonzero(kept)
        if len(self._chosen) < len(chosen) or self._chosen.dtype != block.dtype:
            self._chosen = np.empty_like(block)
        return np.take(block, chosen, axis=0, out=self._chosen[: len(chosen)], mode="clip")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_chosen": self._chosen[:0]}

    def merge(self, other: NormalEquations) -> None:
        """Add those of other rows."""
        for (system, cross, total), (more, cross_of, total_of) in zip(self.parts, other.parts, strict=True):
            system.merge(more)
            cross += cross_of
            total += total_of

    def kept_and_all(self) -> tuple[Equations, Equations]:
        """Return the equations of the rows that are not held out, and of all rows."""
        (system, cross, total), (held_out, cross_of, total_of) = self.parts
        kept = Equations(system, cross.T, total)
        if not held_out.n_rows:
            return kept, kept
        held_out.merge(system)
        return kept, Equations(held_out, (cross + cross_of).T, total + total_of)


class Equations(NamedTuple):
    """Gram matrix, its products (D, c) with the class indicators, and their sums (c,)."""

    system: RidgeSystem
    cross: np.ndarray
    total: np.ndarray


class CollectedRows:
    """Features, or the values of a function of them, and positions of classes, of all or of held-out rows."""

    def __init__(
        self, *, held_out_only: bool = False, function: Callable[..., np.ndarray] | None = None
    ) -> None:
        self._only, self._function = held_out_only, function
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, block: np.ndarray, codes: np.ndarray, held_out: np.ndarray) -> None:
        """Add the rows of a block."""
        chosen = np.flatnonzero(held_out) if self._only else np.arange(len(codes))
        rows = block[chosen]
        self._parts.append((self._function(rows) if self._function else rows, codes[chosen]))

    def merge(self, other: CollectedRows) -> None:
        """Append other rows."""
        self._parts += other._parts

    def joined(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all rows, and their classes."""
        rows, codes = zip(*self._parts, strict=True)
        return np.concatenate(rows), np.concatenate(codes)


class StatefulSums:
    """Sums over feature blocks of which each row has scores (n, c) that passes read and change.

    After the last round they are the result of its link; before, projected on the simplex.
    """

    def __init__(
        self,
        blocks: FeatureBlocks,
        codes: np.ndarray,
        held_out: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
    ) -> None:
        self.scores = np.zeros((len(codes), n_classes), dtype=blocks.dtype)
        ones = np.ones(len(codes)) if weights is None else weights
        self._blocks, self._rows = blocks, (codes, held_out, ones, self.scores)

    def __call__(self, start: Callable[[], Any]) -> Any:
        """Return ``start()`` after a pass over the rows."""
        total, stop = accumulate(self._blocks, start, *self._rows), 0
        for part in total.parts:
            start_, stop = stop, stop + len(part)
            if not np.may_share_memory(part, self.scores):
                self.scores[start_:stop] = part
        return total


def run_rounds(sum_rows: SumRows, equations: Equations, ridge: float, n_rounds: int, dtype: Any) -> Rounds:
    """Run all rounds from probabilities of zero, in 2T passes; the system is factored in place."""
    system, cross, total = equations
    system.factor(ridge)
    n_rows = total.sum()
    coefs, intercepts, losses, errors = [], [], [], []
    links: list[np.ndarray] = []
    for round_ in range(n_rounds):
        coef, intercept = system.solve(cross, total)
        coefs.append(np.ascontiguousarray(coef.T, dtype=dtype))
        intercepts.append(intercept.astype(dtype))
        maps = np.stack(coefs), np.stack(intercepts)
        links.append(sum_rows(partial(_LinkEquations, *maps, np.array(links, dtype=dtype))).link(dtype))
        last = round_ == n_rounds - 1
        found = sum_rows(partial(_Residuals, *maps, np.stack(links), last=last))
        cross, total = found.cross, found.total
        losses.append(found.loss / n_rows)
        errors.append(found.wrong / n_rows)
        logger.info("round %d/%d: training error %.4f", round_ + 1, n_rounds, errors[-1])
    return Rounds(*maps, np.stack(links), np.array(losses), np.array(errors))


def linked_scores(
    features: np.ndarray, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray
) -> np.ndarray:
    """Return the scores after the last round, (b, c); those before its link without one."""
    n_rounds, n_classes = intercept.shape
    stacked = coef.reshape(-1, features.shape[1])
    linear = features @ stacked.T.astype(features.dtype, copy=False) + intercept.ravel()
    scores = np.zeros((len(features), n_classes), dtype=linear.dtype)
    for round_ in range(n_rounds):
        if round_:
            project_rows_to_simplex(scores)
        scores += linear[:, round_ * n_classes : (round_ + 1) * n_classes]
        if round_ < len(link):
            for rows in row_slices(len(scores), 4 * n_classes * scores.itemsize, POWER_BYTES):
                scores[rows] = link_powers(scores[rows]) @ link[round_]
    return scores


class _Pass:
    """State that the two passes of a round share: the maps so far, and the changed scores."""

    _add: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None], None]

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray) -> None:
        self._maps = coef, intercept, link
        self.n_classes = intercept.shape[1]
        self.parts: list[np.ndarray] = []

    def add(
        self,
        block: np.ndarray,
        codes: np.ndarray,
        held_out: np.ndarray,
        weights: np.ndarray | None = None,
        scores: np.ndarray | None = None,
    ) -> None:
        """Add the rows of a block; those held out count nothing."""
        self._add(block, codes, np.where(held_out, 0.0, 1.0 if weights is None else weights), scores)

    def slices(self, scores: np.ndarray) -> list[slice]:
        return row_slices(len(scores), 4 * self.n_classes * scores.itemsize, POWER_BYTES)


class _LinkEquations(_Pass):
    """Normal equations of the link of a round, from the linear functions up to it and the links before."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray) -> None:
        super().__init__(coef, intercept, link)
        self.gram = np.zeros((4 * self.n_classes, 4 * self.n_classes))
        self.cross = np.zeros((self.n_classes, 4 * self.n_classes))

    def _add(self, block: np.ndarray, codes: np.ndarray, w: np.ndarray, scores: np.ndarray | None) -> None:
        if scores is None:
            scores = linked_scores(block, *self._maps)
        else:
            coef, intercept, _ = self._maps
            scores += block @ coef[-1].T.astype(block.dtype, copy=False) + intercept[-1]
            self.parts.append(scores)
        for rows in self.slices(scores):
            powers = link_powers(scores[rows])
            self.cross += _class_sums(codes[rows], w[rows], powers, self.n_classes)
            powers *= np.sqrt(w[rows, None]).astype(powers.dtype)
            self.gram += powers.T @ powers

    def merge(self, other: _LinkEquations) -> None:
        self.gram += other.gram
        self.cross += other.cross
        self.parts += other.parts

    def link(self, dtype: Any) -> np.ndarray:
        self.gram.flat[:: len(self.gram) + 1] += LINK_RIDGE * np.trace(self.gram) / len(self.gram)
        return linalg.solve(self.gram, self.cross.T, assume_a="pos").astype(dtype)


class _Residuals(_Pass):
    """Residual of the class indicators after the rounds so far: products with the features, and its size."""

    def __init__(self, coef: np.ndarray, intercept: np.ndarray, link: np.ndarray, *, last: bool) -> None:
        super().__init__(coef, intercept, link)
        self._last = last
        self.cross, self.total = np.zeros((coef.shape[2], self.n_classes)), np.zeros(self.n_classes)
        self.loss = self.wrong = 0.0

    def _add(self, block: np.ndarray, codes: np.ndarray, w: np.ndarray, scores: np.ndarray | None) -> None:
        residual = linked_scores(block, *self._maps) if scores is None else np.empty_like(scores)
        for rows in self.slices(residual):
            if scores is not None:
                residual[rows] = link_powers(scores[rows]) @ self._maps[2][-1].astype(
                    scores.dtype, copy=False
                )
                if self._last:
                    scores[rows] = residual[rows]
            part = project_rows_to_simplex(residual[rows])
            if scores is not None and not self._last:
                scores[rows] = part
            self.wrong += float(w[rows] @ (part.argmax(axis=1) != codes[rows]))
            np.negative(part, out=part)
            part[np.arange(len(part)), codes[rows]] += 1
            self.loss += float(w[rows] @ np.einsum("ij,ij->i", part, part))
            part *= w[rows, None].astype(part.dtype)
        if scores is not None:
            self.parts.append(scores)
        if not self._last:
            self.total += residual.sum(axis=0, dtype=np.float64)
            self.cross += (residual.astype(block.dtype, copy=False).T @ block).T

    def merge(self, other: _Residuals) -> None:
        self.cross += other.cross
        self.total += other.total
        self.loss += other.loss
        self.wrong += other.wrong
        self.parts += other.parts


def link_powers(scores: np.ndarray, axis: int = 1) -> np.ndarray:
    """Return [s, s²/2, s³/6, s⁴/24], one after the other along the axis of classes.

    Scores of rows far from those of training are cut, so that float32 holds their powers.
    """
    scores = np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    powers = [scores]
    for power in (2, 3, 4):
        powers.append(powers[-1] * scores)
        powers[-1] /= power
    return np.concatenate(powers, axis=axis)


def _class_sums(codes: np.ndarray, weights: np.ndarray, rows: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the weighted sum of the rows of each class, (c, columns), summed in double precision.

    Products are in the wider type of weights and rows. A few rows are summed in it, as long sums in single
    precision lose digits.
    """
    sums = np.zeros((n_classes, rows.shape[1]))
    step = _SUMMED_ROWS if weights.dtype == np.float32 else len(codes)
    for start in range(0, len(codes), step):
        here = slice(start, start + step)
        at = codes[here], np.arange(len(codes[here]))
        sums += sparse.csr_array((weights[here], at), shape=(n_classes, len(at[1]))) @ rows[here]
    return sums


def project_rows_to_simplex(scores: np.ndarray) -> np.ndarray:
    r"""Replace every row (n, c) by the nearest point of the probability simplex, in place, O(n c log c) time.

    The nearest point to s is :math:`\max(0, s - \tau)`, where τ makes the result sum to one. It is found
    exactly from the sorted row: τ is the largest of :math:`(\sum_{i \le k} s_{(i)} - 1) / k` over k (J.
    Duchi, S. Shalev-Shwartz, Y. Singer and T. Chandra, "Efficient projections onto the l1-ball for learning
    in high dimensions", ICML 2008).
    """
    sums = np.cumsum(np.sort(scores, axis=1)[:, ::-1], axis=1)
    sums -= 1
    sums /= np.arange(1, scores.shape[1] + 1, dtype=scores.dtype)
    scores -= sums.max(axis=1, keepdims=True)
    return np.maximum(scores, 0, out=scores)
