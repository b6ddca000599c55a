"""Skipped without the extra ``peers``."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_multilabel_classification

pytest.importorskip("napkinxc", reason="napkinxc is not installed: pip install 'eigenbench[peers]'")

from eigenbench.methods.model_file import load_model, save_model
from eigenbench.methods.peers.napkinxc_plt import NapkinXCPLT


@pytest.fixture(scope="module")
def problem():
    X, Y = make_multilabel_classification(600, 30, n_classes=12, random_state=0)
    return csr_array(X, dtype=np.float32), csr_array(Y, dtype=np.uint8)


def test_the_best_labels_have_falling_probabilities_and_are_true_more_often_than_not(problem):
    X, Y = problem
    labels, probabilities = NapkinXCPLT(random_state=0).fit(X[:500], Y[:500]).predict_top_k(X[500:], 5)
    assert (np.diff(probabilities, axis=1) <= 0).all()
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    truth = Y[500:].toarray()
    assert truth[np.arange(100), labels[:, 0]].mean() > 1.5 * truth.mean()


def test_decisions_are_the_labels_above_a_half(problem):
    X, Y = problem
    model = NapkinXCPLT(random_state=0).fit(X, Y)
    labels, probabilities = model.predict_top_k(X, 12)
    dense = np.zeros(Y.shape)
    np.put_along_axis(dense, labels, probabilities, axis=1)
    np.testing.assert_array_equal(model.predict(X).toarray(), dense > 0.5)


def test_a_model_file_is_read_again(problem, tmp_path):
    X, Y = problem
    model = NapkinXCPLT(random_state=0).fit(X, Y)
    save_model(tmp_path / "model.skops", model)
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(X).toarray(), model.predict(X).toarray())


def test_a_model_whose_files_would_lie_elsewhere_is_refused(problem, tmp_path):
    X, Y = problem
    model = NapkinXCPLT(random_state=0).fit(X, Y)
    model.model_files_["../outside"] = model.model_files_["args.bin"]
    with pytest.raises(ValueError, match="points outside its folder"):
        model.predict_top_k(X, 3)


def test_fewer_labels_than_asked_for_are_filled_up(problem):
    X, Y = problem
    labels, probabilities = NapkinXCPLT(random_state=0).fit(X, Y).predict_top_k(X[:3], 20)
    assert (labels[:, 12:] == -1).all()
    assert (probabilities[:, 12:] == 0).all()
