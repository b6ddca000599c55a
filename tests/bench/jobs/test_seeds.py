"""Capabilities are derived from the class: a new method needs no more than a line in the registry."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_random_state
from small_jobs import plan_of

from eigenbench.bench import registry
from eigenbench.bench.components import Component
from eigenbench.bench.jobs import train
from eigenbench.bench.jobs.job_context import _is_deterministic

pytestmark = pytest.mark.workflow

CLASSIFIER = "CalibratedLeastSquares"


class Noise(TransformerMixin, BaseEstimator):
    """Adds noise to its rows; nothing but its constructor shows that it draws."""

    def __init__(self, scale=3.0, random_state=None):
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None):
        self.noise_ = self.scale * check_random_state(self.random_state).normal(size=X.shape[1])
        return self

    def transform(self, X):
        return np.cos(X + self.noise_)[:, :3]


class Guessing(ClassifierMixin, BaseEstimator):
    """Predicts classes at random."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.place_ = check_random_state(self.random_state).randint(len(self.classes_), size=1000)
        return self

    def predict(self, X):
        return self.classes_[self.place_[: X.shape[0]]]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Both classes, registered by name, module and kind alone; skops does not write what no package has."""

    def save(path, model):
        path.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump(model, path)

    for cls, kind in ((Noise, "embedding"), (Guessing, "classifier")):
        component = Component(cls.__name__, __name__, kind)
        monkeypatch.setitem(registry.COMPONENTS, cls.__name__, component)
    monkeypatch.setattr(train, "save_model", save)


METHODS = {
    "embedding": {"methods": {"m": {"steps": ["Noise"]}}},
    "classifier": {"methods": {"m": {}}, "classifiers": ["Guessing"]},
    "searched": {"methods": {"m": {"steps": ["Noise"], "grid": {"noise__scale": [1.0, 2.0]}}}},
}


@pytest.mark.parametrize("kind", METHODS)
def test_equal_seeds_give_equal_results_and_other_seeds_other_ones(jobs, kind):
    method = plan_of(dataset="mnist", seeds=[0, 1], **METHODS[kind])
    assert not any(_is_deterministic(method.spec, name) for name in method.classifiers)
    metrics = {}
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        (record,) = jobs.run(method, seed).values()
        assert record.status == "ok", record.failure
        assert not record.deterministic
        with np.load(jobs.folder(method, record.classifier, seed) / "predictions.npz") as arrays:
            metrics[name] = (record.metrics, arrays["predicted"].tolist())
    assert metrics["first"] == metrics["again"]
    assert metrics["first"] != metrics["other"]
    first, other = method.runs
    assert first.key != other.key


def test_runs_that_draw_nothing_are_marked_and_have_keys_of_their_own_all_the_same(jobs):
    method = plan_of(dataset="mnist", seeds=[0, 1], methods={"m": {"steps": [{"GEM": {"top": 1}}]}})
    records = [jobs.run(method, seed)[CLASSIFIER] for seed in (0, 1)]
    assert [record.deterministic for record in records] == [True, True]
    assert records[0].metrics == records[1].metrics
    assert len({run.key for run in method.runs}) == 2
