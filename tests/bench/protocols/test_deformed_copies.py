"""Deformed copies of images against the affine maps that make them."""

import numpy as np
import pytest

from eigenbench.bench.protocols.transfer_tasks import Deformation, deformed_copies

ROWS, COLUMNS = (axis - axis.mean() for axis in np.mgrid[0:31, 0:41].astype(float))


def copies_of(image, n=200, seed=0, **amounts):
    images = np.repeat(image[None], n, axis=0)
    return deformed_copies(images, Deformation(copies=1, **amounts), np.random.default_rng(seed))[0]


def spot(row, column, width=2.0):
    return np.exp(-((ROWS - row) ** 2 + (COLUMNS - column) ** 2) / (2 * width**2))


def moments(pictures):
    """Return centre of mass (row, column) and covariance of the ink of each picture."""
    mass = pictures.sum(axis=(1, 2))
    mean = np.array([(pictures * axis).sum(axis=(1, 2)) / mass for axis in (ROWS, COLUMNS)])
    axes = [axis - centre[:, None, None] for axis, centre in zip((ROWS, COLUMNS), mean, strict=True)]
    covariance = np.array([[(pictures * a * b).sum(axis=(1, 2)) / mass for b in axes] for a in axes])
    return mean, covariance


def test_no_deformation_copies_the_images():
    images = np.random.default_rng(0).random((3, 7, 5))
    made = deformed_copies(images, Deformation(copies=2), np.random.default_rng(1))
    np.testing.assert_allclose(made, np.stack([images, images]), atol=1e-12)


def test_the_generator_alone_decides():
    first, again, other = (copies_of(spot(0, 3), n=2, seed=seed, rotation=0.3, shift=1) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert not np.allclose(first[0], first[1])


def test_translations_have_the_deviation_asked_for():
    mean, _ = moments(copies_of(spot(0, 0), n=600, shift=1.5))
    assert mean.std(axis=1) == pytest.approx(1.5, rel=0.15)
    assert mean.mean(axis=1) == pytest.approx(0, abs=0.3)


def test_rotations_turn_about_the_centre():
    mean, _ = moments(copies_of(spot(0, 10), n=600, rotation=0.2))
    assert np.hypot(*mean) == pytest.approx(10, abs=0.1)
    assert np.arctan2(mean[0], mean[1]).std() == pytest.approx(0.2, rel=0.15)


def test_scales_are_drawn_for_each_axis():
    _, covariance = moments(copies_of(spot(0, 0, width=3), n=600, scaling=0.15))
    logarithms = np.log(covariance[[0, 1], [0, 1]]) / 2
    assert logarithms.std(axis=1) == pytest.approx(0.15, rel=0.2)
    assert abs(np.corrcoef(logarithms)[0, 1]) < 0.15


def test_a_slant_moves_columns_in_proportion_to_rows():
    _, covariance = moments(copies_of(spot(0, 0, width=3), n=600, shear=0.3))
    slant = covariance[0, 1] / covariance[0, 0]
    assert slant.std() == pytest.approx(0.3, rel=0.15)
    assert covariance[0, 0] == pytest.approx(covariance[0, 0, 0], rel=0.02)


def test_levels_at_the_border_go_on_beyond_it():
    made = copies_of(np.full((9, 9), 3.0), rotation=0.5, scaling=0.3, shift=3.0)
    np.testing.assert_allclose(made, 3.0)
