"""Skipped without the extra ``peers``."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is not installed: pip install 'eigenbench[peers]'")

from eigenbench.peers.vowpal_wabbit import VowpalWabbitLOMTree, VowpalWabbitOAA

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


def test_a_tree_that_never_moves_a_leaf_is_another_one(digits):
    X_train, X_test, y_train, _ = digits
    fixed, moving = (
        VowpalWabbitLOMTree(swap_resistance=resistance, random_state=0).fit(X_train, y_train).predict(X_test)
        for resistance in (10**6, 1)
    )
    assert (fixed != moving).any()


def test_a_saved_model_predicts_the_same(digits):
    X_train, X_test, y_train, _ = digits
    learner = VowpalWabbitOAA(random_state=0).fit(X_train, y_train)
    again = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(again.predict(X_test), learner.predict(X_test))


def test_nothing_is_left_in_the_temporary_folder(digits, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X_train, X_test, y_train, _ = digits
    VowpalWabbitOAA().fit(X_train, y_train).predict(X_test)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [VowpalWabbitOAA, VowpalWabbitLOMTree])
def test_the_loss_reaches_the_learner_and_is_squared_by_default(digits, kind):
    X_train, X_test, y_train, _ = digits
    default, squared, logistic = (
        kind(random_state=0, **loss).fit(X_train, y_train).predict(X_test)
        for loss in ({}, {"loss": "squared"}, {"loss": "logistic"})
    )
    np.testing.assert_array_equal(default, squared)
    assert (squared != logistic).any()


def test_an_unknown_loss_is_refused_before_anything_is_written(digits, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ValueError, match="'loss' parameter"):
        VowpalWabbitOAA(loss="absolute").fit(*digits[::2])
    assert list(tmp_path.iterdir()) == []
