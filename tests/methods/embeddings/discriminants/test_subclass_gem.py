"""SubclassGEM against plain NumPy on classes of known parts, and its limits against GEM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg

from eigenbench import GEM, SubclassGEM

GAMMA = 0.2


@pytest.fixture(scope="module")
def parts():
    """Three classes of two far parts each, in six dimensions, with the part of every row."""
    rng = np.random.RandomState(0)
    sizes = [60, 140, 90, 80, 50, 120]
    X = [rng.randn(n, 6) @ rng.randn(6, 6) + 40 * rng.randn(6) for n in sizes]
    return np.concatenate(X), np.repeat(list("bbccaa"), sizes), np.repeat(np.arange(6), sizes)


def second_moment(X):
    return X.T @ X / len(X)


def test_detectors_solve_the_problem_of_a_part_and_a_class(parts):
    X, y, part = parts
    found = SubclassGEM(GAMMA, top=3, n_subclasses=2, random_state=0).fit(X, y)
    assert found.detectors_.shape == (6, 3 * 2 * 2 * 3)
    seen = set()
    for label, other, subclass in {
        (*pair, s) for pair, s in zip(found.pairs_, found.subclasses_, strict=True)
    }:
        mine = (found.pairs_ == [label, other]).all(axis=1) & (found.subclasses_ == subclass)
        V, values = found.detectors_[:, mine], found.eigenvalues_[mine]
        C = second_moment(X[y == other])
        denominator = C + GAMMA / 6 * np.trace(C) * np.eye(6)
        (owner,) = (
            p
            for p in np.unique(part[y == label])
            if np.allclose(V.T @ second_moment(X[part == p]) @ V, np.diag(values), atol=1e-8 * values.max())
        )
        seen.add((owner, other))
        numerator = second_moment(X[part == owner])
        assert_allclose(values, linalg.eigh(numerator, denominator, eigvals_only=True)[::-1][:3])
        assert_allclose(V.T @ denominator @ V, np.eye(3), atol=1e-9)
        assert np.all(V[np.abs(V).argmax(axis=0), np.arange(3)] > 0)
    assert len(seen) == 6 * 2


def test_one_subclass_is_gem(parts):
    X, y, _ = parts
    found, pairs = SubclassGEM(GAMMA, top=2, n_subclasses=1).fit(X, y), GEM(GAMMA, top=2).fit(X, y)
    assert_array_equal(found.pairs_, pairs.pairs_)
    assert_array_equal(found.subclasses_, 0)
    assert_allclose(found.detectors_, pairs.detectors_, rtol=1e-7, atol=1e-10)
    assert_allclose(found.eigenvalues_, pairs.eigenvalues_)


def test_a_class_of_two_rows_has_two_subclasses(parts):
    X, y, _ = parts
    few = np.r_[np.arange(0, 200, 3), 201, 202, np.arange(370, 540, 3)]
    found = SubclassGEM(top=2, n_subclasses=3, random_state=0).fit(X[few], y[few])
    assert set(found.subclasses_[found.pairs_[:, 0] == "c"]) == {0, 1}
