import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits():
    """Training and test rows of the digits, in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    return X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]
