import struct

import numpy as np
import pytest

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers import gisette
from eigenbench.datasets.readers.gisette import read_gisette_rebuilt

pytestmark = pytest.mark.workflow


def write_mnist(folder, n=7600, shape=(28, 28)):
    """Four idx files of random images, half of them 4s and 9s, of which the 9s have more ink at the top."""
    generator = np.random.default_rng(0)
    paths = []
    for part, size in (("train", n - 600), ("test", 600)):
        labels = np.resize(np.array([4, 9], dtype=np.uint8), size)
        ink = generator.random((size, *shape)) < np.where(labels == 9, 0.6, 0.3)[:, None, None]
        images = (ink * generator.integers(1, 256, size=(size, *shape))).astype(np.uint8)
        for kind, array in (("images", images), ("labels", labels)):
            path = folder / f"{part}-{kind}"
            header = struct.pack(f">{array.ndim + 1}I", 0x800 + array.ndim, *array.shape)
            path.write_bytes(header + array.tobytes())
            paths.append(path)
    return paths


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_mnist(tmp_path_factory.mktemp("mnist"))


@pytest.fixture(scope="module")
def rebuilt(files):
    return read_gisette_rebuilt(*files, seed=1)


def test_the_published_sizes_values_and_balance(rebuilt):
    X, y = rebuilt.features, rebuilt.labels
    assert (X.shape, X.dtype) == ((7000, 5000), np.float32)
    np.testing.assert_array_equal(X[::100], np.rint(X[::100]))
    assert (X.min(), X.max()) == (0, 999)
    assert np.bincount(y[:6000] + 1).tolist() == [3000, 0, 3000]
    assert np.bincount(y[6000:] + 1).tolist() == [500, 0, 500]


def test_half_of_the_features_are_probes_with_the_values_of_a_real_one(rebuilt):
    X, y = rebuilt.features, rebuilt.labels
    whole = X.astype(np.int64)
    sums, counts = np.unique(
        np.stack([whole.sum(axis=0), (whole**2).sum(axis=0)]), axis=1, return_counts=True
    )
    assert (counts % 2 == 0).all()
    assert sums.shape[1] > 2300
    difference = np.abs(X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)) / X.std(axis=0)
    real = difference > 0.15
    assert real.sum() == 2500
    assert 1100 < real[:2500].sum() < 1400, "features are in random order"
    assert 1350 < (y[:3000] > 0).sum() < 1650, "and so are patterns"


def test_the_seed_determines_everything(files, monkeypatch):
    monkeypatch.setattr(gisette, "_PER_CLASS", 70)
    monkeypatch.setattr(gisette, "_N_TRAIN_PER_CLASS", 60)
    first, again, other = (read_gisette_rebuilt(*files, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.features, again.features)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.features, other.features)


@pytest.mark.parametrize(
    ("n", "side", "message"),
    [(6000, 28, "digit 4: 3000 of 3500 needed"), (7000, 14, r"images of shape \(6400, 14, 14\)")],
)
def test_too_few_digits_and_images_of_another_size_are_refused(tmp_path, n, side, message):
    with pytest.raises(MalformedData, match=message):
        read_gisette_rebuilt(*write_mnist(tmp_path, n, (side, side)), seed=1)
