"""The protocol of label embeddings on synthetic data."""

from types import SimpleNamespace

import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.protocols.label_embedding_scale import LabelEmbeddingScaleSettings, measure
from eigenbench.datasets import planted_labels
from eigenbench.datasets.planted_labels import PlantedLabels

RECIPE = PlantedLabels(n_rows=200, n_features=100, n_labels=30, rank=3, nonzeros_per_row=10)


class Planted(BaseEstimator):
    """Gives the first k axes of the planted space, and keeps how many rows it was given."""

    seen: list = []

    def __init__(self, n_components=3):
        self.n_components = n_components

    def fit(self, X, Y):
        self.seen.append((X.shape[0], Y.shape[0]))
        self.embedding_ = RECIPE.label_factor.toarray()[: self.n_components].T
        self.cg_iterations_ = 5
        return self


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(planted_labels, "recipe_of", lambda name: RECIPE)
    Planted.seen.clear()
    X, Y = RECIPE.make()
    dataset = SimpleNamespace(name="synthetic", X_train=X, y_train=Y)

    def run(**settings):
        build = lambda **last: make_pipeline(Planted(**last))  # noqa: E731
        return measure(
            Trial(LabelEmbeddingScaleSettings(**settings), build, None, lambda name="main": dataset, 0)
        )

    return run


def test_one_fit_on_all_rows(run):
    outcome = run()
    assert Planted.seen == [(200, 200)]
    assert outcome.metrics["captured_energy"] == pytest.approx(1)
    assert outcome.metrics["largest_angle"] == pytest.approx(0, abs=1e-6)
    assert outcome.metrics["cg_iterations"] == 5
    assert outcome.metrics["nonzeros"] == pytest.approx(2e-3, rel=0.1)
    assert outcome.dimension == 3
    assert not outcome.curves


def test_rows_vary(run):
    outcome = run(vary="n_rows", sizes=(50, 200))
    assert Planted.seen == [(50, 50), (200, 200)]
    assert [size for size, _ in outcome.curves["fit_seconds_by_rows"]] == [50, 200]


def test_components_vary(run):
    outcome = run(sizes=(1, 3))
    energies = [value for _, value in outcome.curves["captured_energy_by_components"]]
    assert energies == [outcome.metrics["captured_energy_at_1"], outcome.metrics["captured_energy_at_3"]]
    assert energies[0] < 0.9 < energies[1]


def test_more_rows_than_there_are_are_refused(run):
    with pytest.raises(ValueError, match="201 rows"):
        run(vary="n_rows", sizes=(201,))
