import gzip
import struct
from functools import partial

import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis.extra import numpy as hnp

from eigenbench.datasets.readers.idx import read_emnist, read_idx, read_idx_array


def idx(array):
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, max_side=5)))
def test_round_trip(array):
    np.testing.assert_array_equal(read_bytes(read_idx_array, idx(array)), array)


def test_images_become_rows():
    rows = read_bytes(read_idx, idx(IMAGES), idx(np.array([7, 0], np.uint8)))
    np.testing.assert_array_equal(rows.features, IMAGES.reshape(2, 12))
    assert rows.labels.tolist() == [7, 0]


#: Without the time, which would make the names of tests differ from one process to the next.
packed = partial(gzip.compress, mtime=0)
LABELS = packed(idx(np.array([36, 7], dtype=np.uint8)))


def test_emnist_images_are_turned_upright():
    rows = read_bytes(read_emnist, packed(idx(IMAGES)), LABELS)
    np.testing.assert_array_equal(rows.features.reshape(2, 4, 3), IMAGES.transpose(0, 2, 1))
    assert rows.labels.tolist() == [36, 7]


@pytest.mark.parametrize(
    ("reader", "images", "labels", "message"),
    [
        (read_idx_array, idx(IMAGES)[:-1], (), "header: cannot reshape"),
        (read_idx_array, idx(IMAGES)[:9], (), "header: .* at least 16 bytes"),
        (read_idx_array, b"\0\0\x0d\x01" + bytes(8), (), "doesn't start an idx file"),
        (read_idx, idx(IMAGES), [idx(IMAGES[0, 0, :3])], r"labels of shape \(3,\) for .* shape \(2, 3, 4\)"),
        (read_emnist, b"plain", [LABELS], "file, compressed stream"),
        (read_emnist, packed(idx(IMAGES))[:-9], [LABELS], "file, compressed stream"),
        (read_emnist, packed(idx(IMAGES)[:-1]), [LABELS], "file, header: cannot reshape"),
        (read_emnist, packed(idx(IMAGES[:1])), [LABELS], r"labels of shape \(2,\) for .* shape \(1, 3, 4\)"),
        (read_emnist, packed(idx(IMAGES[0])), [LABELS], r"images of shape \(3, 4\)"),
    ],
)
def test_the_place_of_the_fault_is_named(reader, images, labels, message):
    assert_refused(message, reader, images, *labels)
