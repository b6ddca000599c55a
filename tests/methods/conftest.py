"""Rows with weights and digits, for the tests of classifiers and of embeddings."""

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def weighted():
    """Rows of four classes that overlap, with weights from 0 to 3, one class of weight 0, and repetitions."""
    rng = np.random.RandomState(0)
    y = np.array(list("abcd"))[np.arange(240) % 4]
    X = rng.randn(240, 6) @ rng.randn(6, 6) + 1.5 * (y[:, None] == np.array(list("abcdab")))
    w = rng.randint(0, 4, size=240)
    w[y == "d"] = 0
    return X, y, w, np.repeat(X, w, axis=0), np.repeat(y, w)


@pytest.fixture(scope="session")
def all_digits():
    """All rows of the digits, in [0, 1], and their labels."""
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="session")
def digits(all_digits):
    """Training and test rows of the digits, and the labels of each."""
    X, y = all_digits
    return X[:1200], y[:1200], X[1200:], y[1200:]
