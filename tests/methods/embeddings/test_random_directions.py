"""RandomDirections: unit length, uniform, seeded."""

import numpy as np
from numpy.testing import assert_allclose

from eigenbench import RandomDirections


def test_directions_are_unit_vectors_without_preference():
    V = RandomDirections(20000, random_state=0).fit(np.ones((2, 5))).components_
    assert_allclose(np.linalg.norm(V, axis=1), 1)
    assert_allclose(V.T @ V / len(V), np.eye(5) / 5, atol=0.01)
    assert_allclose(V.mean(axis=0), 0, atol=0.02)
