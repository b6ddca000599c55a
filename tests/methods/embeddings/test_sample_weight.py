"""Weights of rows: whole ones are repetitions, and zero is absence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from eigenbench import (
    GEM,
    PLST,
    SIR,
    VCA,
    ClassMoments,
    CompressedSensing,
    ContractedGEM,
    OrientedPCA,
    Rembrandt,
    SubclassGEM,
)

#: Those of which scikit-learn's check of weights says nothing, or not in these settings.
MODELS = [
    GEM(top=2, denominator="covariance", pairs="nearest"),
    SubclassGEM(top=2, n_subclasses=1),
    OrientedPCA(3, noise_label="a"),
    VCA(),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, "sparse"])
@pytest.mark.parametrize("mean", [0, 1000])
def test_moments(weighted, dtype, mean):
    X, y, w, repeated, labels = weighted
    X, repeated = X + mean, repeated + mean
    if dtype == "sparse":
        X = sparse.csr_array(X)
    else:
        X, repeated = X.astype(dtype), repeated.astype(dtype)
    found = ClassMoments.of(X, y, sample_weight=w)
    exact = ClassMoments().update(repeated, labels)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert_array_equal(found.counts, exact.counts)
    assert_allclose(found.sums, exact.sums, rtol=1e-6 if dtype is np.float32 else 1e-12)
    tolerance = 3e-5 if dtype is np.float32 else 1e-9 * (1 + mean)
    for i in range(3):
        assert_allclose(found.covariance(i), exact.covariance(i), atol=tolerance * exact.covariance(i).max())


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_whole_weights_are_repeated_rows(weighted, model):
    X, y, w, repeated, labels = weighted
    found = model.fit(X, y, sample_weight=w).transform(X)
    assert_allclose(found, model.fit(repeated, labels).transform(X), rtol=1e-6, atol=1e-8)
    assert_allclose(model.fit(X, y, 0.25 * w).transform(X), found, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "model", [ContractedGEM(top=2), ContractedGEM(top=2, n_slices=3), SIR(2, n_slices=5)]
)
def test_whole_weights_are_repeated_rows_with_real_valued_targets(weighted, model):
    X, _, w, repeated, _ = weighted
    t = X[:, 0] ** 2 + X[:, 1]
    found = model.fit(X, t, sample_weight=w).transform(X)
    assert_allclose(found, model.fit(repeated, np.repeat(t, w)).transform(X), rtol=1e-6, atol=1e-8)
    assert_allclose(model.fit(X, t, 0.01 * w).transform(X), found, rtol=1e-6, atol=1e-8)


def test_weights_of_slices_are_checked_and_rows_of_weight_zero_say_nothing_of_the_target(weighted):
    X, *_ = weighted
    t = (X[:, 0] > 0) + (X[:, 1] > 0).astype(float)
    with pytest.raises(ValueError, match=r"inconsistent|shape"):
        SIR(2).fit(X, X[:, 0], sample_weight=np.ones(len(X) - 1))
    number = SIR(2).fit(X, X[:, 0], sample_weight=2.0)
    assert_allclose(number.eigenvalues_, SIR(2).fit(X, X[:, 0]).eigenvalues_)
    t[0], w = 0.5, np.ones(len(X))
    w[0] = 0
    assert_allclose(SIR(2).fit(X, t, w).eigenvalues_, SIR(2).fit(X[1:], t[1:]).eigenvalues_)


@pytest.mark.parametrize("labels", ["classes", "several", "real"])
@pytest.mark.parametrize(
    "model",
    [
        Rembrandt(2, random_state=0),
        Rembrandt(2, solver="cg", cg_tol=1e-12, fit_intercept=False, random_state=0),
        PLST(2, random_state=0),
        CompressedSensing(2, solver="cg", cg_tol=1e-12, random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["dense", "large mean", "sparse"])
def test_whole_weights_are_repeated_rows_with_labels(weighted, model, labels, form):
    X, y, w, *_ = weighted
    Y = (y[:, None] == np.array(list("abcd"))) | (X[:, :4] > 1)
    Y = {"classes": y, "several": Y.astype(int), "real": X[:, :3] ** 2}[labels]
    X = {"dense": X, "large mean": X + 1000, "sparse": sparse.csr_array(X)}[form]
    rows = np.repeat(np.arange(len(y)), w)
    exact = clone(model).fit(X[rows], Y[rows])
    found = clone(model).fit(X, Y, sample_weight=w)
    assert_array_equal(found.classes_, exact.classes_)
    tolerance = 1e-4 if form == "large mean" else 1e-7
    assert_allclose(found.transform(X), exact.transform(X), atol=tolerance)
    assert_allclose(clone(model).fit(X, Y, 0.25 * w).transform(X), exact.transform(X), atol=tolerance)


def test_a_block_without_weight_adds_nothing(weighted):
    X, y, w, *_ = weighted
    found = ClassMoments().update(X, y, w).update(X + 1, y, np.zeros(len(y)))
    assert_array_equal(found.second_moments, ClassMoments().update(X, y, w).second_moments)
