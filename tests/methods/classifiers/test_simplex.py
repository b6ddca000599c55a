"""Projection on the simplex: optimality, and agreement with an independent solver."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from eigenbench.methods.classifiers.least_squares_rounds import project_rows_to_simplex

ROWS = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-50, 50))


@settings(deadline=None)
@given(ROWS)
def test_rows_are_the_nearest_probabilities(scores):
    projected = project_rows_to_simplex(scores.copy())
    for row, point in zip(scores, projected, strict=True):
        tau = brentq(
            lambda t, row=row: np.maximum(row - t, 0).sum() - 1, row.min() - 1.1, row.max(), xtol=1e-13
        )
        assert_allclose(point, np.maximum(row - tau, 0), atol=1e-9)


def test_float32_is_projected_in_place():
    scores = np.random.RandomState(0).randn(100, 10).astype(np.float32)
    expected = project_rows_to_simplex(scores.astype(float))
    assert project_rows_to_simplex(scores) is scores
    assert scores.dtype == np.float32
    assert_allclose(scores, expected, atol=1e-6)
