import io
import json
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damage import read_bytes
from scipy.ndimage import center_of_mass

from eigenbench.datasets import MalformedData
from eigenbench.datasets.readers.letters import draw_strokes, read_handwritten_letters

CODES = np.tile(np.arange(26, dtype=np.uint8), 2)
PIXELS = np.random.default_rng(0).integers(0, 256, size=(52, 784), dtype=np.uint8)
STROKES = {letter: [[[[0, 0], [10, 40 + i]]]] for i, letter in enumerate(ascii_lowercase)}


def parquet(codes=CODES, pixels=PIXELS, names=None, dtype=np.uint8):
    columns = [codes.astype(dtype), *pixels.T.astype(dtype)]
    table = pa.table(dict(zip(names or map(str, range(785)), columns, strict=True)))
    content = io.BytesIO()
    pq.write_table(table, content, compression="snappy")
    return content.getvalue()


def read(capitals=None, strokes=None):
    content = json.dumps(STROKES).encode() if strokes is None else strokes
    return read_bytes(read_handwritten_letters, capitals or parquet(), content)


def test_capitals_come_first_each_in_the_order_of_its_file():
    rows = read()
    assert rows.labels.tolist() == [c for c in ascii_uppercase for _ in range(2)] + list(ascii_lowercase)
    np.testing.assert_array_equal(rows.features[:4], PIXELS[[0, 26, 1, 27]])
    assert rows.features.dtype == np.uint8


def test_a_drawing_fits_the_box_and_has_its_centre_of_mass_in_the_middle():
    image = draw_strokes([[[100, 200], [300, 250]], [[120, 220], [130, 240]]])
    assert image.shape == (28, 28)
    columns = np.flatnonzero(image.any(axis=0))
    assert np.ptp(columns) + 1 in (20, 21)
    np.testing.assert_allclose(center_of_mass(image.astype(float)), [13.5, 13.5], atol=0.1)


def test_a_drawing_depends_on_neither_place_nor_unit():
    strokes = [[[0, 0], [10, 40], [30, 20]]]
    moved = [[[x * 3 + 7, y * 3 - 5] for x, y in stroke] for stroke in strokes]
    np.testing.assert_array_equal(draw_strokes(strokes), draw_strokes(moved))


def test_a_stroke_is_as_wide_as_the_pen_everywhere():
    image = draw_strokes([[[0, 0], [0, 100]]]) / 255
    np.testing.assert_allclose(image.sum(axis=1)[6:22], 2.2, atol=0.15)


def drawn(examples):
    return json.dumps(STROKES | {"q": examples}).encode()


@pytest.mark.parametrize(
    ("capitals", "strokes", "message"),
    [
        (b"PAR1 but no table", None, "file, parquet"),
        (parquet(codes=CODES % 25), None, "the numbers of the letters are not 0 to 25"),
        (parquet(names=["label", *map(str, range(1, 785))]), None, "not a number and 784 pixels"),
        (parquet(dtype=np.int64), None, "not a number and 784 pixels"),
        (None, b"{", "file2, JSON"),
        (None, b"[]", "file2, JSON: Input should be"),
        (None, drawn([]), r"file2, q: List should have at least 1 item"),
        (None, drawn([[[[1, 2], [3]]]]), r"file2, q\.0\.0\.1\.1: Field required"),
        (None, drawn([[[[1, True]]]]), r"q\.0\.0\.0\.1: .* valid number"),
        (None, drawn([[[[1, float("nan")]]]]), r"q\.0\.0\.0\.1: "),
        (None, drawn([[[[1, 1e300]]]]), r"q\.0\.0\.0\.1: .* less than 1000000"),
    ],
)
def test_the_fault_is_named(capitals, strokes, message):
    with pytest.raises(MalformedData, match=message):
        read(capitals, strokes)
