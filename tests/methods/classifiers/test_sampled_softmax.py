"""The softmax of sampled labels stands for that of all."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenbench import LabelEmbeddingClassifier, Rembrandt
from eigenbench.datasets.planted_labels import PlantedLabels
from eigenbench.methods.classifiers.logistic_decoder import SampledDescent, class_targets, multinomial_loss

N_LABELS = 300


@pytest.fixture(scope="module")
def planted():
    recipe = PlantedLabels(n_rows=4096, n_features=400, n_labels=N_LABELS, rank=8, nonzeros_per_row=30)
    later = PlantedLabels(**{**recipe.model_dump(), "first_row": 4096})
    (X, Y), (X_test, Y_test) = recipe.make(), later.make()
    return X, Y.indices, X_test, Y_test.indices


def test_the_sum_over_seen_labels_is_that_over_all_in_the_mean():
    rng = np.random.RandomState(0)
    shares, logits = rng.dirichlet(np.full(40, 0.5)), rng.standard_normal(40)
    weights = np.zeros((3, 40), dtype=np.float32, order="F")
    chances = SampledDescent(multinomial_loss, 0.1, 16, 1, weights, 6, shares)._log_chances_of(16)
    total = 0.0
    for _ in range(4000):
        codes = np.append(7, rng.choice(40, 16, p=shares))
        seen = np.union1d(codes, rng.permutation(40)[:6])
        scaled = logits[seen] - chances[seen]
        scaled[np.searchsorted(seen, 7)] = logits[7]
        total += np.exp(scaled).sum() / 4000
    assert total == pytest.approx(np.exp(logits).sum(), rel=0.03)


def held_out_loss(model, X, y):
    column = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    known = model.classes_[column] == y
    logits = model.decision_function(X[known])
    return multinomial_loss(logits, class_targets(column[known], logits.shape[1])) / known.sum()


def fitted(planted, **changes):
    X, y, _, _ = planted
    model = LabelEmbeddingClassifier(
        Rembrandt(12, ridge=1.0, random_state=0), max_iter=8, refit=False, random_state=0
    )
    return model.set_params(**changes).fit(X, y)


def test_few_labels_teach_nearly_as_much_as_all(planted):
    _, _, X, y = planted
    every, sampled = fitted(planted), fitted(planted, sampled_labels=40)
    prior = np.bincount(planted[1], minlength=N_LABELS) / len(planted[1])
    unaware = -np.log(prior[y], where=prior[y] > 0, out=np.zeros(len(y)))[prior[y] > 0].mean()
    gained = unaware - held_out_loss(every, X, y)
    assert gained > 0.3
    assert held_out_loss(sampled, X, y) < unaware - 0.9 * gained


def test_as_many_as_there_are_is_all(planted):
    every, sampled = fitted(planted, max_iter=2), fitted(planted, max_iter=2, sampled_labels=N_LABELS)
    assert_allclose(sampled.coef_, every.coef_, rtol=1e-3, atol=1e-5)


def test_several_labels_a_row_are_refused():
    X, Y = np.eye(4), np.eye(4, dtype=int)
    with pytest.raises(ValueError, match="sampled_labels is for the softmax"):
        LabelEmbeddingClassifier(sampled_labels=2).fit(X, Y)
    with pytest.raises(ValueError, match="sampled_labels is for the softmax"):
        LabelEmbeddingClassifier(sampled_labels=2, loss="independent").fit(X, [0, 1, 0, 1])
