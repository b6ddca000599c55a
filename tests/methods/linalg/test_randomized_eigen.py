"""Few leading eigenpairs of a large pencil."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from eigenbench.methods.linalg.eigenproblems import SharedDenominator


@pytest.mark.parametrize("decades", [8, 0])
def test_few_vectors_of_a_large_pencil_are_those_of_a_dense_reduction(decades):
    """Where eigenvalues fall fast the iteration finds them, and where they do not it is given up."""
    d, rng = 520, np.random.RandomState(0)
    rows = rng.standard_normal((2 * d, d)) * np.logspace(0, -decades, d)
    S, N = rows.T @ rows, np.diag(rng.uniform(1, 2, d))
    found = SharedDenominator(N.copy())
    assert (found._top_iterated(S, 3) is None) == (decades == 0)
    values, vectors = found.top(S, 3)
    expected, expected_vectors = linalg.eigh(S, N, subset_by_index=(d - 3, d - 1))
    assert_allclose(values, expected[::-1], rtol=1e-10)
    assert_allclose(np.abs(vectors.T @ N @ expected_vectors[:, ::-1]), np.eye(3), atol=1e-6)
