"""The fast Walsh-Hadamard transform and the projections made of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import hadamard

from eigenbench.methods.embeddings.kernel_features.frequencies import (
    hadamard_projections,
    hadamard_signs,
    walsh_hadamard,
)


@pytest.mark.parametrize("width", [1, 2, 32, 64, 128, 1024])
def test_equals_the_matrix(width):
    X = np.random.default_rng(0).standard_normal((3, width))
    assert_allclose(walsh_hadamard(X), X @ hadamard(width) / np.sqrt(width), atol=1e-12)


def test_type_and_bad_width():
    assert walsh_hadamard(np.ones((2, 256), dtype=np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="power of two, got 6"):
        walsh_hadamard(np.ones((2, 6)))


def test_structured_directions_are_orthogonal_and_nearly_uniform():
    signs = hadamard_signs(64, 200, np.random.RandomState(0))
    assert signs.shape == (4, 3, 64)
    W = np.empty((64, 200))
    hadamard_projections(np.eye(64), signs, W)
    assert_allclose(W[:, 64:128].T @ W[:, 64:128], np.eye(64), atol=1e-12)
    # Fourth moments distinguish a uniform direction from a sign vector: E w⁴ = 3/(d(d + 2)) against 1/d².
    assert_allclose(np.mean(W**4) * 64 * 66, 3, rtol=0.1)
    padded = np.empty((48, 128))
    hadamard_projections(np.eye(48), hadamard_signs(48, 128, np.random.RandomState(0)), padded)
    assert_allclose(np.square(padded).sum(axis=0).mean(), 1, rtol=1e-9)
