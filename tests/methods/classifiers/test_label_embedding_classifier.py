"""LabelEmbeddingClassifier: decoding, early stopping without leaks, thresholds and predictions in blocks."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, log_softmax
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.multiclass import OneVsRestClassifier

from eigenbench import LabelEmbeddingClassifier, RandomFourierFeatures, Rembrandt, SecondOrderLogistic
from eigenbench.methods.classifiers.label_decoder import LabelDecoder
from eigenbench.methods.classifiers.logistic_decoder import (
    Descended,
    Targets,
    adam_step,
    independent_loss,
    multinomial_loss,
)
from eigenbench.methods.classifiers.many_labels import choose_threshold
from eigenbench.methods.classifiers.score_calibration import fit_temperature
from eigenbench.methods.linalg.ridge_system import RidgeSystem
from eigenbench.methods.linalg.row_blocks import class_indicators


@pytest.fixture(scope="module")
def multilabel():
    X, Y = make_multilabel_classification(800, 30, n_classes=12, random_state=0)
    return X[:600], Y[:600], X[600:], Y[600:]


class RecordingEmbedding(TransformerMixin, BaseEstimator):
    """Standardises, and notes every pair of data and labels that any clone was fitted to."""

    seen: list = []

    def fit(self, X, Y):
        self.seen.append((np.asarray(X).copy(), np.asarray(Y).copy()))
        self.scale_ = np.asarray(X).std(axis=0) + 1e-9
        return self

    def transform(self, X):
        return X / self.scale_


def test_decoder_reaches_the_optimum_of_scikit_learn():
    rng = np.random.RandomState(0)
    X = rng.randn(1500, 10) @ np.diag(np.logspace(-2, 2, 10))
    y = (rng.randn(1500, 4) * 0.7 + X @ np.diag(np.logspace(2, -2, 10)) @ rng.randn(10, 4)).argmax(axis=1)
    mine = LabelEmbeddingClassifier(PCA(whiten=True), max_iter=60, early_stopping=False, random_state=0)
    theirs = LogisticRegression(C=np.inf)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    mine.fit(X, y)
    theirs.fit(Z, y)
    loss, best = (
        -log_softmax(logits, axis=1)[np.arange(len(y)), y].mean()
        for logits in (mine.decision_function(X), theirs.decision_function(Z))
    )
    assert 0.1 < best < loss + 1e-6 < 1.02 * best
    assert np.mean(mine.predict(X) == theirs.predict(Z)) > 0.98


def test_independent_decoder_reaches_the_optimum_of_scikit_learn(multilabel):
    X, Y, _, _ = multilabel
    mine = LabelEmbeddingClassifier(PCA(), max_iter=100, early_stopping=False, random_state=0).fit(X, Y)
    for j in range(3):
        theirs = LogisticRegression(C=1e4, max_iter=5000).fit(X, Y[:, j])
        loss, best = (
            np.logaddexp(0, logits).mean() - (logits * Y[:, j]).mean()
            for logits in (mine.decision_function(X)[:, j], theirs.decision_function(X))
        )
        assert best < loss < 1.05 * best + 0.01


@pytest.mark.parametrize("multi", [False, True])
def test_labels_held_out_never_reach_the_embedding_or_the_map(multi, digits):
    X, y, _, _ = digits
    Y = np.eye(10, dtype=int)[y] if multi else y
    RecordingEmbedding.seen.clear()
    options = {"max_iter": 2, "learning_rate": 0.03, "validation_fraction": 0.2, "random_state": 0}
    LabelEmbeddingClassifier(RecordingEmbedding(), **options).fit(X, Y)
    (part, part_labels), (whole, whole_labels) = RecordingEmbedding.seen
    assert len(part) == len(part_labels) == pytest.approx(0.8 * len(X), abs=10)
    assert_array_equal(whole, X)
    assert_array_equal(whole_labels, Y)
    fitted_on = {row.tobytes() for row in part}
    held_out = np.array([row.tobytes() not in fitted_on for row in X])
    assert held_out.sum() > 200
    if not multi:  # other labels would draw other strata
        return
    scrambled = Y.copy()
    scrambled[held_out] = np.roll(Y[held_out], 1, axis=1)
    true, false = (
        LabelEmbeddingClassifier(Rembrandt(5), refit=False, **options).fit(X, labels)
        for labels in (Y, scrambled)
    )
    assert_array_equal(true.embedding_.coef_, false.embedding_.coef_)
    assert not hasattr(true.embedding_, "embedding_")
    assert_array_equal(true.loss_curve_, false.loss_curve_)
    assert np.all(true.validation_curve_ < false.validation_curve_)


def test_early_stopping_keeps_the_best_epoch_and_refits_for_as_long():
    rng = np.random.RandomState(0)
    X = rng.randn(300, 60)
    y = (X[:, 0] + 2 * rng.randn(300) > 0).astype(int)
    options = {"n_iter_no_change": 3, "validation_fraction": 0.3, "random_state": 0, "batch_size": 16}
    model = LabelEmbeddingClassifier(PCA(), refit=False, **options).fit(X, y)
    assert model.n_iter_ == model.validation_curve_.argmin() + 1
    assert len(model.loss_curve_) == model.n_iter_ + 3 < 30
    refitted = LabelEmbeddingClassifier(PCA(), **options).fit(X, y)
    assert refitted.n_iter_ == model.n_iter_
    assert_array_equal(refitted.validation_curve_, model.validation_curve_)
    assert not np.array_equal(refitted.coef_, model.coef_)


def test_the_held_out_loss_is_that_of_the_kept_weights(digits):
    X, y, _, _ = digits
    RecordingEmbedding.seen.clear()
    model = LabelEmbeddingClassifier(RecordingEmbedding(), refit=False, max_iter=5, random_state=0).fit(X, y)
    fitted_on = {row.tobytes() for row in RecordingEmbedding.seen[0][0]}
    held_out = np.array([row.tobytes() not in fitted_on for row in X])
    logits = model.decision_function(X[held_out]).astype(float)
    logits *= model.temperature_
    loss = -log_softmax(logits, axis=1)[np.arange(held_out.sum()), y[held_out]].mean()
    assert_allclose(model.validation_curve_.min(), loss, rtol=1e-4)
    assert_allclose(model.temperature_, fit_temperature(logits, y[held_out]), rtol=0.02)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_few_rows_of_few_classes_are_decoded_as_they_are(digits, n_classes):
    X, y, V, _ = digits
    y = y % n_classes
    model = LabelEmbeddingClassifier(random_state=0).fit(sparse.csr_array(X), y)
    full = SecondOrderLogistic(random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(V), full.predict_proba(V), atol=1e-5)
    assert model.embedding_ is None
    for parameters in ({"few_rows": len(X) - 1}, {"embedding": PCA(2)}):
        other = LabelEmbeddingClassifier(max_iter=1, **parameters).fit(X, y)
        assert other.embedding_ is not None


def test_no_probability_of_a_class_is_zero(digits):
    X, y, V, _ = digits
    model = LabelEmbeddingClassifier(random_state=0, max_iter=5).fit(X, y)
    assert model.predict_proba(1e3 * V).min() > 0


def test_a_frozen_embedding_is_used_as_it_is(digits):
    X, y, V, v = digits
    fitted = Rembrandt(9, random_state=0).fit(X[:600], y[:600])
    model = LabelEmbeddingClassifier(FrozenEstimator(fitted), max_iter=10, random_state=0).fit(X, y)
    assert_array_equal(model.embedding_.transform(V), fitted.transform(V))
    assert model.score(V, v) > 0.85


def test_top_k_is_the_start_of_a_full_sort(digits, multilabel):
    X, y, V, _ = digits
    model = LabelEmbeddingClassifier(max_iter=3, random_state=0).fit(X, np.array(list("abcdefghij"))[y])
    probabilities = model.predict_proba(V)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    for k in (1, 3, 10):
        labels, scores = model.predict_top_k(V, k)
        assert_array_equal(labels, model.classes_[order[:, :k]])
        assert_array_equal(scores, np.take_along_axis(probabilities, order[:, :k], axis=1))
    assert_array_equal(labels[:, 0], model.predict(V))
    X, Y, V, _ = multilabel
    model = LabelEmbeddingClassifier(max_iter=3, random_state=0).fit(X, Y)
    labels, scores = model.predict_top_k(V, 5)
    assert_allclose(scores, -np.sort(-expit(model.decision_function(V)), axis=1)[:, :5], atol=1e-6)
    for k in (0, 13):
        with pytest.raises(ValueError, match=f"k={k} is not between 1 and the number of labels, 12"):
            model.predict_top_k(V, k)


def test_predictions_in_blocks_need_little_memory():
    n, d, c = 20_000, 4, 1_000
    rng = np.random.RandomState(0)
    X = rng.randn(n, d).astype(np.float32)
    y = np.arange(n) % c
    model = LabelEmbeddingClassifier(PCA(2), max_iter=1, early_stopping=False, random_state=0)
    model.fit(X[:2000], y[:2000])
    tracemalloc.start()
    try:
        labels, _ = model.predict_top_k(X, 5)
        model.predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert labels.shape == (n, 5)
    assert peak < 4 * n * c


@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss"])
def test_the_threshold_is_the_best_of_its_grid(metric):
    rng = np.random.RandomState(0)
    Y = sparse.random_array((60, 5), density=0.2, rng=rng, format="csr")
    Y.data[:] = 1
    P = np.clip(0.35 * Y.toarray() + 0.6 * rng.rand(60, 5), 0, 1)
    found = choose_threshold([(P[:20], Targets(Y[:20])), (P[20:], Targets(Y[20:]))], metric)

    chosen = np.arange(1, 1001)[:, None, None] / 1000 <= P
    wrong = np.sum(chosen != Y.toarray(), axis=(1, 2))
    hits = np.sum(chosen * Y.toarray(), axis=(1, 2))
    if metric == "micro_f1":
        best = (2 * hits / (chosen.sum(axis=(1, 2)) + Y.nnz)).max()
        assert_allclose(f1_score(Y.toarray(), found <= P, average="micro"), best)
    else:
        assert_allclose(hamming_loss(Y.toarray(), found <= P), wrong.min() / P.size)


def test_the_threshold_decides_and_output_follows_the_form_of_the_labels(multilabel):
    X, Y, V, W = multilabel
    dense = LabelEmbeddingClassifier(random_state=0).fit(X, Y)
    assert 0 < dense.threshold_ < 1
    chosen = dense.predict(V)
    assert_array_equal(chosen, dense.predict_proba(V) >= dense.threshold_)
    assert chosen.dtype == Y.dtype
    csr = LabelEmbeddingClassifier(random_state=0).fit(
        sparse.csr_array(X), sparse.csr_array(Y.astype(np.uint8))
    )
    assert sparse.issparse(csr.predict(V))
    assert csr.predict(V).dtype == np.uint8
    assert np.mean(csr.predict(V).toarray() == chosen) > 0.98
    theirs = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X, Y).predict(V)
    assert f1_score(W, chosen, average="micro") > f1_score(W, theirs, average="micro") - 0.02
    fixed = LabelEmbeddingClassifier(threshold=0.9, random_state=0).fit(X, Y)
    assert fixed.threshold_ == 0.9
    assert fixed.predict(V).sum() < chosen.sum()
    unchosen = LabelEmbeddingClassifier(early_stopping=False, max_iter=2, random_state=0).fit(X, Y)
    assert unchosen.threshold_ == 0.5
    again = LabelEmbeddingClassifier(max_iter=2, random_state=0).fit(X, Y)
    assert again.threshold_ != 0.5
    assert again.set_params(early_stopping=False).fit(X, Y).threshold_ == 0.5, (
        "nothing is left of a fit before"
    )


@pytest.mark.parametrize("w", [None, np.arange(7.0)])
def test_losses_and_gradients(w):
    rng = np.random.RandomState(0)
    v = np.ones(7) if w is None else w
    F = rng.randn(7, 5) * 3
    codes = rng.randint(5, size=7)
    one = class_indicators(codes, 5, np.float64)
    many = sparse.csr_array((rng.rand(7, 5) < 0.4).astype(float))
    for loss, labels, value in (
        (multinomial_loss, one, lambda F: -log_softmax(F, axis=1)[np.arange(7), codes] @ v),
        (independent_loss, many, lambda F: v @ (np.logaddexp(0, F) - F * many.toarray()).sum(axis=1)),
    ):
        gradient = F.copy()
        assert_allclose(loss(gradient, Targets(labels, w)), value(F))
        step = 1e-6 * rng.randn(7, 5)
        assert_allclose((gradient * step).sum(), (value(F + step) - value(F - step)) / 2, rtol=1e-5)


def test_extreme_logits_stay_finite():
    F = np.array([[1e4, -1e4, 9910]], dtype=np.float32)
    for loss, labels in (
        (multinomial_loss, class_indicators(np.array([1]), 3, np.float32)),
        (independent_loss, sparse.csr_array(np.array([[0, 1, 1]], dtype=np.float32))),
    ):
        gradient = F.copy()
        assert loss(gradient, Targets(labels)) == pytest.approx(2e4, rel=1e-3)
        assert np.isfinite(gradient).all()
        if loss is multinomial_loss:
            assert (np.abs(gradient[gradient != 0]) >= np.finfo(np.float32).tiny).all(), (
                "subnormal numbers are slow"
            )


def test_a_given_step_length_is_taken_however_few_the_steps_are():
    X, y = load_digits(return_X_y=True)
    scores = LabelEmbeddingClassifier(PCA(5), max_iter=1, learning_rate=1e-9).fit(X, y).decision_function(X)
    assert_allclose(scores, np.broadcast_to(scores[0], scores.shape), atol=1e-4)
    assert np.ptp(LabelEmbeddingClassifier(PCA(5), max_iter=1).fit(X, y).decision_function(X)) > 1


def test_features_may_be_many_for_the_rows(multilabel):
    X, Y, V, W = multilabel
    frequencies = Y.mean(axis=0)
    guess = -np.where(W, np.log(frequencies), np.log1p(-frequencies)).sum(axis=1).mean()
    for map_ in (None, RandomFourierFeatures(n_components=2000, random_state=0)):
        model = LabelEmbeddingClassifier(feature_map=map_, random_state=0).fit(X, Y)
        P = model.predict_proba(V)
        assert -np.where(W, np.log(P), np.log1p(-P)).sum(axis=1).mean() < 0.75 * guess


def test_all_rows_are_whitened_as_the_rows_that_chose(multilabel, monkeypatch):
    ridges = []
    factor = RidgeSystem.factor
    monkeypatch.setattr(
        RidgeSystem, "factor", lambda self, ridge: ridges.append(ridge / self.n_rows) or factor(self, ridge)
    )
    LabelEmbeddingClassifier(PCA(29), random_state=0).fit(*multilabel[:2])
    assert ridges == pytest.approx([290 / 540, 290 / 540], rel=1e-6)


@pytest.mark.parametrize(
    ("descents", "parts"),
    [
        ([(3, 1.0)], [1]),
        ([(2, 1.0), (3, 0.9)], [1, 1 / 4]),
        ([(1, 1.0), (1, 1.1)], [1, 1 / 4]),
        ([(1, np.nan), (1, np.nan)], [1, 1 / 4]),
        ([(1, 1.0), (1, 0.9), (2, 0.8), (2, 0.7)], [1, 1 / 4, 1 / 16, 1 / 64]),
    ],
)
def test_early_best_losses_shorten_the_steps(monkeypatch, descents, parts):
    tried, waiting = [], list(descents)

    def descended(self, rows, held_out, n_epochs, seed, part=1.0):
        tried.append(part)
        best_epoch, loss = waiting.pop(0)
        return Descended(np.zeros(1), best_epoch, np.ones(4), np.full(4, loss))

    monkeypatch.setattr(LabelDecoder, "descended", descended)
    found, part = LabelDecoder("independent", 4, "auto", "auto", None, 5).chosen(None, None, 0)
    assert tried == parts
    losses = [loss for _, loss in descents]
    assert part == parts[0 if np.isnan(losses).any() else int(np.argmin(losses))]
    assert_array_equal(found.held_out_losses[0], losses[parts.index(part)])


def test_adam_steps_of_many_weights_are_those_of_the_paper():
    rng = np.random.RandomState(0)
    first, second = np.zeros((2, 900, 400), dtype=np.float32)
    for step in (1, 2):
        gradient = rng.standard_normal((900, 400)).astype(np.float32)
        m, v = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        expected = 0.03 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step) * m / (np.sqrt(v) + 1e-8)
        adam_step(first, second, gradient, step, 0.03)
        for found, value in ((first, m), (second, v), (gradient, expected)):
            assert_allclose(found, value, rtol=1e-4, atol=1e-7)


def test_bad_input_is_named(multilabel):
    X, Y, _, _ = multilabel
    with pytest.raises(ValueError, match=r"multinomial.* row \d+ has \d+: use"):
        LabelEmbeddingClassifier(loss="multinomial").fit(X, Y)
    with pytest.raises(ValueError, match="one class only"):
        LabelEmbeddingClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="indicator matrix holds 0 and 1 only"):
        LabelEmbeddingClassifier().fit(X, Y * 3)
    with pytest.raises(ValueError, match="threshold"):
        LabelEmbeddingClassifier(threshold=1.5).fit(X, Y)


def test_empty_rows_and_labels_never_seen(multilabel):
    X, Y, V, _ = multilabel
    X, Y = X.copy(), Y.copy()
    X[:5], Y[5:10], Y[:, 2] = 0, 0, 0
    model = LabelEmbeddingClassifier(random_state=0).fit(sparse.csr_array(X), Y)
    assert model.predict_proba(V)[:, 2].max() < 0.05
    assert model.predict(V)[:, 2].sum() == 0
    assert np.isfinite(model.decision_function(np.zeros((1, 30)))).all()
