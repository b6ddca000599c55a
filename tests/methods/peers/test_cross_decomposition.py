"""LabelPLS and LabelCCA of labels against closed forms: a singular vector, and Fisher's directions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_wine, make_multilabel_classification

from eigenbench import FisherLDA
from eigenbench.methods.peers.cross_decomposition import LabelCCA, LabelPLS


def standardised(M):
    return (M - M.mean(axis=0)) / M.std(axis=0, ddof=1)


def test_the_first_direction_of_pls_has_the_largest_covariance_with_the_labels():
    X, y = load_wine(return_X_y=True)
    rows = standardised(X)
    w = np.linalg.svd(rows.T @ standardised(np.eye(3)[y]))[0][:, 0]
    found = LabelPLS(2).fit(X, y)
    scores = found.transform(X)
    assert_allclose(np.abs(scores[:, 0]), np.abs(rows @ w), atol=1e-5)
    # Scores are uncorrelated, and the second direction is the first of what the first leaves.
    left = rows - np.outer(scores[:, 0], scores[:, 0] @ rows) / (scores[:, 0] @ scores[:, 0])
    second = np.linalg.svd(left.T @ standardised(np.eye(3)[y]))[0][:, 0]
    assert_allclose(np.abs(scores[:, 1]), np.abs(left @ second), atol=1e-4)


def test_cca_finds_fishers_directions():
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 1]
    found, fisher = LabelCCA().fit(X, y), FisherLDA(gamma=0.0).fit(X, y)
    assert found.components_.shape == fisher.components_.shape
    for mine, theirs in zip(found.transform(X).T[:3], fisher.transform(X).T[:3], strict=True):
        assert abs(np.corrcoef(mine, theirs)[0, 1]) == pytest.approx(1, abs=1e-4)
    bases = (np.linalg.qr(model.components_.T)[0] for model in (found, fisher))
    first, second = bases
    assert_allclose(np.linalg.svd(first.T @ second)[1], 1, atol=1e-6)


@pytest.mark.parametrize("kind", [LabelPLS, LabelCCA])
def test_indicators_limits_and_constant_inputs(kind):
    X, Y = make_multilabel_classification(n_classes=4, random_state=0)
    X[:, 0] = 3
    many = kind(100).fit(X, Y)
    assert many.components_.shape[0] == {LabelPLS: 20, LabelCCA: 4}[kind]
    assert not many.components_[:, 0].any()
    assert_allclose(many.transform(X).mean(axis=0), 0, atol=1e-9)
    with pytest.raises(ValueError, match="at least two, got 1 class"):
        kind().fit(X, np.zeros(len(X), dtype=int))
