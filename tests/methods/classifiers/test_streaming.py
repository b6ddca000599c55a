"""Streaming classifiers: scikit-learn's contract, feature maps, blocks and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import eigenbench.methods.linalg.row_blocks as row_blocks
from eigenbench import GEM, CalibratedLeastSquares, SecondOrderLogistic, SignedPowers, StochasticLogistic
from eigenbench.methods.classifiers.streamed import hold_out

CLASSIFIERS = [
    CalibratedLeastSquares(n_rounds=3),
    SecondOrderLogistic(1.0, max_iter=15, random_state=0),
    StochasticLogistic(few_rows=0, random_state=0),
]


@pytest.fixture(params=CLASSIFIERS, ids=lambda classifier: type(classifier).__name__)
def classifier(request):
    return clone(request.param)


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut rows every 100."""
    slices = [slice(i, i + 100) for i in range(0, 1200, 100)]
    monkeypatch.setattr(row_blocks, "row_slices", lambda n, *_: [s for s in slices if s.start < n])


@pytest.mark.parametrize("cache_size", [0, 2.0, 1000])
def test_streaming_equals_features_in_memory(classifier, digits, small_blocks, cache_size):
    X, y, V = digits[0][:600], digits[1][:600], digits[2]
    feature_map = make_pipeline(GEM(top=1), SignedPowers(powers=(0.5, 1))).fit(X, y)
    streamed = (
        clone(classifier)
        .set_params(feature_map=FrozenEstimator(feature_map), cache_size=cache_size)
        .fit(X, y)
    )
    in_memory = clone(classifier).fit(feature_map.transform(X), y)
    assert_allclose(streamed.predict_proba(V), in_memory.predict_proba(feature_map.transform(V)), atol=1e-8)


def test_a_map_is_cloned_and_fitted_to_rows_that_are_not_held_out(classifier, digits):
    X, y, V, v = digits
    feature_map = GEM(top=1)
    model = classifier.set_params(feature_map=feature_map).fit(X, y)
    kept = np.full(len(y), True)
    if not isinstance(classifier, CalibratedLeastSquares):
        kept = ~hold_out(y, 0.1, np.random.RandomState(0))
    assert not hasattr(feature_map, "detectors_")
    assert_array_equal(model.feature_map_.detectors_, feature_map.fit(X[kept], y[kept]).detectors_)
    assert model.score(V, v) > 0.85


def test_progress_is_logged(classifier, digits, caplog):
    X, y, _, _ = digits
    with caplog.at_level("INFO", logger="eigenbench"):
        classifier.fit(X, y)
    assert any("Gram matrix" in line for line in caplog.messages)
    assert any(step in line for line in caplog.messages for step in ("round 3/3", "iteration 5", "epoch 5/"))
