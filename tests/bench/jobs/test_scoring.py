import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    confusion_matrix,
    log_loss,
)
from sklearn.svm import LinearSVC

from eigenbench.bench.jobs.job_context import finite_metrics
from eigenbench.bench.jobs.scoring import MOST_CONFUSION_CLASSES, score_classes
from eigenbench.methods.metrics.multilabel import score_multilabel

X, y = load_digits(return_X_y=True)
X = X / 16


@pytest.fixture(scope="module")
def model():
    return LogisticRegression(max_iter=500).fit(X[:300], y[:300])


def test_scores_agree_with_scikit_learn(model):
    scores = score_classes(model, X, y, 10)
    assert scores.metrics["error"] == pytest.approx(1 - accuracy_score(y, model.predict(X)))
    assert scores.metrics["errors"] == np.count_nonzero(y != model.predict(X))
    assert scores.metrics["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X)))
    assert scores.metrics["brier"] == pytest.approx(brier_score_loss(y, model.predict_proba(X)))
    balanced = balanced_accuracy_score(y, model.predict(X))
    assert scores.metrics["balanced_error"] == pytest.approx(1 - balanced)
    np.testing.assert_array_equal(scores.confusion, confusion_matrix(y, model.predict(X)))
    assert score_classes(model, X, y, MOST_CONFUSION_CLASSES).confusion is not None
    assert score_classes(model, X, y, MOST_CONFUSION_CLASSES + 1).confusion is None


def test_the_brier_score_of_two_classes_is_halved():
    odd = y % 2
    model = LogisticRegression(max_iter=50).fit(X[:200], odd[:200])
    expected = brier_score_loss(odd, model.predict_proba(X)[:, 1])
    assert score_classes(model, X, odd, 2).metrics["brier"] == pytest.approx(expected)


def test_the_predictions_kept_give_the_metrics_again(model):
    scores = score_classes(model, X, y, 10)
    np.testing.assert_array_equal(scores.predictions["predicted"], model.predict(X))
    of_truth = model.predict_proba(X)[np.arange(len(y)), y]
    np.testing.assert_allclose(scores.predictions["probability"], of_truth, rtol=1e-6)
    kept_loss = -np.log(scores.predictions["probability"].astype(float)).mean()
    assert scores.metrics["log_loss"] == pytest.approx(kept_loss, rel=1e-5)


def test_a_class_that_was_never_seen_counts_as_an_error_with_finite_loss():
    seen = y < 9
    model = LogisticRegression(max_iter=500).fit(X[seen], y[seen])
    scores = score_classes(model, X, y, 10)
    assert scores.confusion[9, 9] == 0
    assert np.isfinite(scores.metrics["log_loss"])
    assert scores.metrics["errors"] >= np.count_nonzero(~seen)
    assert not scores.predictions["probability"][~seen].any()


def test_without_probabilities_there_is_no_log_loss_or_brier_score():
    scores = score_classes(LinearSVC().fit(X[:300], y[:300]), X, y, 10)
    assert {"log_loss", "brier", "calibration_error"}.isdisjoint(scores.metrics)
    assert set(scores.predictions) == {"truth", "predicted"}
    assert 0 < scores.metrics["error"] < 0.5


def test_a_class_that_does_not_occur_is_left_out_of_the_balanced_error(model):
    rows = y < 5
    expected = 1 - np.mean([np.mean(model.predict(X[y == label]) == label) for label in range(5)])
    assert score_classes(model, X[rows], y[rows], 10).metrics["balanced_error"] == pytest.approx(expected)


def test_more_classes_than_memory_has_room_for_in_square(model):
    far = LogisticRegression(max_iter=500).fit(X[:300], 300_000 + y[:300])
    scores = score_classes(far, X, 300_000 + y, 300_010)
    assert scores.confusion is None
    assert scores.metrics == pytest.approx(score_classes(model, X, y, 10).metrics)
    np.testing.assert_array_equal(scores.predictions["predicted"], far.predict(X))


class Fixed:
    """A classifier that gives what it was made with, whatever the rows."""

    classes_ = np.arange(3)

    def __init__(self, predictions=None, probabilities=None, depth=None):
        if predictions is not None:
            self.predict = lambda X: np.asarray(predictions)[X.ravel()]
        if probabilities is not None:
            self.predict_proba = lambda X: np.asarray(probabilities)[X.ravel()]
        if depth is not None:
            self.predict_top_k = lambda X, k: (
                np.tile(np.arange(k), (len(X), 1)),
                np.asarray(depth)[X.ravel()],
            )


ROWS = np.arange(3)[:, None]


@pytest.mark.parametrize("wrong", [np.nan, 2.7, -1, 300])
def test_predictions_that_are_no_class_are_refused_with_their_row(wrong):
    with pytest.raises(ValueError, match=rf"row 1: predicted .*{wrong}.*, which is no class"):
        score_classes(Fixed([0, wrong, 2]), ROWS, np.arange(3), 3)


@pytest.mark.parametrize(
    "wrong", [[np.nan, 0.5, 0.5], [np.inf, 0, 0], [-0.5, 1, 0.5], [0.5, 0.2, 0.2], [2, 0, 0]]
)
def test_probabilities_that_are_none_are_refused_with_their_row(wrong):
    good = [[1, 0, 0], [0.2, 0.3, 0.5], wrong]
    with pytest.raises(ValueError, match="row 2: the classifier gave probabilities"):
        score_classes(Fixed(probabilities=good), ROWS, np.arange(3), 3)
    exact = score_classes(Fixed(probabilities=[*good[:2], [-1e-7, 0.5, 0.5]]), ROWS, np.arange(3), 3)
    assert exact.metrics["errors"] == 2


@pytest.mark.parametrize(
    "model",
    [
        Fixed([[0], [1], [2]]),
        Fixed(probabilities=np.full((3, 4), 0.25)),
        type("One", (), {"predict": lambda self, X: np.array([0])})(),
    ],
)
def test_arrays_of_another_shape_are_refused(model):
    with pytest.raises(ValueError, match="the classifier gave an array of shape"):
        score_classes(model, ROWS, np.arange(3), 3)


@pytest.mark.parametrize(
    "model",
    [
        Fixed(probabilities=[[0.1, 0.2], [0.3, np.nan], [0.5, 0.5]]),
        Fixed(probabilities=[[0.1, 0.2], [0.3, 1.7], [0.5, 0.5]]),
        Fixed(depth=[[0.2, 0.1], [np.nan, np.nan], [0.5, 0.5]]),
    ],
)
def test_scores_of_labels_that_are_none_are_refused_with_their_row(model):
    with pytest.raises(ValueError, match="row 1: the classifier gave a"):
        score_multilabel(model, ROWS, csr_array(np.eye(3, 2, dtype=np.int8)), inverse_propensities=np.ones(2))


def test_metrics_become_plain_numbers_and_have_to_be_finite():
    found = finite_metrics({"a": np.float32(0.5), "b": np.int64(3)})
    assert found == {"a": 0.5, "b": 3.0}
    assert {type(value) for value in found.values()} == {float}
    with pytest.raises(ValueError, match="the metric 'b' is nan"):
        finite_metrics({"a": 1.0, "b": np.nan})
