"""Skipped without the extra ``peers``."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed: pip install 'eigenbench[peers]'")

from eigenbench.methods.peers.vowpal_wabbit import VowpalWabbitLOMTree, VowpalWabbitOAA

pytestmark = pytest.mark.workflow

LEARNERS = [VowpalWabbitOAA(random_state=0), VowpalWabbitLOMTree(random_state=0)]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, np.array(list("abcdefghij"))[y], random_state=0)


@pytest.mark.parametrize(("learner", "error"), [(LEARNERS[0], 0.1), (LEARNERS[1], 0.25)])
def test_it_learns_from_dense_and_sparse_rows_alike(digits, learner, error):
    X_train, X_test, y_train, y_test = digits
    dense = learner.fit(X_train, y_train)
    assert dense.score(X_test, y_test) > 1 - error
    predicted = dense.predict(X_test)
    sparse = learner.fit(csr_array(X_train), y_train).predict(csr_array(X_test))
    np.testing.assert_array_equal(sparse, predicted)


def test_more_nodes_separate_more(digits):
    X_train, X_test, y_train, y_test = digits

    def error(**settings):
        tree = VowpalWabbitLOMTree(n_passes=20, random_state=0, **settings).fit(X_train, y_train)
        return 1 - tree.score(X_test, y_test)

    assert error(nodes_per_class=32) < error() - 0.02


def test_nothing_is_left_in_the_temporary_folder(digits, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X_train, X_test, y_train, _ = digits
    VowpalWabbitOAA().fit(X_train, y_train).predict(X_test)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "default", "other"),
    [
        (VowpalWabbitOAA, {"loss": "squared"}, {"loss": "logistic"}),
        (VowpalWabbitLOMTree, {"loss": "squared"}, {"loss": "logistic"}),
        (VowpalWabbitLOMTree, {"swap_resistance": 4}, {"swap_resistance": 10**6}),
    ],
)
def test_settings_reach_the_learner(digits, kind, default, other):
    X_train, X_test, y_train, _ = digits
    plain, same, changed = (
        kind(random_state=0, **settings).fit(X_train, y_train).predict(X_test)
        for settings in ({}, default, other)
    )
    np.testing.assert_array_equal(plain, same)
    assert (plain != changed).any()


def test_weights_move_noisy_labels_and_class_weights_multiply_them(digits):
    learner = VowpalWabbitOAA(random_state=0)
    X_train, X_test, y_train, _ = digits
    rng = np.random.RandomState(0)
    noisy = np.where(rng.rand(len(y_train)) < 0.5, rng.permutation(y_train), y_train)
    w = np.where(noisy == "d", 10.0, 1.0)
    plain, weighed = (clone(learner).fit(X_train, noisy, v).predict(X_test) for v in (None, w))
    assert (weighed == "d").mean() > (plain == "d").mean() + 0.1
    by_class = clone(learner).set_params(class_weight={"d": 10.0}).fit(X_train, noisy).predict(X_test)
    np.testing.assert_array_equal(by_class, weighed)


def test_rows_without_weight_are_absent(digits):
    X_train, X_test, y_train, _ = digits
    w = (y_train != "d").astype(int)
    found = VowpalWabbitOAA(random_state=0).fit(X_train, y_train, w)
    assert "d" not in found.classes_
    expected = VowpalWabbitOAA(random_state=0).fit(X_train[w > 0], y_train[w > 0]).predict(X_test)
    np.testing.assert_array_equal(found.predict(X_test), expected)
