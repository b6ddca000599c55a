"""Eigenproblems of few rows, against scipy's dense solution of the formed matrices."""

import numpy as np
import pytest
from scipy import linalg

from eigenbench.methods.linalg.eigenproblems import LowRankDenominator, SharedDenominator, TooFewRows


def some_rows(n, d=60, seed=0):
    return np.random.RandomState(seed).standard_normal((n, d))


@pytest.mark.parametrize("g", [1e-6, 0.1, 50.0])
@pytest.mark.parametrize(("m", "n"), [(5, 9), (14, 3), (8, 1)])
def test_they_are_those_of_the_formed_matrices(m, n, g):
    E, F = some_rows(m), some_rows(n, seed=1)
    values, vectors = LowRankDenominator(F, g).top(E, 4)
    N = F.T @ F + g * np.eye(60)
    expected = linalg.eigh(E.T @ E, N, eigvals_only=True)[::-1][:4]
    np.testing.assert_allclose(values, expected, rtol=1e-8)
    np.testing.assert_allclose(vectors.T @ N @ vectors, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(E.T @ (E @ vectors), N @ vectors * values, atol=1e-8 * values[0])
    assert (vectors[np.abs(vectors).argmax(axis=0), range(4)] > 0).all()


def test_numerators_within_the_rows_of_the_denominator():
    F = some_rows(12)
    E = some_rows(6, 12, seed=1) @ F
    values, _ = LowRankDenominator(F, 1e-3).top(E, 6)
    expected = linalg.eigh(E.T @ E, F.T @ F + 1e-3 * np.eye(60), eigvals_only=True)[::-1][:6]
    np.testing.assert_allclose(values, expected, rtol=1e-8)


def test_what_few_rows_do_not_determine_is_refused():
    F = some_rows(9)
    with pytest.raises(TooFewRows, match="ridge"):
        LowRankDenominator(F, 1e-12)
    with pytest.raises(TooFewRows, match="3 rows have no 4 directions"):
        LowRankDenominator(F, 1.0).top(some_rows(3, seed=1), 4)
    with pytest.raises(TooFewRows, match="rank of 6 rows is below 4"):
        LowRankDenominator(F, 1.0).top(np.repeat(some_rows(2, seed=1), 3, axis=0), 4)


@pytest.mark.parametrize("m", [4, 30])
def test_rows_against_a_formed_denominator(m):
    E, F = some_rows(m), some_rows(90, seed=1)
    values, vectors = SharedDenominator(F.T @ F).top_of_rows(E, 4)
    expected, expected_vectors = SharedDenominator(F.T @ F).top(E.T @ E, 4)
    np.testing.assert_allclose(values, expected, rtol=1e-9)
    np.testing.assert_allclose(vectors, expected_vectors, atol=1e-9 * np.abs(vectors).max())
    with pytest.raises(TooFewRows):
        SharedDenominator(F.T @ F).top_of_rows(E[[0, 0, 1, 1]], 3)
