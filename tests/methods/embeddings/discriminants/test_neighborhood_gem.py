"""NeighborhoodGEM against plain NumPy, and its limits against GEM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from eigenbench import GEM, ClassMoments, NeighborhoodGEM
from eigenbench.methods.embeddings.discriminants.pairs import nearest_classes

GAMMA = 0.2


@pytest.fixture(scope="module")
def gaussians():
    """Seven classes of unequal sizes in nine dimensions, labelled by letters."""
    rng = np.random.RandomState(0)
    sizes = [40, 300, 60, 120, 80, 200, 50]
    X = [rng.randn(n, 9) @ rng.randn(9, 9) + 2 * rng.randn(9) for n in sizes]
    return np.concatenate(X), np.repeat(list("gfedcba"), sizes)


def test_detectors_solve_the_problem_of_a_class_and_its_neighbors(gaussians):
    X, y = gaussians
    found = NeighborhoodGEM(GAMMA, top=3, n_neighbors=2).fit(X, y)
    assert_array_equal(found.neighbors_, found.classes_[nearest_classes(ClassMoments.of(X, y), GAMMA, 2)[0]])
    assert_array_equal(found.denominators_, np.repeat(list("abcdefg"), 3))
    C = {c: X[y == c].T @ X[y == c] / np.sum(y == c) for c in found.classes_}
    for j, others in zip(found.classes_, found.neighbors_, strict=True):
        mine = found.denominators_ == j
        V, values = found.detectors_[:, mine], found.eigenvalues_[mine]
        numerator = np.mean([C[i] for i in others], axis=0)
        denominator = C[j] + GAMMA / 9 * np.trace(C[j]) * np.eye(9)
        assert_allclose(values, linalg.eigh(numerator, denominator, eigvals_only=True)[::-1][:3])
        assert_allclose(V.T @ denominator @ V, np.eye(3), atol=1e-9)
        assert_allclose(V.T @ numerator @ V, np.diag(values), atol=1e-9 * values.max())
        assert np.all(V[np.abs(V).argmax(axis=0), np.arange(3)] > 0)


def test_with_one_neighbor_a_class_is_a_pair_of_gem(gaussians):
    X, y = gaussians
    single = NeighborhoodGEM(GAMMA, top=2, n_neighbors=1).fit(X, y)
    pairs = GEM(GAMMA, top=2).fit(X, y)
    wanted = np.column_stack([single.neighbors_[:, 0], single.classes_])
    for pair in wanted:
        mine, theirs = single.denominators_ == pair[1], (pairs.pairs_ == pair).all(axis=1)
        assert_allclose(single.detectors_[:, mine], pairs.detectors_[:, theirs], rtol=1e-7, atol=1e-10)
        assert_allclose(single.eigenvalues_[mine], pairs.eigenvalues_[theirs])


def test_more_neighbors_than_classes_takes_all(gaussians):
    X, y = gaussians
    assert_allclose(
        NeighborhoodGEM(top=2, n_neighbors=50).fit(X, y).detectors_,
        NeighborhoodGEM(top=2, n_neighbors=6).fit(X, y).detectors_,
    )


def test_bad_input(gaussians):
    X, y = gaussians
    few = np.delete(np.arange(len(X)), np.flatnonzero(y == "a")[3:])
    with pytest.raises(ValueError, match=r"class 'a' .* is singular with gamma=0: increase gamma"):
        NeighborhoodGEM(0).fit(X[few], y[few])
