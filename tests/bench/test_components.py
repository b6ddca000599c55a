"""Capabilities derived from the classes, compared with fits of two seeds."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.svm import LinearSVC

from eigenbench import ClassMoments
from eigenbench.bench.components import (
    MissingExtraError,
    is_randomized,
    takes_feature_map,
    takes_moments,
    takes_random_state,
)
from eigenbench.bench.registry import COMPONENTS
from eigenbench.bench.suites.steps import as_step
from eigenbench.datasets.plain_yaml import read_yaml
from eigenbench.methods.classifiers.streamed import StreamedClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

#: Parameters that make a component fast on the small rows below, or that it needs.
FAST = {
    "RandomTreesEmbedding": {"sparse_output": False},
    "FeatureUnion": {"transformer_list": [("pca", PCA(2, random_state=0))]},
    "BayesRule": {"centers": [[0.0], [0.1], [0.2], [0.3], [0.4]]},
    "FisherLDA": {"gamma": 0.1},
    "MMC_Supervised": {"n_constraints": 20, "max_iter": 2, "max_proj": 50},
    "NCA": {"max_iter": 5},
    "Rembrandt": {"n_components": 3},
    "PLST": {"n_components": 3},
    "CompressedSensing": {"n_components": 3},
    "SIR": {"gamma": 0.1},
    "LabelEmbeddingClassifier": {"max_iter": 2},
    "VowpalWabbitOAA": {"bits": 12, "n_passes": 2},
    "VowpalWabbitLOMTree": {"bits": 12, "n_passes": 2},
}

#: Settings with which nothing is drawn.
DETERMINISTIC = [
    ("GEM", {"top": 2}),
    ("GEM", {"top": 2, "pairs": "nearest", "denominator": "covariance"}),
    ("SubclassGEM", {"top": 2, "n_subclasses": 1}),
    ("PCA", {"n_components": 4, "svd_solver": "full"}),
    ("PCA", {"n_components": 4, "svd_solver": "covariance_eigh"}),
    ("KernelPCA", {"n_components": 4, "eigen_solver": "dense", "kernel": "rbf"}),
    ("LogisticRegression", {}),
    ("LogisticRegression", {"solver": "newton-cg"}),
    ("LogisticRegression", {"solver": "newton-cholesky"}),
    ("LinearSVC", {"dual": False}),
]

RANDOM = [
    ("GEM", {"top": 1, "pairs": "hypercube"}),
    ("GEM", {"top": 1, "pairs": "uniform"}),
    ("GEM", {"top": 1, "pairs": "stratified"}),
    ("SubclassGEM", {"top": 1}),
    ("PCA", {"n_components": 4, "svd_solver": "randomized", "iterated_power": 0}),
    ("LogisticRegression", {"solver": "saga", "max_iter": 2}),
    ("LinearSVC", {"dual": True, "max_iter": 2}),
    ("LinearSVC", {"dual": False, "penalty": "l1", "max_iter": 2}),
    ("LinearSVC", {"dual": False, "multi_class": "crammer_singer", "max_iter": 2}),
]


def installed():
    """The classes of the registry, without those whose package is not installed."""
    found = {}
    for name, component in COMPONENTS.items():
        try:
            found[name] = component.load()
        except MissingExtraError:
            assert component.extra is not None
    return found


CLASSES = installed()


def steps_of(value):
    """Yield every step in the content of a suite file, at any depth."""
    if (step := as_step(value, COMPONENTS)) is not None and not {"params", "grid"} & set(step[1]):
        yield step
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from steps_of(item)


def deterministic_steps_of_suites():
    """The settings in the suites that have a random_state and draw nothing, with fewer components."""
    suites = Path(__file__).parents[2] / "config" / "suites"
    found = {}
    for path in suites.glob("*.yaml"):
        for name, given in steps_of(read_yaml(path)):
            params = given | {key: min(given[key], 3) for key in ("top",) if key in given}
            params |= {"n_components": 3} if "n_components" in given else {}
            params = {
                key: value["choose"][0] if isinstance(value, dict) and set(value) == {"choose"} else value
                for key, value in params.items()
            }
            cls = CLASSES.get(name)
            if cls and takes_random_state(cls) and not is_randomized(cls, params):
                found[f"{name} {params}"] = (name, params)
    return list(found.values())


@pytest.fixture(scope="module")
def rows():
    X, y = load_digits(n_class=5, return_X_y=True)
    return X[:200] / 16, y[:200]


def outcome(cls, params, rows, seed):
    """The fitted model's answer to its own training rows."""
    X, y = rows
    seeded = {"random_state": seed} if takes_random_state(cls) else {}
    model = cls(**params, **seeded)
    if not hasattr(model, "predict"):
        return model.fit(X, y).transform(X)
    model.fit(X, y)
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    return model.predict(X)


@pytest.mark.parametrize(
    "name",
    # umap-learn is compiled when it is imported and at its first fit.
    [pytest.param(name, marks=pytest.mark.slow if name == "UMAP" else ()) for name in CLASSES],
)
def test_one_seed_gives_one_result(name, rows):
    cls, params = CLASSES[name], FAST.get(name, {})
    if name == "LFDA":  # it refuses constant columns
        rows = rows[0][:, rows[0].std(axis=0) > 0], rows[1]
    first, second = (outcome(cls, params, rows, 3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("name", "params"), [*DETERMINISTIC, *deterministic_steps_of_suites()])
def test_what_draws_nothing_depends_on_no_seed(name, params, rows):
    cls = CLASSES[name]
    assert not is_randomized(cls, params)
    np.testing.assert_array_equal(outcome(cls, params, rows, 0), outcome(cls, params, rows, 1))


@pytest.mark.parametrize(("name", "params"), RANDOM)
def test_what_draws_depends_on_the_seed(name, params, rows):
    cls = CLASSES[name]
    assert is_randomized(cls, params)
    first, second = (outcome(cls, params, rows, seed) for seed in (0, 1))
    assert first.shape != second.shape or not np.array_equal(first, second)


def test_a_number_to_be_chosen_may_draw():
    assert is_randomized(CLASSES["SubclassGEM"], {"n_subclasses": {"choose": [1, 4]}})


def test_a_fixed_random_state_leaves_nothing_to_the_seed():
    assert not is_randomized(LinearSVC, {"random_state": 0})
    assert is_randomized(LinearSVC, {"random_state": None})


def test_a_subclass_of_scikit_learns_may_draw_more_than_its_base():
    assert not is_randomized(LinearSVC, {"dual": False})
    assert is_randomized(type("LinearSVC", (LinearSVC,), {}), {"dual": False})


@pytest.mark.parametrize("name", [name for name in CLASSES if takes_moments(CLASSES[name])])
def test_what_takes_moments_gives_the_same_by_moments(name, rows):
    X, y = rows
    cls, params = CLASSES[name], FAST.get(name, {})
    by_rows, by_moments = cls(**params).fit(X, y), cls(**params).fit_moments(ClassMoments.of(X, y))
    assert np.array_equal(by_rows.transform(X), by_moments.transform(X))


@pytest.mark.parametrize("name", CLASSES)
def test_streaming_classifiers_are_those_of_the_base_class(name):
    cls = CLASSES[name]
    assert takes_feature_map(cls) == issubclass(cls, StreamedClassifier)
