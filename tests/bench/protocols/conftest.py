"""A dataset and a method small enough to check protocols by hand."""

from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.pipeline import Pipeline, make_pipeline

from eigenbench.bench.protocols.base import Trial
from eigenbench.bench.registry import COMPONENTS


@pytest.fixture(scope="session")
def digits():
    """Training rows, test rows and the labels of each, in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    return X[:1000] / 16, X[1000:] / 16, y[:1000], y[1000:]


class ProjectedPowers(TransformerMixin, BaseEstimator):
    """Unbiased features of ((7 + x·y) / 8)³: cubes of products with signs, made three by three."""

    def __init__(self, n_components=8, random_state=0):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        generator = np.random.default_rng(self.random_state)
        signs = generator.choice([-1.0, 1.0], size=(3, X.shape[1] + 1, self.n_components))
        self.signs_ = signs / np.sqrt(8)
        return self

    def transform(self, X):
        dense = X.toarray() if hasattr(X, "toarray") else X
        extended = np.column_stack([dense, np.full(len(dense), np.sqrt(7))])
        return np.prod(extended @ self.signs_, axis=0) / np.sqrt(self.n_components)


@pytest.fixture
def projected_powers():
    return ProjectedPowers


@pytest.fixture
def make_trial():
    """``make_trial(settings, X, V, y, v)(method)``: a trial of a transformer class; of no steps for None.

    The class gets the seed where it takes one.
    """

    class MakeTrial:
        def __init__(self, settings, X, V, y=None, v=None):
            self.settings, self.X, self.V, self.y, self.v = settings, X, V, y, v

        def __call__(self, method, *before, seed=0):
            n_classes = 0 if self.y is None else len(np.unique(self.y))
            dataset = SimpleNamespace(
                X_train=self.X, X_test=self.V, y_train=self.y, y_test=self.v, classes=list(range(n_classes))
            )

            def build(**last):
                if method is None:
                    return Pipeline([("passthrough", "passthrough")])
                seeded = {"random_state": seed} if "random_state" in signature(method).parameters else {}
                return make_pipeline(*before, method(**seeded | last))

            def load(name):
                return COMPONENTS[name].load()

            return Trial(self.settings, build, load, lambda name="main", seed=0: dataset, seed)

    return MakeTrial
