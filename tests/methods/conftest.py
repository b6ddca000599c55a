"""Rows with weights, for the tests of classifiers and of embeddings."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def weighted():
    """Rows of four classes that overlap, with weights from 0 to 3, one class of weight 0, and repetitions."""
    rng = np.random.RandomState(0)
    y = np.array(list("abcd"))[np.arange(240) % 4]
    X = rng.randn(240, 6) @ rng.randn(6, 6) + 1.5 * (y[:, None] == np.array(list("abcdab")))
    w = rng.randint(0, 4, size=240)
    w[y == "d"] = 0
    return X, y, w, np.repeat(X, w, axis=0), np.repeat(y, w)
