"""Siblings and spectra of embeddings whose answer is known."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.label_structure import LabelStructureSettings, measure
from eigenbench.methods.embeddings.labels.plst import PLST

N_ROWS, N_FAMILIES, FAMILY = 400, 6, 4


class Given(TransformerMixin, BaseEstimator):
    """An embedding that puts labels on a line, in an order of its own."""

    def __init__(self, places=()):
        self.places = places

    def fit(self, X, Y):
        self.shape_ = Y.shape
        self.embedding_ = np.column_stack([self.places, np.ones(len(self.places))])
        return self

    def transform(self, X):
        return X


def trial(method, settings=None, edges="families", unused=0):
    """Labels in families of four; rows have two labels of one family, which X tells."""
    generator = np.random.default_rng(0)
    n_labels = N_FAMILIES * FAMILY + unused
    family = generator.integers(N_FAMILIES, size=N_ROWS)
    Y = np.zeros((N_ROWS, n_labels), dtype=np.uint8)
    for row in range(N_ROWS):
        Y[row, FAMILY * family[row] + generator.choice(FAMILY, 2, replace=False)] = 1
    X = np.eye(N_FAMILIES)[family] + 0.1 * generator.normal(size=(N_ROWS, N_FAMILIES))
    graph = [(i, N_FAMILIES * FAMILY - 1 - i // FAMILY) for i in range(n_labels)]
    names = ["CCAT", "MCAT"] + [f"{letter}{i}" for letter in "CM" for i in range(10, 21)] + ["C99"] * unused
    dataset = SimpleNamespace(
        name="d",
        X_train=X.astype(np.float32),
        y_train=csr_array(Y),
        classes=names,
        label_edges=np.array(graph) if edges == "families" else None,
    )
    return Trial(
        settings=settings or LabelStructureSettings(),
        build=lambda **last: make_pipeline(method),
        load=None,
        data=lambda name="d": dataset,
        seed=0,
    )


def test_an_embedding_in_the_order_of_the_families():
    places = np.repeat(np.arange(N_FAMILIES), FAMILY) * 10.0 + np.tile(np.arange(FAMILY), N_FAMILIES)
    outcome = measure(trial(Given(places)))
    assert outcome.metrics["sibling_fraction"] == 1
    assert outcome.metrics["most_fraternal_fraction"] == pytest.approx((FAMILY - 1) / (N_FAMILIES * FAMILY))
    assert outcome.metrics["labels"] == N_FAMILIES * FAMILY
    assert (outcome.dimension, outcome.curves) == (2, {})


def test_labels_that_occur_together_are_near_and_the_spectrum_is_that_of_the_covariance():
    given = trial(PLST(5, random_state=0))
    outcome = measure(given)
    assert outcome.metrics["cosine_sibling_fraction"] == 1
    covariance = np.cov(given.data().y_train.toarray().T, bias=True)
    expected = np.linalg.eigvalsh(covariance)[::-1][:5]
    orders, values = zip(*outcome.curves["eigenvalues"], strict=True)
    assert orders == (1, 2, 3, 4, 5)
    np.testing.assert_allclose(values, expected, rtol=1e-3)


def test_labels_without_rows_are_left_out():
    outcome = measure(trial(PLST(5, random_state=0), unused=2))
    assert outcome.metrics["labels"] == N_FAMILIES * FAMILY


def test_topic_codes_are_a_hierarchy_of_their_own():
    places = np.array([0.0, 100.0] + [1.0 + i for i in range(11)] + [101.0 + i for i in range(11)])
    outcome = measure(trial(Given(places), LabelStructureSettings(hierarchy="rcv1_codes"), edges=None))
    # The two top topics are siblings of each other, but each one's nearest topic is its own child.
    assert outcome.metrics["sibling_fraction"] == pytest.approx(22 / 24, abs=2 / 24)


def test_a_dataset_without_a_graph_is_refused():
    with pytest.raises(ValueError, match="d has no graph of its labels"):
        measure(trial(Given([0.0]), edges=None))
