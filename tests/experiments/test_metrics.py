import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.svm import LinearSVC

from eigenbench.experiments.metrics import score


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def test_scores_agree_with_scikit_learn(digits):
    X, y = digits
    model = LogisticRegression(max_iter=500).fit(X[:200], y[:200])
    scores = score(model, X, y, 10)
    assert scores.metrics["error"] == pytest.approx(1 - accuracy_score(y, model.predict(X)))
    assert scores.metrics["errors"] == np.count_nonzero(y != model.predict(X))
    assert scores.metrics["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X)))
    balanced = balanced_accuracy_score(y, model.predict(X))
    assert scores.metrics["balanced_error"] == pytest.approx(1 - balanced)
    assert scores.confusion.sum() == len(y)
    assert np.trace(scores.confusion) == len(y) - scores.metrics["errors"]


def test_a_class_that_was_never_seen_counts_as_an_error_with_finite_loss(digits):
    X, y = digits
    seen = y < 9
    model = LogisticRegression(max_iter=500).fit(X[seen], y[seen])
    scores = score(model, X, y, 10)
    assert scores.confusion[9, 9] == 0
    assert np.isfinite(scores.metrics["log_loss"])
    assert scores.metrics["errors"] >= np.count_nonzero(~seen)


def test_without_probabilities_there_is_no_log_loss(digits):
    X, y = digits
    scores = score(LinearSVC().fit(X[:300], y[:300]), X, y, 10)
    assert "log_loss" not in scores.metrics
    assert 0 < scores.metrics["error"] < 0.5


def test_more_classes_than_memory_has_room_for_in_square(digits):
    X, y = digits
    model = LogisticRegression(max_iter=500).fit(X, 300_000 + y)
    scores = score(model, X, 300_000 + y, 300_010)
    assert scores.confusion is None
    assert scores.metrics == pytest.approx(
        score(LogisticRegression(max_iter=500).fit(X, y), X, y, 10).metrics
    )
