"""Leading eigenpairs when the first product is another one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from eigenbench.methods.linalg.eigenproblems import leading_eigenpairs


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
