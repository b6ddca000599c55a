"""The stream of deformed images: what it depends on, and how far it moves things."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import center_of_mass, gaussian_filter, map_coordinates

from eigenbench.datasets import deformed_digits as module
from eigenbench.datasets.deformed_digits import _sample, deformed_digits

SIDE = 28


@pytest.fixture
def amounts(monkeypatch):
    """Set amounts of deformation; those that are not named are 0."""

    def set_them(**changes):
        for name in ("ROTATION", "SCALING", "SHEAR", "SHIFT", "ELASTIC"):
            monkeypatch.setattr(module, name, changes.get(name, 0.0))

    return set_them


def stream(X, y, **options):
    blocks = list(deformed_digits(X, y, **options))
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])


DIGITS = np.random.default_rng(0).random((20, SIDE * SIDE)).astype(np.float32)
LABELS = np.arange(20)


LONG = stream(DIGITS, LABELS, n=400)


@settings(max_examples=25)
@given(n=st.integers(1, 400), block=st.integers(1, 500))
def test_neither_the_block_size_nor_the_length_changes_the_examples(n, block):
    blocks = list(deformed_digits(DIGITS, LABELS, n=n, block=block))
    assert [len(y) for _, y in blocks] == [block] * (n // block) + ([n % block] if n % block else [])
    for parts, whole in zip(zip(*blocks, strict=True), LONG, strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), whole[:n])


def test_seeds_give_different_streams_and_examples_never_repeat():
    X, _ = stream(DIGITS[:1], LABELS[:1], n=300)
    assert len(np.unique(X, axis=0)) == 300
    assert not np.array_equal(X, stream(DIGITS[:1], LABELS[:1], n=300, seed=1)[0])


def test_without_any_deformation_the_images_are_the_rows_in_their_unit(amounts):
    amounts()
    white, _ = stream(np.full((1, 64), 255, dtype=np.uint8), [3], n=5)
    np.testing.assert_allclose(white, 255, rtol=1e-5)
    X, y = stream(DIGITS, LABELS, n=300)
    np.testing.assert_allclose(X, DIGITS[y], atol=1e-5)
    assert set(y) == set(range(20))
    assert X.dtype == np.float32


def test_interpolation_agrees_with_scipy():
    generator = np.random.default_rng(1)
    rows, columns = generator.uniform(-3, SIDE + 2, size=(2, 20, SIDE * SIDE)).astype(np.float32)
    ours = _sample(DIGITS, SIDE, rows, columns)
    for image, at, result in zip(DIGITS, zip(rows, columns, strict=True), ours, strict=True):
        padded = np.pad(image.reshape(SIDE, SIDE), 1)
        points = np.clip(np.stack(at).astype(np.float64) + 1, 0, SIDE + 1)
        np.testing.assert_allclose(result, map_coordinates(padded, points, order=1), atol=1e-4)


def centres():
    """Where the middles of deformed blobs lie, from that of the blob."""
    image = np.zeros((SIDE, SIDE))
    image[SIDE // 2, SIDE // 2] = 1
    X, _ = stream(gaussian_filter(image, 3.0).astype(np.float32).reshape(1, -1), [0], n=2000)
    found = [center_of_mass(image) for image in X.reshape(-1, SIDE, SIDE).astype(np.float64)]
    return np.array(found) - SIDE // 2


@pytest.mark.parametrize("amount", [0.5, 1.0])
def test_shifts_have_the_stated_standard_deviation(amounts, amount):
    amounts(SHIFT=amount)
    moved = centres()
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=0.1)
    np.testing.assert_allclose(moved.std(axis=0), amount, rtol=0.08)


def test_the_elastic_field_moves_by_less_than_its_mean_square(amounts):
    amounts(ELASTIC=0.8)
    assert 0.3 < centres().std() < 1.0


def moments():
    """Second moments of the ink of deformed bars."""
    bar = np.zeros((SIDE, SIDE), dtype=np.float32)
    bar[13:15, 4:24] = 1
    X, _ = stream(bar.reshape(1, -1), [0], n=2000)
    images = X.reshape(-1, SIDE, SIDE).astype(np.float64)
    grid = np.arange(SIDE) - 13.5
    mass = images.sum(axis=(1, 2))
    xx = np.einsum("nij,j,j->n", images, grid, grid) / mass
    xy = np.einsum("nij,i,j->n", images, grid, grid) / mass
    return xx, xy


def test_angles_and_scales_have_the_stated_standard_deviation(amounts):
    amounts(ROTATION=0.15)
    xx, xy = moments()
    assert np.std(xy / xx) == pytest.approx(0.15, rel=0.1)
    amounts(SCALING=0.05)
    xx, _ = moments()
    assert np.std(np.log(xx) / 2) == pytest.approx(0.05, rel=0.15)


@pytest.mark.parametrize(
    ("X", "y", "options"),
    [
        (np.ones((3, 15)), [0, 1, 2], {"n": 1}),
        (np.ones((3, 16)), [0, 1], {"n": 1}),
        (np.ones((0, 16)), [], {"n": 1}),
        (np.ones(16), [0], {"n": 1}),
        (np.ones((3, 16)), [0, 1, 2], {"n": 0}),
        (np.ones((3, 16)), [0, 1, 2], {"n": 1, "block": 0}),
    ],
)
def test_unusable_arguments_are_refused_at_once(X, y, options):
    with pytest.raises(ValueError, match=r"no labelled square images|must be at least 1"):
        deformed_digits(X, y, **options)
