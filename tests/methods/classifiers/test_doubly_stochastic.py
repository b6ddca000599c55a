"""The doubly stochastic learner: its steps, its optimum, and scikit-learn's contract."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression

from eigenbench.methods.classifiers.doubly_stochastic import DoublyStochasticLogistic

MAP = RBFSampler(gamma=0.05)


def fed(learner, X, y, n_rows):
    for start in range(0, n_rows, 100):
        learner.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.arange(10))
    return learner


def test_steps_follow_the_formula(digits):
    X, y, V, _ = digits
    learner = DoublyStochasticLogistic(
        MAP,
        n_components=64,
        block_size=32,
        batch_size=100,
        halving=2.0,
        damping=0.1,
        alpha=0.01,
        random_state=0,
    )
    fed(learner, X, y, 500)
    maps = [RBFSampler(gamma=0.05, n_components=32, random_state=seed).fit(X) for seed in learner.seeds_]
    coefs, moments, visits = np.zeros((2, 32, 10)), np.zeros((2, 32, 32)), [0, 0]
    # The order of the later steps is random, and known from what changed.
    for step, block in enumerate([0, 1, *_turns(learner, X, y)]):
        rows = slice(100 * step, 100 * step + 100)
        mapped = [drawn.transform(X[rows]) for drawn in maps]
        P = softmax(sum(Z @ coef for Z, coef in zip(mapped, coefs, strict=True)), axis=1)
        Z = mapped[block]
        gradient = Z.T @ (P - np.eye(10)[y[rows]]) / 100 + 0.01 * coefs[block]
        visits[block] += 1
        moments[block] += (Z.T @ Z / 100 - moments[block]) / visits[block]
        bound = moments[block] / 2
        bound += 0.1 * np.diag(bound).mean() * np.eye(32)
        coefs[block] -= np.linalg.solve(bound, gradient) / (1 + (visits[block] - 1) / 2)
    assert_allclose(np.array(learner.coefs_), coefs, atol=1e-8)
    scores = sum(drawn.transform(V) @ coef for drawn, coef in zip(maps, coefs, strict=True))
    assert_allclose(learner.predict_proba(V), softmax(scores, axis=1), atol=1e-8)


def _turns(learner, X, y):
    """Feed an equal learner step by step and return which block each step after the second changed."""
    twin = fed(clone(learner), X, y, 200)
    turns = []
    for start in range(200, 500, 100):
        before = [coef.copy() for coef in twin.coefs_]
        twin.partial_fit(X[start : start + 100], y[start : start + 100])
        changed = [not np.array_equal(a, b) for a, b in zip(before, twin.coefs_, strict=True)]
        assert sum(changed) == 1
        turns.append(changed.index(True))
    return turns


def test_it_reaches_the_error_and_the_loss_of_a_batch_fit(digits):
    X, y, V, v = digits
    learner = DoublyStochasticLogistic(
        MAP,
        n_components=256,
        block_size=64,
        batch_size=300,
        halving=30.0,
        alpha=1e-3,
        max_iter=40,
        random_state=0,
    ).fit(X, y)
    features = np.hstack([learner._draw(seed).transform(X) for seed in learner.seeds_])
    batch = LogisticRegression(C=1 / (1e-3 * len(y)), fit_intercept=False, max_iter=1000).fit(features, y)
    test_features = np.hstack([learner._draw(seed).transform(V) for seed in learner.seeds_])
    assert learner.score(V, v) > batch.score(test_features, v) - 0.01
    own, best = (_objective(coef, features, y) for coef in (np.vstack(learner.coefs_), batch.coef_.T))
    assert best <= own < 1.05 * best


def _objective(coef, features, y):
    probabilities = softmax(features @ coef, axis=1)
    return -np.log(probabilities[np.arange(len(y)), y]).mean() + 0.5e-3 * (coef**2).sum()


def test_features_grow_while_it_learns(digits):
    X, y, V, v = digits
    learner = DoublyStochasticLogistic(MAP, n_components=256, block_size=64, batch_size=100, random_state=0)
    assert len(fed(learner, X, y, 300).coefs_) == 3
    assert len(fed(learner, X, y, 1000).coefs_) == 4
    early = learner.score(V, v)
    learner.set_params(n_components=1024)
    fed(fed(learner, X, y, 1200), X, y, 1200)
    assert len(learner.coefs_) == 16
    assert learner.score(V, v) > early
    assert len(learner.error_curve_) == learner.t_ == 3 + 10 + 24


def test_coefficients_have_the_type_of_the_rows(digits):
    X, y, _, _ = digits
    learner = fed(DoublyStochasticLogistic(MAP, n_components=64), X.astype(np.float32), y, 100)
    assert learner.coefs_[0].dtype == np.float32


def test_progressive_errors_are_those_before_the_step(digits):
    X, y, _, _ = digits
    learner = DoublyStochasticLogistic(MAP, batch_size=100, random_state=0)
    for start in range(0, 500, 100):
        rows = slice(start, start + 100)
        before = 1 - learner.score(X[rows], y[rows]) if start else np.mean(y[rows] != 0)
        learner.partial_fit(X[rows], y[rows], classes=np.arange(10))
        assert learner.error_curve_[-1] == pytest.approx(before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y: m.partial_fit(X, y), "classes must be passed"),
        (lambda m, X, y: m.partial_fit(X, y, classes=[1, 2]), "not in classes"),
        (
            lambda m, X, y: m.partial_fit(X, y, classes=range(10)).partial_fit(X, y, classes=[0]),
            "not the same",
        ),
    ],
)
def test_labels_that_do_not_fit_are_errors(digits, call, message):
    X, y, _, _ = digits
    with pytest.raises(ValueError, match=message):
        call(DoublyStochasticLogistic(MAP, n_components=64), X, y)
