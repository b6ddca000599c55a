"""The Bayes rule of planted data has the known error, and its probabilities are the frequencies."""

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.stats import norm

from eigenbench.bench.suites.suite_file import load_suite
from eigenbench.datasets.project_files import project_folder
from eigenbench.methods.peers.bayes_rule import BayesRule


def rule_of(experiment):
    suite = load_suite(project_folder() / "config" / "suites" / "controls.yaml")
    return BayesRule(**suite.experiments[experiment].classifiers["BayesRule"].params)


def test_two_normal_classes():
    rule, rng = rule_of("twonorm"), np.random.default_rng(0)
    y = rng.integers(2, size=40_000)
    X = rng.normal(size=(len(y), 20)) + np.where(y == 0, 1, -1)[:, None] * 2 / np.sqrt(20)
    rule.fit(X, y)
    assert np.array_equal(rule.predict(X), np.where(X.sum(axis=1) > 0, 0, 1))
    assert np.mean(rule.predict(X) != y) == pytest.approx(norm.sf(2), abs=4 * np.sqrt(0.022 / len(y)))
    assert rule.predict_proba(X).max(axis=1).mean() == pytest.approx(norm.cdf(2), abs=0.003)


def test_digits_of_a_display_with_inverted_segments():
    """All 128 displays, each as probable as its inverted segments make it."""
    rule = rule_of("led7digit")
    X = np.array(list(product([0.0, 1.0], repeat=7)))
    inverted = np.abs(X[:, None] - np.array(rule.centers)).sum(axis=2)
    joint = 0.1**inverted * 0.9 ** (7 - inverted) / 10
    rule.fit(X[:10], np.arange(10))
    probability = joint.sum(axis=1)
    np.testing.assert_allclose(rule.predict_proba(X), joint / probability[:, None], rtol=1e-5)
    assert 1 - joint[np.arange(128), rule.predict(X)].sum() == pytest.approx(0.26, abs=0.001)
    assert rule.variance == pytest.approx(1 / (2 * log(9)))


def test_centers_of_other_classes_or_inputs_are_refused():
    with pytest.raises(ValueError, match=r"centers have shape \(2, 1\), and \(3, 4\)"):
        BayesRule([[0.0], [1.0]]).fit(np.eye(4)[:3], [0, 1, 2])
