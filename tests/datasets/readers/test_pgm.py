import numpy as np
import pytest
from damage import assert_refused, read_bytes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigenbench.datasets import MalformedData
from eigenbench.datasets.archives import pack_tar
from eigenbench.datasets.readers.pgm import read_pgm, read_pgm_tar
from eigenbench.datasets.readers.raw_rows import natural_key


def pgm(image):
    height, width = image.shape
    return b"P5\n# made by a test\n%d %d\n255\n" % (width, height) + image.tobytes()


IMAGES = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


@given(IMAGES)
def test_round_trip(image):
    np.testing.assert_array_equal(read_pgm("image", pgm(image)), image)


@given(hnp.arrays(np.uint8, (5, 4), elements=st.sampled_from([9, 10, 11, 200])))
def test_a_copy_made_in_text_mode_is_turned_back(image):
    np.testing.assert_array_equal(read_pgm("image", pgm(image).replace(b"\n", b"\r\n")), image)


def smoothest(image):
    """The image that is read from a text-mode copy, by trying every place."""
    short = image.tobytes().replace(b"\r\n", b"\n")
    pieces = image.tobytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n").split(b"\r\n")
    assert len(short) == image.size - 1
    candidates = [b"\n".join(pieces[:i]) + b"\r\n" + b"\n".join(pieces[i:]) for i in range(1, len(pieces))]
    images = [np.frombuffer(one, np.uint8).reshape(image.shape).astype(int) for one in candidates]
    return min(images, key=lambda one: np.abs(np.diff(one, axis=0)).sum())


@given(
    hnp.arrays(
        np.uint8,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7).filter(lambda s: s[0] * s[1] > 1),
        elements=st.sampled_from([8, 10, 10, 11, 200]),
    ),
    st.data(),
)
def test_the_pair_is_put_back_where_trying_every_place_would(image, data):
    place = data.draw(st.integers(0, image.size - 2))
    image.ravel()[place : place + 2] = 13, 10
    copy = pgm(image).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    np.testing.assert_array_equal(read_pgm("image", copy), smoothest(image))


def test_rows_follow_the_natural_order_of_names():
    content = {
        f"faces/s{i}/{j}.pgm": pgm(np.full((2, 3), 20 * i + j, np.uint8)) for i in (10, 2) for j in (1, 10, 9)
    }
    rows = read_bytes(read_pgm_tar, pack_tar(content.items()))
    assert rows.features[:, 0].tolist() == [41, 49, 50, 201, 209, 210]
    assert rows.labels.tolist() == ["s2"] * 3 + ["s10"] * 3


def test_blocks_of_pixels_are_averaged():
    image = np.arange(24, dtype=np.uint8).reshape(4, 6)
    packed = pack_tar([("a/1.pgm", pgm(image)), ("b/1.pgm", pgm(image[::-1]))])
    rows = read_bytes(lambda path: read_pgm_tar(path, block=2), packed)
    means = [[np.rint(image[i : i + 2, j : j + 2].mean()) for j in (0, 2, 4)] for i in (0, 2)]
    np.testing.assert_array_equal(rows.features.reshape(2, 2, 3), [means, means[::-1]])
    assert rows.features.dtype == np.uint8
    assert_refused("blocks of 4 x 4 do not fill", lambda path: read_pgm_tar(path, block=4), packed)


def test_images_of_different_sizes_are_refused():
    content = {"a/1.pgm": pgm(np.zeros((2, 3), np.uint8)), "a/2.pgm": pgm(np.zeros((3, 2), np.uint8))}
    assert_refused(r"'2\.pgm'.*\(3, 2\), others \(2, 3\)", read_pgm_tar, pack_tar(content.items()))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P6\n1 1\n255\n123", "doesn't start a binary PGM"),
        (b"P5\n99999 99999\n255\n123", "DecompressionBomb"),
        (b"P5\n9000 9000\n255\n123", "3 pixels"),
        (b"P5\n2 2\n255\n123", "3 pixels, not 2 x 2"),
        (b"P5\n2 2\n255\n12345", "5 pixels, not 2 x 2"),
        (b"P5\n2 2\n65535\n12345678", "mode 'I' instead of 'L'"),
        (b"P5\n0 2\n255\n", r"header: .*0 2"),
    ],
)
def test_the_fault_is_named(data, message):
    with pytest.raises(MalformedData, match=message):
        read_pgm("face.pgm", data)


@given(st.lists(st.text("s0123456789٣²", max_size=5)))
def test_any_names_can_be_sorted(names):
    assert sorted(sorted(names, key=natural_key)) == sorted(names)
