"""The best-scored labels of each row, and their precision@k and nDCG@k, plain and propensity-scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import gen_batches

#: Probabilities may exceed 0 and 1 by so much, as sums in float32 do.
_ROUNDING = 1e-5

_SCORES_AT_ONCE = 1 << 24
_MOST_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class TopK:
    """Column numbers of the labels of some rows (n, k), the best first, and their scores.

    -1 fills rows for which a model named fewer labels.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.floating]


def top_k(scores: NDArray[np.floating], k: int) -> TopK:
    """Return the k largest scores of each row; among equal ones the lower column comes first."""
    n_labels = scores.shape[1]
    k = min(k, n_labels)
    if k < n_labels:
        least = np.partition(scores, n_labels - k, axis=1)[:, n_labels - k, None].copy()
        kept = scores >= least
        # Of the labels at the smallest score that is kept, as many as there is room for, from the left.
        for row in np.flatnonzero(kept.sum(axis=1) > k):
            tied = np.flatnonzero(scores[row] == least[row])
            kept[row, tied[k - kept[row].sum() :]] = False
        labels = np.nonzero(kept)[1].reshape(-1, k)
    else:
        labels = np.broadcast_to(np.arange(n_labels), scores.shape)
    values = np.take_along_axis(scores, labels, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return TopK(np.take_along_axis(labels, order, axis=1), np.take_along_axis(values, order, axis=1))


def predict_top_k(model: Any, X: Any, k: int, n_labels: int) -> Iterator[tuple[slice, TopK]]:
    """Yield consecutive blocks of rows, of at most 128 MB of scores or one row, and their k best labels.

    The classifier has ``predict_top_k(X, k)`` that gives labels and falling scores, both (n, k), or else
    ``predict_proba`` or ``decision_function`` that give scores (n, n_labels).
    """
    own = getattr(model, "predict_top_k", None)
    width = k if own is not None else n_labels
    size = max(1, min(_MOST_ROWS_AT_ONCE, _SCORES_AT_ONCE // width))
    for rows in gen_batches(X.shape[0], size):
        if own is not None:
            best = TopK(*own(X[rows], k))
            _refuse(~np.isfinite(best.scores) & (best.labels >= 0), rows.start, "a score that is not finite")
            yield rows, best
        else:
            yield rows, top_k(_scores(model, X[rows], n_labels, rows.start), k)


def _scores(model: Any, X: Any, n_labels: int, start: int) -> NDArray[np.floating]:
    method = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    scores = np.asarray(getattr(model, method)(X))
    if scores.shape != (X.shape[0], n_labels):
        raise ValueError(
            f"{type(model).__name__}.{method} gave an array of shape {scores.shape} for {X.shape[0]} rows "
            f"and {n_labels} labels; a multilabel classifier gives one column for each label"
        )
    _refuse(~np.isfinite(scores), start, "a score that is not finite")
    if method == "predict_proba":
        _refuse((scores < -_ROUNDING) | (scores > 1 + _ROUNDING), start, "a probability outside [0, 1]")
    return scores


def _refuse(wrong: NDArray[np.bool_], start: int, what: str) -> None:
    """Raise an error that names the first row with something wrong in it."""
    if wrong.any():
        raise ValueError(f"row {start + int(np.argmax(wrong.any(axis=1)))}: the classifier gave {what}")


def inverse_propensities(
    counts: NDArray[np.integer], n_rows: int, a: float = 0.55, b: float = 1.5
) -> NDArray[np.float64]:
    """Return 1/p_l for each label: how much rarer its being recorded is than its being true.

    ``1/p_l = 1 + C (N_l + b)^-a`` with ``C = (ln N - 1)(b + 1)^a`` (Jain, Prabhu and Varma, KDD 2016, section
    4), for N_l of N training rows that have the label. The paper's a and b are 0.5 and 0.4 for Wikipedia, 0.6
    and 2.6 for Amazon, and 0.55 and 1.5 where nothing is known. At least 1 for N > e.
    """
    constant = (np.log(n_rows) - 1) * (b + 1) ** a
    return 1 + constant * (np.asarray(counts, dtype=np.float64) + b) ** -a


def hits(truth: csr_array, labels: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return for each label (n, k) whether its row of the indicator matrix (n, c) has it."""
    n_rows, n_labels = truth.shape
    rows = np.repeat(np.arange(n_rows), np.diff(truth.indptr))
    true = np.sort(rows * np.int64(n_labels) + truth.indices)
    asked = np.arange(n_rows)[:, None] * np.int64(n_labels) + labels
    place = np.minimum(np.searchsorted(true, asked), len(true) - 1)
    return (labels >= 0) & (true[place] == asked) if len(true) else np.zeros(labels.shape, dtype=bool)


class RankingScores:
    """Sums of the ranking metrics at each k over blocks of rows; weights are inverse propensities."""

    def __init__(self, ks: tuple[int, ...], weights: NDArray[np.float64]):
        self.ks = ks
        self.weights = weights
        self._n_rows = 0
        self._sums = {name: np.zeros(len(ks)) for name in ("precision", "ndcg", "ps", "ps_ndcg")}
        self._best = {name: np.zeros(len(ks)) for name in ("ps", "ps_ndcg")}
        self._discount = 1 / np.log2(np.arange(max(ks)) + 2)

    def update(self, truth: csr_array, best: TopK, hit: NDArray[np.bool_] | None = None) -> None:
        """Add a block: its indicator (n, c), its best labels, and `hits` of these if known."""
        depth = max(self.ks)
        labels = best.labels[:, :depth]
        hit = hits(truth, labels) if hit is None else hit[:, :depth]
        gained = np.where(hit, self.weights[labels], 0.0)
        attainable = _heaviest(truth, self.weights, depth)
        per_row = np.diff(truth.indptr)
        self._n_rows += truth.shape[0]
        for column, k in enumerate(self.ks):
            discount = self._discount[: min(k, labels.shape[1])]
            ideal = np.concatenate([[np.inf], np.cumsum(self._discount)])[np.minimum(per_row, k)]
            self._sums["precision"][column] += hit[:, :k].sum() / k
            self._sums["ndcg"][column] += (hit[:, :k] @ discount / ideal).sum()
            self._sums["ps"][column] += gained[:, :k].sum()
            self._sums["ps_ndcg"][column] += (gained[:, :k] @ discount / ideal).sum()
            self._best["ps"][column] += attainable[:, :k].sum()
            self._best["ps_ndcg"][column] += (attainable[:, :k] @ self._discount[:k] / ideal).sum()

    def metrics(self) -> dict[str, float]:
        """Return the metrics by name.

        ``precision_at_k``: share of the first k labels that are true, mean over rows. ``ndcg_at_k``: hits
        discounted by 1/log2(1 + rank), divided by the best that the row's number of labels allows, mean over
        rows; a row without labels gives 0. ``ps_precision_at_k`` and ``ps_ndcg_at_k``: the same with hits
        weighted by inverse propensity, summed over rows and divided by the sum of the best ranking.
        """
        found = {}
        for column, k in enumerate(self.ks):
            found[f"precision_at_{k}"] = self._sums["precision"][column] / self._n_rows
            found[f"ndcg_at_{k}"] = self._sums["ndcg"][column] / self._n_rows
            for name, long_name in (("ps", "ps_precision"), ("ps_ndcg", "ps_ndcg")):
                best = self._best[name][column]
                found[f"{long_name}_at_{k}"] = self._sums[name][column] / best if best else 0.0
        return {name: float(value) for name, value in found.items()}


def _heaviest(truth: csr_array, weights: NDArray[np.float64], depth: int) -> NDArray[np.float64]:
    """Return the ``depth`` largest weights of each row's labels, falling, with zeros to the right."""
    values = weights[truth.indices]
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    order = np.lexsort((-values, rows))
    rank = np.arange(len(values)) - truth.indptr[:-1][rows]
    table = np.zeros((truth.shape[0], depth))
    shown = rank < depth
    table[rows[shown], rank[shown]] = values[order][shown]
    return table
