"""SYNTHETIC documents with labels of known low-rank structure, and how much of it an embedding has found."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from joblib import Parallel, delayed
from pydantic import Field, model_validator
from scipy import linalg
from scipy.optimize import brentq
from scipy.sparse import csr_array, vstack

from eigenbench.datasets.strict_model import StrictModel

_CHUNK = 4096
"""Rows that share one random stream; fixed, so that the rows don't depend on how they are cut."""

_WORD_SHIFT = 2.7
_LABEL_SHIFT = 5.0
"""The q of the Zipf-Mandelbrot law, P(rank j) proportional to about 1 / (j + q), j = 0, 1, …"""

_LENGTH_SPREAD = 0.5
"""Standard deviation of the logarithm of the number of words in a row."""


class PlantedLabels(StrictModel):
    r"""Sizes and seed of a SYNTHETIC bag-of-words data set whose label structure is known.

    Each row has one of ``rank`` topics. Its words are drawn from a law common to all rows or, each with
    probability ``topic_share``, from the topic's own words; its labels are drawn from the topic's own
    labels. Words and labels follow Zipf-Mandelbrot laws with exponent 1. Given the topic, words and labels
    are independent, so the prediction covariance :math:`E[E[y|x] E[y|x]^\top]` of rows whose words show the
    topic is :math:`\sum_t \pi_t F_t F_t^\top`, of rank ``rank``: the space that a label embedding should
    find. The labels themselves have no such structure where rows have one label each: their second moment is
    diagonal. X holds 1 + ln(count), rows scaled to unit length.

    Rows do not depend on how many there are; those from ``first_row`` on, a multiple of 4096, are a test set
    for earlier ones. ``nonzeros_per_row`` and ``labels_per_row`` are expected numbers of different words and
    labels; row lengths are log-normal, and 1 label gives every row exactly one. Columns are numbered at
    random.
    """

    n_rows: int = Field(ge=1)
    first_row: int = Field(default=0, ge=0, multiple_of=_CHUNK)
    n_features: int = Field(ge=8)
    n_labels: int = Field(ge=1)
    rank: int = Field(ge=1)
    nonzeros_per_row: float = Field(ge=1)
    labels_per_row: float = Field(default=1.0, ge=1)
    topic_share: float = Field(default=0.3, ge=0, lt=1)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _possible(self) -> PlantedLabels:
        for name, whole in (("n_labels", self.n_labels), ("n_features", self.n_features // 2)):
            if self.rank > whole:
                raise ValueError(f"rank={self.rank} topics need words and labels of their own: raise {name}")
        if self.nonzeros_per_row > self.n_features / 4:
            raise ValueError(f"nonzeros_per_row={self.nonzeros_per_row} must be at most n_features / 4")
        if 1 < self.labels_per_row > self.n_labels / self.rank / 2:
            raise ValueError(f"labels_per_row={self.labels_per_row} needs more labels for each topic")
        return self

    @cached_property
    def topic_weights(self) -> np.ndarray:
        """π, the probability of each topic, (rank,), falling by a factor of 3 from first to last."""
        weights = 1.0 / (np.arange(self.rank) + self.rank / 2)
        return weights / weights.sum()

    @cached_property
    def label_factor(self) -> csr_array:
        """F, the expected labels of a row of each topic, (rank, n_labels); rows have disjoint supports."""
        expected = self._expected_labels(self._extra_labels)
        label = self._numbering("labels", self.n_labels)
        topics = np.arange(self.n_labels) % self.rank
        return csr_array((expected, (topics, label)), shape=(self.rank, self.n_labels))

    def _expected_labels(self, extra: float) -> np.ndarray:
        """Return the probability of each label by rank, in a row of its topic with 1 + Poisson draws."""
        topic, place = np.arange(self.n_labels) % self.rank, np.arange(self.n_labels) // self.rank
        share = _zipf_probability(place, self._labels_of(topic), _LABEL_SHIFT)
        return 1 - (1 - share) * np.exp(-extra * share)

    def _labels_of(self, topic: np.ndarray) -> np.ndarray:
        return (self.n_labels - topic - 1) // self.rank + 1

    @cached_property
    def _extra_labels(self) -> float:
        """Mean number of draws after the first such that rows have ``labels_per_row`` different labels."""
        weights = self.topic_weights[np.arange(self.n_labels) % self.rank]

        def excess(extra: float) -> float:
            return float(weights @ self._expected_labels(extra)) - self.labels_per_row

        return 0.0 if self.labels_per_row == 1 else brentq(excess, 0.0, 1e3 * self.labels_per_row, rtol=1e-6)

    @property
    def _first_topical(self) -> int:
        """Rank of the first word that belongs to a topic; more frequent ones are common to all."""
        return min(4 * self.rank, self.n_features // 2)

    @property
    def _words_of_a_topic(self) -> int:
        return (self.n_features - self._first_topical) // self.rank

    @cached_property
    def _mean_length(self) -> float:
        """Mean number of words such that rows have ``nonzeros_per_row`` different ones."""
        ranks = np.arange(self.n_features)
        probability = (1 - self.topic_share) * _zipf_probability(ranks, self.n_features, _WORD_SHIFT)
        first, count = self._first_topical, self._words_of_a_topic
        shift = first / self.rank
        probability[first : first + count * self.rank : self.rank] += self.topic_share * _zipf_probability(
            np.arange(count), count, shift
        )
        log_miss = np.log1p(-probability)
        nodes, weights = np.polynomial.hermite_e.hermegauss(9)
        spread = np.exp(_LENGTH_SPREAD * nodes - _LENGTH_SPREAD**2 / 2)

        def excess(log_length: float) -> float:
            lengths = np.exp(log_length) * spread
            distinct = [-np.expm1(length * log_miss).sum() for length in lengths]
            return float(weights @ distinct / weights.sum()) - self.nonzeros_per_row

        least = np.log(self.nonzeros_per_row) - 1
        return float(np.exp(brentq(excess, least, least + 30, xtol=1e-3)))

    def _numbering(self, what: Literal["words", "labels"], size: int) -> np.ndarray:
        """Return the column of each rank."""
        generator = np.random.default_rng([self.seed, 0, int(what == "labels")])
        return generator.permutation(size).astype(np.int32)

    def make(self, n_jobs: int | None = None) -> tuple[csr_array, csr_array]:
        """Return X (n, d) and indicators Y (n, c), float32: 16 bytes a nonzero, 0.2 µs a word and thread."""
        _, _ = self._mean_length, self._extra_labels
        columns = self._numbering("words", self.n_features), self._numbering("labels", self.n_labels)
        jobs = (delayed(self._chunk)(number, *columns) for number in range(-(-self.n_rows // _CHUNK)))
        chunks = Parallel(n_jobs=n_jobs, prefer="threads", batch_size=1)(jobs)
        X, Y = (csr_array(vstack(parts, format="csr")) for parts in zip(*chunks, strict=True))
        return X, Y

    def _chunk(self, number: int, word: np.ndarray, label: np.ndarray) -> tuple[csr_array, csr_array]:
        generator = np.random.default_rng([self.seed, 1, self.first_row // _CHUNK + number])
        topics = np.searchsorted(np.cumsum(self.topic_weights)[:-1], generator.random(_CHUNK), side="right")
        X, Y = self._words(topics, word, generator), self._labels(topics, label, generator)
        left = self.n_rows - number * _CHUNK
        return (X, Y) if left >= _CHUNK else (X[:left], Y[:left])

    def _words(self, topics: np.ndarray, word: np.ndarray, generator: np.random.Generator) -> csr_array:
        """Draw words; a topical one is drawn by its place among those of the topic."""
        spread = generator.lognormal(-(_LENGTH_SPREAD**2) / 2, _LENGTH_SPREAD, _CHUNK)
        rows = np.repeat(np.arange(_CHUNK), np.maximum(np.rint(self._mean_length * spread), 1).astype(int))
        draws = generator.random(len(rows))
        topical = generator.random(len(rows), dtype=np.float32) < self.topic_share
        ranks = _zipf_rank(draws, self.n_features, _WORD_SHIFT)
        first = self._first_topical
        place = _zipf_rank(draws[topical], self._words_of_a_topic, first / self.rank)
        ranks[topical] = first + place * self.rank + topics[rows[topical]]
        X = _counted(rows, word[ranks], self.n_features)
        np.log(X.data, out=X.data)
        X.data += 1
        lengths = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
        X.data /= np.repeat(lengths, np.diff(X.indptr))
        return X

    def _labels(self, topics: np.ndarray, label: np.ndarray, generator: np.random.Generator) -> csr_array:
        rows = np.repeat(np.arange(_CHUNK), 1 + generator.poisson(self._extra_labels, _CHUNK))
        topic = topics[rows]
        place = _zipf_rank(generator.random(len(rows)), self._labels_of(topic), _LABEL_SHIFT)
        Y = _counted(rows, label[place * self.rank + topic], self.n_labels)
        Y.data[:] = 1
        return Y


def recipe_of(dataset: str) -> PlantedLabels:
    """Return the recipe of a synthetic dataset's training rows; a ValueError for any other dataset."""
    folder = Path(__file__).parent / "recipes"
    try:
        return PlantedLabels.model_validate_json((folder / f"{dataset}_train.json").read_bytes())
    except OSError:
        known = ", ".join(
            sorted(path.name.removesuffix("_train.json") for path in folder.glob("*_train.json"))
        )
        raise ValueError(f"{dataset!r} has no planted labels; the synthetic datasets are {known}") from None


def _zipf_probability(place: np.ndarray, size: np.ndarray | int, shift: float) -> np.ndarray:
    """Return P(j) = ln((j + 1 + q) / (j + q)) / ln((size + q) / q), about 1 / (j + q)."""
    return np.log1p(1 / (place + shift)) / np.log1p(size / shift)


def _zipf_rank(uniform: np.ndarray, size: np.ndarray | int, shift: float) -> np.ndarray:
    """Return the places with that distribution, by its inverse."""
    place = shift * np.expm1(uniform * np.log1p(size / shift))
    return np.minimum(place.astype(np.int64), np.asarray(size) - 1)


def _counted(rows: np.ndarray, columns: np.ndarray, n_columns: int) -> csr_array:
    """Return how often each column was drawn in each of a chunk's rows; every row has a draw."""
    keys = np.sort(rows * n_columns + columns)
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys)).astype(np.float32)
    row, column = np.divmod(keys[first], n_columns)
    indptr = np.searchsorted(row, np.arange(_CHUNK + 1)).astype(np.int32)
    return csr_array((counts, column.astype(np.int32), indptr), shape=(_CHUNK, n_columns))


def captured_energy(data: PlantedLabels, embedding: np.ndarray, *, centred: bool = True) -> float:
    r"""Return the share of the planted prediction covariance that lies in an embedding's span.

    With :math:`F_t` the expected labels in topic t, of probability :math:`\pi_t`, and P the projection on the
    span: :math:`\sum_t \pi_t \|P(F_t - \bar F)\|^2 / \sum_t \pi_t \|F_t - \bar F\|^2`. It is 1 for an
    embedding that contains the planted space, about k / c for a random one. The columns of ``embedding``, (c,
    k), need not be orthonormal. ``centred`` subtracts :math:`\bar F = \sum_t \pi_t F_t`, as a model with an
    intercept does.
    """
    factor = _weighted_factor(data, centred)
    found = data.label_factor @ _orthonormal(embedding)
    if centred:
        found = found - data.topic_weights @ found
    found *= np.sqrt(data.topic_weights)[:, None]
    return float((found**2).sum() / (factor**2).sum())


def canonical_angles(data: PlantedLabels, embedding: np.ndarray, *, centred: bool = True) -> np.ndarray:
    """Return the min(m, k) angles between the planted space and an embedding's span, ascending, in radians.

    m is the dimension of the planted space: the rank, less 1 if centred. Parameters as of `captured_energy`.
    """
    factor = data.label_factor
    lengths = np.sqrt(factor.multiply(factor).sum(axis=1))
    # The rows of the factor are orthogonal: in their basis the planted space is a small matrix.
    basis = linalg.svd(_weighted_factor(data, centred).T, full_matrices=False)[0][:, : data.rank - centred]
    overlap = basis.T @ ((factor @ _orthonormal(embedding)) / lengths[:, None])
    return np.arccos(np.clip(linalg.svdvals(overlap), 0, 1))


def _weighted_factor(data: PlantedLabels, centred: bool) -> np.ndarray:
    """Return the rows √π_t (F_t - F̄) in the orthonormal basis F_t / ‖F_t‖, (rank, rank)."""
    factor = data.label_factor
    coordinates = np.diag(np.sqrt(factor.multiply(factor).sum(axis=1)))
    if centred:
        coordinates -= data.topic_weights @ coordinates
    return np.sqrt(data.topic_weights)[:, None] * coordinates


def _orthonormal(embedding: np.ndarray) -> np.ndarray:
    return linalg.qr(np.asarray(embedding, dtype=np.float64), mode="economic")[0]
