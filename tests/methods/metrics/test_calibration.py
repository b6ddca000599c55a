import numpy as np
import pytest

from eigenbench.methods.metrics.calibration import expected_calibration_error


def test_the_gaps_of_the_bins_weigh_by_their_rows():
    confidence, correct = [0.95, 0.95, 0.95, 0.55], [True, True, False, True]
    expected = 3 / 4 * abs(0.95 - 2 / 3) + 1 / 4 * abs(0.55 - 1)
    assert expected_calibration_error(confidence, correct, n_bins=10) == pytest.approx(expected)


def test_opposite_gaps_of_different_bins_do_not_cancel():
    assert expected_calibration_error([1.0, 0.0], [False, True]) == 1


def test_drawn_by_the_confidence_the_error_goes_to_zero():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(size=100_000)
    assert expected_calibration_error(confidence, rng.uniform(size=100_000) < confidence) < 0.01
