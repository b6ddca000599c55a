"""Leading eigenpairs when the first product is another one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from eigenbench.methods.linalg.eigenproblems import SharedDenominator, leading_eigenpairs


@pytest.mark.parametrize("n_iter", [0, 1, 2])
def test_only_the_random_start_is_given_to_the_first_product(n_iter):
    used = []
    M = np.diag(2.0 ** -np.arange(12))

    def product(name):
        return lambda Q: used.append(name) or M @ Q

    values, vectors = leading_eigenpairs(
        product("exact"),
        12,
        3,
        oversampling=9,
        n_iter=n_iter,
        rng=np.random.RandomState(0),
        first=product("rough"),
    )
    assert used == (["rough", "exact", "exact"][: n_iter + 1] if n_iter else ["exact"])
    assert_allclose(values, [1, 0.5, 0.25])
    assert_allclose(vectors, np.eye(12, 3), atol=1e-12)


@pytest.mark.parametrize("decades", [8, 0])
def test_few_vectors_of_a_large_pencil_are_those_of_a_dense_reduction(decades):
    """Where eigenvalues fall fast the iteration finds them, and where they do not it is given up."""
    d, rng = 520, np.random.RandomState(0)
    rows = rng.standard_normal((2 * d, d)) * np.logspace(0, -decades, d)
    S, N = rows.T @ rows, np.diag(rng.uniform(1, 2, d))
    found = SharedDenominator(N.copy())
    assert (found._top_iterated(S, 3, 0) is None) == (decades == 0)
    values, vectors = found.top(S, 3)
    expected, expected_vectors = linalg.eigh(S, N, subset_by_index=(d - 3, d - 1))
    assert_allclose(values, expected[::-1], rtol=1e-10)
    assert_allclose(np.abs(vectors.T @ N @ expected_vectors[:, ::-1]), np.eye(3), atol=1e-6)
