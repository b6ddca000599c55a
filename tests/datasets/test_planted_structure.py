"""What was planted is found by a correct embedding, and by no wrong one."""

import numpy as np
import pytest
from scipy import linalg

from eigenbench.datasets.planted_labels import PlantedLabels, canonical_angles, captured_energy
from eigenbench.methods.embeddings.labels.rembrandt import Rembrandt

DATA = PlantedLabels(n_rows=6000, n_features=2000, n_labels=400, rank=10, nonzeros_per_row=40)
MULTILABEL = PlantedLabels(
    n_rows=6000, n_features=2000, n_labels=400, rank=10, nonzeros_per_row=40, labels_per_row=3
)


def planted(data, centred):
    """Return F, or F less its mean, with the weights of the topics, as a dense matrix."""
    F = data.label_factor.toarray()
    if centred:
        F = F - data.topic_weights @ F
    return np.sqrt(data.topic_weights)[:, None] * F


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("k", [4, 15])
def test_measures_agree_with_dense_linear_algebra(centred, k):
    F = planted(DATA, centred)
    V = np.random.default_rng(0).standard_normal((400, k)) + F[:k].T.sum(axis=1, keepdims=True)
    Q = linalg.orth(V)
    energy = (np.abs(F @ Q) ** 2).sum() / (F**2).sum()
    assert captured_energy(DATA, V, centred=centred) == pytest.approx(energy)
    exact = np.sort(linalg.subspace_angles(linalg.orth(F.T, rcond=1e-10), V))
    np.testing.assert_allclose(canonical_angles(DATA, V, centred=centred), exact, atol=1e-7)


@pytest.mark.parametrize("centred", [True, False])
def test_the_planted_space_contains_itself(centred):
    V = linalg.orth(planted(MULTILABEL, centred).T, rcond=1e-10)
    assert V.shape[1] == 10 - centred
    assert captured_energy(MULTILABEL, V, centred=centred) == pytest.approx(1)
    np.testing.assert_allclose(canonical_angles(MULTILABEL, V, centred=centred), 0, atol=1e-6)


@pytest.mark.parametrize("data", [DATA, MULTILABEL], ids=["multiclass", "multilabel"])
def test_rembrandt_recovers_it(data):
    X, Y = data.make()
    found = Rembrandt(15, ridge=10.0, solver="cg", random_state=0).fit(X, Y).embedding_
    assert captured_energy(data, found) > 0.9
    assert canonical_angles(data, found).max() < 0.5
    random = np.random.default_rng(0).standard_normal(found.shape)
    assert captured_energy(data, random) < 0.1
