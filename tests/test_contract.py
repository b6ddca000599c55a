"""Every estimator of this package keeps scikit-learn's contract."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from eigenbench import DoublyStochasticLogistic, GeometricMeanEnsemble
from eigenbench.bench.components import MissingExtraError
from eigenbench.bench.registry import COMPONENTS
from eigenbench.methods.classifiers.one_example import OneExampleNearestNeighbour

#: Settings in which a component takes another way through its code, or that small random data ask for;
#: the defaults for all others.
VARIANTS = {
    "GEM": [{"top": 1}, {"top": 1, "pairs": "nearest", "denominator": "covariance"}],
    "ContractedGEM": [{"top": 2}, {"top": 2, "n_slices": 3}],
    "NeighborhoodGEM": [{"top": 2}],
    "SubclassGEM": [{"top": 2, "n_subclasses": 2}],
    "FisherLDA": [{"gamma": 0.1}],
    "SIR": [{"gamma": 0.1}],
    "PerClassPCA": [{"n_components": 1}],
    "SignedPowers": [{}, {"offset": 1}],
    "HyperbolicPCA": [{}, {"kernel": "half_rbf"}],
    # White noise has no temporal structure: a large weight of the negative pairs leaves directions to find.
    "TemporalHyperbolicPCA": [{"eta_negative": 3.0}],
    "Rembrandt": [{"n_components": 2}, {"n_components": 2, "solver": "cg", "cg_tol": 1e-10}],
    "PLST": [{"n_components": 2}],
    "CompressedSensing": [{"n_components": 2}],
    "RecursiveFeatureMachine": [{}, {"n_centers": 7, "n_components": 1, "n_rounds": 1}],
    "OptimizedMaclaurin": [{"n_components": 33}],
    "CRAFT": [{"n_components": 32}],
    "TensorSketch": [{"n_components": 33}],
    "SphericalHermiteFeatures": [{"n_components": 33}],
    "SphericalRandomFeatures": [{"n_components": 33, "n_gaussians": 4, "n_starts": 1}],
    "RandomFourierFeatures": [{"length_scale": 1.0, "n_components": 33}],
    "CalibratedLeastSquares": [{}, {"ridge": 1.0, "fit_intercept": False}],
    "SecondOrderLogistic": [{}, {"C": 1.0}, {"C": 1.0, "early_stopping": False}],
    "StochasticLogistic": [{}, {"few_rows": 0}, {"early_stopping": False, "fit_intercept": False}],
    "LabelEmbeddingClassifier": [{}, {"few_rows": 0}],
    # It has no defaults, and fits no data but its own.
    "BayesRule": [],
    "VowpalWabbitOAA": [{"bits": 12}],
    "VowpalWabbitLOMTree": [{"bits": 12}],
    "NapkinXCPLT": [{"random_state": 0}],
}

#: Those that no suite names.
UNREGISTERED = [
    DoublyStochasticLogistic(n_components=128, block_size=32),
    GeometricMeanEnsemble(LogisticRegression(), n_estimators=2),
    GeometricMeanEnsemble(DecisionTreeClassifier(max_features=1), n_estimators=2),
    OneExampleNearestNeighbour(),
]

#: Why the check that weights are repeated rows says nothing of some classes. Their own tests compare weights
#: with repeated rows where the answer is unique, and the objectives of those that draw rows.
_WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
NOT_UNIQUE = {
    "GEM": "a class of one distinct row has no covariance",
    "SubclassGEM": "k-means starts from rows, and repeated ones are drawn otherwise",
    "VCA": "the null space has no unique basis",
    "SecondOrderLogistic": "of repeated rows others are held out",
    "StochasticLogistic": "of repeated rows others are held out and drawn",
    "DoublyStochasticLogistic": "of repeated rows others are drawn",
    "LabelEmbeddingClassifier": "of repeated rows others are held out and drawn",
    "VowpalWabbitOAA": "repeated rows come in another order",
}

#: Classes of metric-learn and umap-learn, whose keeping of the contract is not ours.
FOREIGN = {"eigenbench.methods.peers.metric_learners", "eigenbench.methods.peers.supervised_umap"}


def registered():
    """Yield every component of this package, in its variants, whose package is installed."""
    for name, component in COMPONENTS.items():
        if component.module.startswith("eigenbench.") and component.module not in FOREIGN:
            try:
                cls = component.load()
            except MissingExtraError:
                continue
            for params in VARIANTS.get(name, [{}]):
                yield cls(**params)


def expected_failures(estimator):
    name = type(estimator).__name__
    failures = {}
    if not getattr(estimator, "fit_intercept", True) and name != "CalibratedLeastSquares":
        failures["check_class_weight_classifiers"] = "no class is chosen everywhere without an intercept"
    unique = (name == "GEM" and estimator.denominator != "covariance") or (
        name in ("SecondOrderLogistic", "StochasticLogistic") and estimator.early_stopping is False
    )
    if name in NOT_UNIQUE and not unique:
        failures |= dict.fromkeys(_WEIGHTS, NOT_UNIQUE[name])
    return failures


ALL = [*registered(), *UNREGISTERED]


@pytest.mark.contract
@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_scikit_learns_checks(estimator):
    check_estimator(estimator, expected_failed_checks=expected_failures(estimator), on_skip=None)


def outcome(estimator, rows, y):
    """Return the probabilities of rows, or the inner products of their embeddings, which have no signs."""
    model = clone(estimator).fit(rows, y)
    for method in ("predict_proba", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(rows)
    embedded = model.transform(rows)
    products = embedded @ embedded.T
    return products.toarray() if sparse.issparse(products) else products


#: TablePreprocessor leaves sparse rows as they are.
TAKE_SPARSE = [
    estimator
    for estimator in ALL
    if get_tags(estimator).input_tags.sparse and type(estimator).__name__ != "TablePreprocessor"
]


@pytest.mark.contract
@pytest.mark.parametrize("estimator", TAKE_SPARSE, ids=str)
def test_sparse_single_precision_and_counted_rows_give_the_same(estimator):
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:240, X[:240].std(axis=0) > 0.1], y[:240]
    exact, own = {"random_state": 0, "cg_tol": 1e-12}, estimator.get_params()
    estimator = clone(estimator).set_params(**{name: exact[name] for name in exact if name in own})
    expected = outcome(estimator, X, y)
    for rows in (sparse.csr_array(X), X.astype(np.float32), X.astype(np.uint8)):
        found = outcome(estimator, rows, y)
        rtol = 1e-6 if rows.dtype == np.float64 else 1e-2
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol / 5 * np.abs(expected).max())


def test_every_variant_is_of_a_component():
    assert set(VARIANTS) <= set(COMPONENTS)


ARRAY_API = """
import array_api_strict, eigenbench, numpy as np, sklearn
from sklearn.datasets import load_iris
from eigenbench.bench.registry import COMPONENTS
X, y = load_iris(return_X_y=True)
tried = 0
with sklearn.config_context(array_api_dispatch=True):
    for name, component in COMPONENTS.items():
        if component.module.startswith("eigenbench.methods.") and ".peers." not in component.module:
            cls = component.load()
            model = cls().fit(array_api_strict.asarray(X), array_api_strict.asarray(y))
            rows = array_api_strict.asarray(X[:5])
            found = model.predict(rows) if hasattr(model, "predict") else model.transform(rows)
            assert isinstance(found, np.ndarray) and len(found) == 5, name
            tried += 1
    moments = eigenbench.ClassMoments().update(array_api_strict.asarray(X), array_api_strict.asarray(y))
    assert moments.counts.tolist() == [50, 50, 50]
print(tried)
"""


def test_arrays_of_other_libraries_are_taken_under_array_api_dispatch():
    pytest.importorskip("array_api_strict")
    command = [sys.executable, "-W", "ignore", "-c", ARRAY_API]
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 18
