"""Weights of rows in classifiers: whole ones are repetitions, zero is absence; they reach nested parts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eigenbench import (
    GEM,
    CalibratedLeastSquares,
    DoublyStochasticLogistic,
    GeometricMeanEnsemble,
    LabelEmbeddingClassifier,
    SecondOrderLogistic,
    SignedPowers,
    StochasticLogistic,
)
from eigenbench.methods.classifiers import second_order_logistic
from eigenbench.methods.peers.one_vs_rest import OneVsRestLogistic

MAP = make_pipeline(StandardScaler(), GEM(top=1), SignedPowers())
EXACT = [
    CalibratedLeastSquares(10.0, feature_map=MAP),
    CalibratedLeastSquares(10.0, class_weight="balanced"),
    SecondOrderLogistic(1.0, early_stopping=False, feature_map=GEM(top=1), class_weight={"a": 2.5}),
    GeometricMeanEnsemble(SecondOrderLogistic(1.0, early_stopping=False), n_estimators=2, random_state=0),
    GeometricMeanEnsemble(make_pipeline(MAP, LogisticRegression()), n_estimators=2, random_state=0),
]


@pytest.mark.parametrize("form", [np.float64, np.float32, "sparse"])
@pytest.mark.parametrize("model", EXACT, ids=str)
def test_whole_weights_are_repeated_rows(weighted, model, form):
    X, y, w, repeated, labels = weighted
    if form == "sparse":
        if any("scaler" in name for name in model.get_params()):
            pytest.skip("rows are centred")
        X, repeated = sparse.csr_array(X), sparse.csr_array(repeated)
    else:
        X, repeated = X.astype(form), repeated.astype(form)
    found = clone(model).fit(X, y, sample_weight=w)
    assert found.classes_.tolist() == ["a", "b", "c"]
    expected = clone(model).fit(repeated, labels).predict_proba(X)
    assert_allclose(found.predict_proba(X), expected, atol=5e-3 if form is np.float32 else 1e-7)


def test_the_sample_of_the_preconditioner_is_weighted(weighted, monkeypatch):
    monkeypatch.setattr(second_order_logistic, "SAMPLE_ROWS", 100)
    X, y, w, repeated, labels = weighted
    model = SecondOrderLogistic(1.0, early_stopping=False, tol=1e-14, random_state=0)
    found = model.fit(X, y, w).predict_proba(X)
    assert_allclose(found, model.fit(repeated, labels).predict_proba(X), atol=1e-5)
    theirs = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y, w).predict_proba(X)
    assert_allclose(found, theirs[:, :3], atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        SecondOrderLogistic(random_state=0),
        StochasticLogistic(100, learning_rate=0.02, early_stopping=False, random_state=0),
        StochasticLogistic(100, few_rows=0, random_state=0),
        LabelEmbeddingClassifier(PCA(), early_stopping=False, max_iter=100, random_state=0),
    ],
    ids=str,
)
def test_those_that_draw_rows_have_the_objective_of_repeated_rows(weighted, model):
    """Of noisy labels, weights of 20 for one class move the model to where the exact weighted optimum is."""
    X, y, _, _, _ = weighted
    rng = np.random.RandomState(1)
    y = np.where(rng.rand(len(y)) < 0.4, rng.permutation(y), y)
    w = np.where(y == "a", 20, 1)
    exact = LogisticRegression(C=10, max_iter=1000).fit(X, y, w).predict_proba(X)[:, 0]
    plain = clone(model).fit(X, y).predict_proba(X)[:, 0]
    found = clone(model).fit(X, y, w).predict_proba(X)[:, 0]
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict_proba(X)[:, 0]
    assert exact.mean() > plain.mean() + 0.3
    assert abs(found.mean() - exact.mean()) < 0.06
    assert abs(repeated.mean() - exact.mean()) < 0.06
    if not isinstance(model, SecondOrderLogistic):
        assert_allclose(clone(model).fit(X, y, 8 * w).predict_proba(X)[:, 0], found, atol=2e-2)


def test_labels_of_rows_without_weight_are_not_seen(weighted):
    X, y, w, _, _ = weighted
    Y = (np.array(list("abcd")) == y[:, None]).astype(int)
    spoilt = np.where(w[:, None] > 0, Y, 1 - Y)
    model = LabelEmbeddingClassifier(max_iter=3, random_state=0)
    expected = model.fit(X, Y, w).predict_proba(X)
    assert_array_equal(model.fit(X, spoilt, w).predict_proba(X), expected)
    assert model.classes_.tolist() == [0, 1, 2, 3]


def test_class_weights_multiply_those_of_rows(weighted):
    X, y, w, _, _ = weighted
    factor = np.where(y == "b", 3.0, 1.0)
    for model in (
        CalibratedLeastSquares(),
        SecondOrderLogistic(random_state=0),
        StochasticLogistic(5, few_rows=0, random_state=0),
        LabelEmbeddingClassifier(random_state=0),
        DoublyStochasticLogistic(n_components=64, block_size=32, max_iter=2, random_state=0),
        LabelEmbeddingClassifier(PCA(), max_iter=3, random_state=0),
        OneVsRestLogistic(),
    ):
        expected = clone(model).fit(X, y, w * factor).predict_proba(X)
        found = clone(model).set_params(class_weight={"b": 3.0}).fit(X, y, w).predict_proba(X)
        assert_allclose(found, expected, atol=1e-9)


def test_a_supervised_embedding_gets_the_weights_of_rows_and_not_those_of_classes(weighted):
    X, y, w, _, _ = weighted
    plain, by_class = (
        LabelEmbeddingClassifier(GEM(top=1), class_weight=weights, max_iter=1, random_state=0).fit(X, y, w)
        for weights in (None, "balanced")
    )
    assert_array_equal(plain.embedding_.transform(X), by_class.embedding_.transform(X))
    assert (plain.coef_ != by_class.coef_).any()


@pytest.mark.parametrize("model", [LabelEmbeddingClassifier(), OneVsRestLogistic()], ids=str)
def test_class_weights_of_an_indicator_matrix_are_refused(weighted, model):
    X, y, _, _, _ = weighted
    Y = (np.array(list("abcd")) == y[:, None]).astype(int)
    with pytest.raises(ValueError, match="class_weight is for one label a row"):
        clone(model).set_params(class_weight="balanced").fit(X, Y)


def test_a_batch_of_a_stream_has_weights(weighted):
    X, y, w, repeated, labels = weighted
    options = {"n_components": 64, "block_size": 64, "batch_size": 10**4, "alpha": 0.0, "random_state": 0}
    gamma = RBFSampler(gamma=0.05)
    weights = w * len(X) / len(repeated)
    first = DoublyStochasticLogistic(gamma, **options).partial_fit(X, y, list("abcd"), 7 * w)
    second = DoublyStochasticLogistic(gamma, **options).partial_fit(repeated, labels, list("abcd"))
    third = DoublyStochasticLogistic(gamma, **options).partial_fit(X, y, list("abcd"), weights)
    assert_allclose(third.predict_proba(X), second.predict_proba(X), atol=1e-9)
    assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=1e-9)


def test_a_frozen_map_stays_as_it_is(weighted):
    X, y, w, _, _ = weighted
    model = CalibratedLeastSquares(feature_map=FrozenEstimator(GEM(top=1).fit(X, y)))
    assert model.fit(X, y, w).feature_map_.transform(X).shape == (240, 12)


def test_weights_are_routed(weighted):
    X, y, w, _, _ = weighted
    with config_context(enable_metadata_routing=True):
        asked = GEM(top=1).set_fit_request(sample_weight=True)
        refused = GEM(top=1).set_fit_request(sample_weight=False)
        model = make_pipeline(asked, CalibratedLeastSquares().set_fit_request(sample_weight=True))
        model.fit(X, y, sample_weight=w)
        inner = {
            request: CalibratedLeastSquares(feature_map=gem)
            .set_fit_request(sample_weight=True)
            .fit(X, y, sample_weight=w)
            for request, gem in (("asked", asked), ("refused", refused))
        }
        ensemble = GeometricMeanEnsemble(model, n_estimators=1).fit(X, y, sample_weight=w)
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            CalibratedLeastSquares(feature_map=GEM(top=1)).fit(X, y, sample_weight=w)
    detectors = GEM(top=1).fit(X, y, w).detectors_
    assert_array_equal(model[0].detectors_, detectors)
    assert_array_equal(inner["asked"].feature_map_.detectors_, detectors)
    counted = w > 0
    assert_array_equal(
        inner["refused"].feature_map_.detectors_, GEM(top=1).fit(X[counted], y[counted]).detectors_
    )
    assert_allclose(ensemble.estimators_[0].predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert_allclose(
        inner["asked"].predict_proba(X),
        CalibratedLeastSquares(feature_map=GEM(top=1)).fit(X, y, w).predict_proba(X),
    )


def test_bad_weights_are_named(weighted):
    X, y, w, _, _ = weighted
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        CalibratedLeastSquares().fit(X, y, -w)
    with pytest.raises(ValueError, match="zero"):
        SecondOrderLogistic().fit(X, y, 0 * w)
    with pytest.raises(TypeError, match="takes no weights"):
        GeometricMeanEnsemble(make_pipeline(SignedPowers(), NoWeights())).fit(X, y, w)
    with pytest.raises(ValueError, match="one class only"):
        CalibratedLeastSquares().fit(X, y, y == "a")


class NoWeights(LogisticRegression):
    def fit(self, X, y):
        return super().fit(X, y)
